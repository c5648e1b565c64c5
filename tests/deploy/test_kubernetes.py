"""The manifests as kustomize renders them: right by the schemas, restricted, and whole."""

import json
import subprocess

import kubernetes_validate
import pytest
from rendered import DEPLOY, OVERLAYS, ROLES, TOOLS, container, deployments, manifests, must, named, of_kind, pods, run

# The oldest version that is supported, and the newest whose schemas are to be had.
VERSIONS = ["1.29", "1.37"]
TYPES = {
    "ScaledObject": "@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject",
    "TriggerAuthentication": "@kubernetes-models/keda/keda.sh/v1alpha1/TriggerAuthentication",
    "ServiceMonitor": "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor",
}


def labels(template):
    return template["metadata"]["labels"]


def selects(selector, found):
    """Whether a label selector selects a pod with the labels `found`."""
    wanted = (selector or {}).get("matchLabels", {})
    for e in (selector or {}).get("matchExpressions", []):
        assert e["operator"] == "In", e
        if found.get(e["key"]) not in e["values"]:
            return False
    return all(found.get(k) == v for k, v in wanted.items())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_object_is_right_by_its_schema(overlay, version):
    for manifest in manifests(overlay):
        if manifest["kind"] not in TYPES:
            kubernetes_validate.validate(manifest, version, strict=True)


def test_a_wrong_object_is_refused():
    wrong = json.loads(json.dumps(deployments("production")[0]))
    container(wrong)["readinesProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)


def check_types(folder, objects):
    """What the TypeScript compiler says to the objects as values of the types: unknown fields, wrong types."""
    code = ""
    for i, o in enumerate(objects):
        code += f"import type {{ I{o['kind']} as T{i} }} from {json.dumps(TYPES[o['kind']])};\n"
        code += f"export const o{i}: T{i} = {json.dumps(o, indent=1)};\n"
    file = folder / "objects.ts"
    file.write_text(code)
    (folder / "node_modules").symlink_to(TOOLS / "node_modules")
    compiler = TOOLS / "node_modules/.bin/tsc"
    command = [compiler, "--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--preserveSymlinks", file]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


needs_types = pytest.mark.skipif(
    not (TOOLS / "types").exists(), reason="npm is not to be had: custom resources unchecked"
)


@needs_types
def test_custom_resources_are_right_by_their_types(tmp_path):
    must(check_types(tmp_path, of_kind("production", *TYPES)))
    assert {m["kind"] for m in of_kind("production", *TYPES)} == set(TYPES)


@needs_types
@pytest.mark.parametrize(
    "field, value, complaint",
    [
        ("minReplicas", 1, "does not exist in type 'IScaledObjectSpec'"),
        ("maxReplicaCount", "20", "'string' is not assignable to type 'number'"),
    ],
)
def test_a_wrong_custom_resource_is_refused(tmp_path, field, value, complaint):
    (wrong,) = json.loads(json.dumps(of_kind("production", "ScaledObject")))
    wrong["spec"][field] = value
    assert complaint in check_types(tmp_path, [wrong]).stdout


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_role_is_there(overlay):
    assert {d["metadata"]["name"] for d in deployments(overlay)} == {f"hindsight-{r}" for r in ROLES}
    assert {m["metadata"].get("namespace", "") for m in manifests(overlay) if m["kind"] != "Namespace"} == {
        m["metadata"]["name"] for m in of_kind(overlay, "Namespace")
    }


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_pods_are_restricted(overlay):
    """What the pod security standard `restricted` asks for, and no token of the cluster."""
    (namespace,) = of_kind(overlay, "Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    for name, template in pods(overlay):
        spec = template["spec"]
        context = spec["securityContext"]
        assert context["runAsNonRoot"] is True and context["runAsUser"] > 0, name
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert spec["automountServiceAccountToken"] is False, name
        account = named(overlay, "ServiceAccount", spec["serviceAccountName"])
        assert account["automountServiceAccountToken"] is False, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys(), name
        assert not any("hostPath" in v for v in spec.get("volumes", [])), name
        for c in spec["containers"]:
            assert c["securityContext"]["allowPrivilegeEscalation"] is False, name
            assert c["securityContext"]["capabilities"] == {"drop": ["ALL"]}, name
            assert "memory" in c["resources"]["limits"] and {"cpu", "memory"} <= c["resources"]["requests"].keys(), name
            tag = c["image"].rpartition(":")[2]
            assert any(ch.isdigit() for ch in tag), f"{c['image']} has no fixed version"
            assert {"startupProbe", "livenessProbe", "readinessProbe"} <= c.keys(), name


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_our_roots_are_read_only_and_probes_reach_their_port(overlay):
    for deployment in deployments(overlay):
        c = container(deployment)
        assert c["securityContext"]["readOnlyRootFilesystem"] is True
        ports = {p["name"] for p in c["ports"]}
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert c[probe]["httpGet"]["port"] in ports


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_reference_leads_somewhere(overlay):
    """ConfigMaps and Secrets that pods name exist, but for the Secret that production is given from outside."""
    there = {(m["kind"], m["metadata"]["name"]) for m in of_kind(overlay, "ConfigMap", "Secret")}
    outside = {("Secret", "hindsight-credentials")} if overlay == "production" else set()
    named_by = set()
    for _, template in pods(overlay):
        for c in template["spec"]["containers"]:
            for source in c.get("envFrom", []):
                named_by |= {("ConfigMap", v["name"]) for k, v in source.items() if k == "configMapRef"}
            refs = [e["valueFrom"]["secretKeyRef"] for e in c.get("env", []) if "valueFrom" in e]
            named_by |= {("Secret", r["name"]) for r in refs}
        volumes = template["spec"].get("volumes", [])
        named_by |= {("ConfigMap", v["configMap"]["name"]) for v in volumes if "configMap" in v}
        named_by |= {("Secret", v["secret"]["secretName"]) for v in volumes if "secret" in v}
    assert named_by == there | outside


def test_only_development_ships_a_secret():
    base = must(run("kubectl", "kustomize", DEPLOY / "kubernetes/base"))
    assert "kind: Secret" not in base
    assert not of_kind("production", "Secret")
    assert of_kind("development", "Secret")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_services_reach_the_pods_of_their_role(overlay):
    for role in ROLES:
        service = named(overlay, "Service", f"hindsight-{role}")
        assert service["spec"]["clusterIP"] == "None", "gRPC is balanced by its clients"
        selected = [n for n, t in pods(overlay) if selects({"matchLabels": service["spec"]["selector"]}, labels(t))]
        assert selected == [f"hindsight-{role}"]
        ports = {
            p["name"]: p["containerPort"] for p in container(named(overlay, "Deployment", f"hindsight-{role}"))["ports"]
        }
        assert {p["targetPort"]: p["port"] for p in service["spec"]["ports"]} == ports


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_disruptions_take_one_pod_of_a_role_at_a_time(overlay):
    for role in ROLES:
        budget = named(overlay, "PodDisruptionBudget", f"hindsight-{role}")["spec"]
        assert budget["maxUnavailable"] == 1
        assert [n for n, t in pods(overlay) if selects(budget["selector"], labels(t))] == [f"hindsight-{role}"]


def test_pods_spread_role_by_role():
    for deployment in deployments("production"):
        constraints = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
        assert {c["topologyKey"] for c in constraints} == {"topology.kubernetes.io/zone", "kubernetes.io/hostname"}
        for c in constraints:
            assert selects(c["labelSelector"], labels(deployment["spec"]["template"]))
            assert "app.kubernetes.io/component" in c["matchLabelKeys"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_one_thing_alone_sets_the_number_of_pods(overlay):
    scalers = [m["spec"]["scaleTargetRef"]["name"] for m in of_kind(overlay, "HorizontalPodAutoscaler", "ScaledObject")]
    wanted = {"hindsight-collector", "hindsight-recall"} | (
        {"hindsight-evaluator"} if overlay == "production" else set()
    )
    assert sorted(scalers) == sorted(wanted)
    fixed = {d["metadata"]["name"] for d in deployments(overlay) if "replicas" in d["spec"]}
    assert fixed == {f"hindsight-{r}" for r in ROLES} - wanted


def test_the_evaluators_scale_by_their_queues():
    (scaled,) = of_kind("production", "ScaledObject")
    (login,) = of_kind("production", "TriggerAuthentication")
    (endpoints,) = [m for m in of_kind("production", "ConfigMap") if "endpoints" in m["metadata"]["name"]]
    for trigger in scaled["spec"]["triggers"]:
        assert trigger["authenticationRef"]["name"] == login["metadata"]["name"]
        assert trigger["metadata"]["hostFromEnv"] in endpoints["data"]


def test_prometheus_finds_the_metrics():
    (monitor,) = of_kind("production", "ServiceMonitor")
    services = [
        s for s in of_kind("production", "Service") if selects(monitor["spec"]["selector"], s["metadata"]["labels"])
    ]
    assert len(services) == len(ROLES)
    for endpoint in monitor["spec"]["endpoints"]:
        assert all(endpoint["port"] in [p["name"] for p in s["spec"]["ports"]] for s in services)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_nothing_talks_but_what_is_named(overlay):
    policies = of_kind(overlay, "NetworkPolicy")
    deny = named(overlay, "NetworkPolicy", "default-deny")["spec"]
    assert deny == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    for policy in policies:
        spec = policy["spec"]
        # An empty list of peers would be everyone.
        for rule in spec.get("ingress", []):
            assert rule["from"] and rule["ports"], policy["metadata"]["name"]
        for rule in spec.get("egress", []):
            assert rule["to"] and rule["ports"], policy["metadata"]["name"]
        matched = [n for n, t in pods(overlay) if selects(spec["podSelector"], labels(t))]
        assert matched, f"{policy['metadata']['name']} is for nobody"
    for role in ROLES:
        found = labels(named(overlay, "Deployment", f"hindsight-{role}")["spec"]["template"])
        reached = {p["metadata"]["name"] for p in policies if selects(p["spec"]["podSelector"], found)}
        assert {"dns", "clients", "backends"} <= reached


def test_development_opens_to_each_backend_what_it_serves():
    """Both ends of a connection are let through, on the port that listens."""
    egress = named("development", "NetworkPolicy", "backends")["spec"]["egress"]
    for backend, rule in zip(("rabbitmq", "qdrant"), egress, strict=True):
        assert rule["to"] == [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": backend}}}]
        ingress = named("development", "NetworkPolicy", backend)["spec"]["ingress"]
        assert ingress[0]["ports"] == rule["ports"]
        ports = named("development", "StatefulSet", backend)["spec"]["template"]["spec"]["containers"][0]["ports"]
        assert rule["ports"][0]["port"] in [p["name"] for p in ports]
