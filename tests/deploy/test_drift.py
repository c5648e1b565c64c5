"""The manifests against the program: settings, names, ports, probes. What one changes, the other must follow."""

import base64
import hashlib
import json
import pathlib
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest
from rendered import (
    BIN,
    OVERLAYS,
    ROLES,
    ROOT,
    WORKSPACE,
    binary_of,
    container,
    deployments,
    entrypoint,
    hindsight,
    must,
    named,
    of_kind,
    seconds,
    stages,
)

PROBES = ["startupProbe", "livenessProbe", "readinessProbe"]
# The Secret that production is given: the keys are those that deploy/README.md lists.
GIVEN = {
    "auth-keys": f'[{{ name = "a", hash = "{"0" * 64}", tenant = "acme", permissions = ["read"] }}]',
    "rabbitmq-username": "hindsight",
    "rabbitmq-password": "given",
    "qdrant-api-key": "given",
}


def secret(overlay):
    found = of_kind(overlay, "Secret")
    return {k: base64.b64decode(v).decode() for k, v in found[0]["data"].items()} if found else GIVEN


def environment(overlay):
    """The variables of a pod, the same for every role."""
    maps = {m["metadata"]["name"]: m["data"] for m in of_kind(overlay, "ConfigMap")}
    each = []
    for c in map(container, deployments(overlay)):
        env = {}
        for source in c["envFrom"]:
            env |= maps[source["configMapRef"]["name"]]
        each.append(env | {e["name"]: secret(overlay)[e["valueFrom"]["secretKeyRef"]["key"]] for e in c["env"]})
    assert all(env == each[0] for env in each)
    return each[0]


def mounted(overlay, folder):
    """What a pod finds mounted, laid out in `folder`; the path of its configuration."""
    deployment = deployments(overlay)[0]
    volumes = {v["name"]: v for v in deployment["spec"]["template"]["spec"]["volumes"]}
    maps = {m["metadata"]["name"]: m["data"] for m in of_kind(overlay, "ConfigMap")}
    for mount in container(deployment)["volumeMounts"]:
        volume = volumes[mount["name"]]
        if "secret" in volume:
            files = {i["path"]: secret(overlay)[i["key"]] for i in volume["secret"]["items"]}
        else:
            files = maps[volume["configMap"]["name"]]
        place = folder / mount["mountPath"].lstrip("/")
        place.mkdir(parents=True)
        for name, text in files.items():
            (place / name).write_text(text.replace('"/run/secrets/', f'"{folder}/run/secrets/'))
    flag, path = container(deployment)["args"]
    assert flag == "--config"
    return folder / path.lstrip("/")


def effective(overlay, folder):
    file = mounted(overlay, folder)
    return json.loads(must(hindsight("--config", file, "--json", "config", "print", env=environment(overlay))))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_files_that_the_configuration_names_are_mounted(overlay, tmp_path):
    named_files = re.findall(rf'"({tmp_path}/[^"]+)"', mounted(overlay, tmp_path).read_text())
    assert len(named_files) == 3
    assert all(pathlib.Path(f).read_text() for f in named_files)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_configuration_is_right(overlay, tmp_path):
    """Strictly: every key of the file and every variable means something."""
    file = mounted(overlay, tmp_path)
    must(hindsight("--config", file, "config", "check", env=environment(overlay)))


@pytest.mark.parametrize("extra", ["HINDSIGHT__BUS__NO_SUCH_KEY", "HINDSIGHT__NO_SUCH_SECTION__KEY"])
def test_a_variable_that_means_nothing_is_found(extra, tmp_path):
    file = mounted("production", tmp_path)
    checked = hindsight("--config", file, "config", "check", env=environment("production") | {extra: "1"})
    assert checked.returncode != 0 and extra in checked.stdout + checked.stderr


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_ports_are_those_that_are_listened_on(overlay, tmp_path):
    server = effective(overlay, tmp_path)["server"]
    listens = {"grpc": server["listen"], "admin": server["admin_listen"]}
    assert all(a.startswith("0.0.0.0:") for a in listens.values())
    wanted = {name: int(a.rpartition(":")[2]) for name, a in listens.items()}
    for deployment in deployments(overlay):
        assert {p["name"]: p["containerPort"] for p in container(deployment)["ports"]} == wanted
    for role in ROLES:
        (exposed,) = [rest for word, rest in stages()[role] if word == "EXPOSE"]
        assert {int(p) for p in exposed.split()} == set(wanted.values())


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_stop_has_time(overlay, tmp_path):
    grace = seconds(effective(overlay, tmp_path)["server"]["grace_period"])
    for deployment in deployments(overlay):
        assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= grace + 10


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_images_are_those_that_are_built(overlay):
    for role in ROLES:
        c = container(named(overlay, "Deployment", f"hindsight-{role}"))
        assert [binary_of(c["image"])] == entrypoint(role)
        assert c["image"].endswith(f":{WORKSPACE['version']}")
        assert "command" not in c, "the image knows what it runs"


def test_the_broker_and_the_store_are_what_production_says(tmp_path):
    config = effective("production", tmp_path)
    assert (config["bus"]["kind"], config["store"]["kind"]) == ("amqp", "qdrant")
    assert config["bus"]["url"].startswith("amqps://") and config["store"]["url"].startswith("https://")


def test_the_queues_that_scale_are_those_that_are_worked_off(tmp_path):
    (scaled,) = of_kind("production", "ScaledObject")
    prefix = effective("production", tmp_path)["bus"]["prefix"]
    source = (ROOT / "crates/ports/src/bus.rs").read_text()
    triggers = scaled["spec"]["triggers"]
    for trigger, queue in zip(triggers, ["Evaluate", "Compact"], strict=True):
        name = trigger["metadata"]["queueName"].removeprefix(prefix)
        assert re.search(rf'Self::{queue} => "{re.escape(name)}"', source)


def test_a_pod_is_asked_for_when_eight_rounds_of_work_wait(tmp_path):
    (scaled,) = of_kind("production", "ScaledObject")
    (trigger,) = [t for t in scaled["spec"]["triggers"] if t["metadata"]["queueName"].endswith("evaluate")]
    assert int(trigger["metadata"]["value"]) == 8 * effective("production", tmp_path)["evaluate"]["concurrency"]


def test_the_readme_names_every_service():
    text = (ROOT / "deploy/README.md").read_text()
    for file in (ROOT / "proto").glob("hindsight/*/v1/*_service.proto"):
        service = re.search(r"^service (\w+)", file.read_text(), re.M)[1]
        assert f"`{'.'.join(file.parent.relative_to(ROOT / 'proto').parts)}.{service}`" in text


def test_the_development_key_is_the_one_that_is_named():
    text = (ROOT / "deploy/kubernetes/overlays/development/kustomization.yaml").read_text()
    key = re.search(r"hs_\S+", text)[0]
    assert hashlib.sha256(key.encode()).hexdigest() in secret("development")["auth-keys"]


def test_the_secret_that_production_needs_is_written_down():
    text = (ROOT / "deploy/README.md").read_text()
    assert all(key in text for key in GIVEN)
    assert set(secret("development")) == set(GIVEN)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answer(port, path):
    """The HTTP status; None while nothing listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def wait_for(what, wanted, process, limit=60):
    end, last = time.monotonic() + limit, None
    while time.monotonic() < end:
        last = what()
        if wanted(last):
            return last
        assert process.poll() is None, f"it ended with {process.returncode}"
        time.sleep(0.1)
    raise AssertionError(f"after {limit} s it still was {last}")


@pytest.mark.parametrize("role", ROLES)
def test_probes_are_answered_while_everything_else_is_away(role, tmp_path):
    """The container as the manifest starts it, with a broker and a store that nobody serves: it lives, it has
    started, so that no probe restarts it, it is not ready, and it stops when told."""
    deployment = named("development", "Deployment", f"hindsight-{role}")
    c = container(deployment)
    nowhere, admin = free_port(), free_port()
    env = environment("development") | {
        "HINDSIGHT__BUS__URL": f"amqp://127.0.0.1:{nowhere}",
        "HINDSIGHT__STORE__URL": f"http://127.0.0.1:{nowhere}",
        "HINDSIGHT__SERVER__LISTEN": "127.0.0.1:0",
        "HINDSIGHT__SERVER__ADMIN_LISTEN": f"127.0.0.1:{admin}",
    }
    file = mounted("development", tmp_path)
    with (tmp_path / "log").open("w") as log:
        command = [BIN.parent / binary_of(c["image"]), "--config", file]
        process = subprocess.Popen(command, stdout=log, stderr=log, env=env, cwd=tmp_path)
    try:
        paths = {probe: c[probe]["httpGet"]["path"] for probe in PROBES}
        for probe, status in zip(PROBES, (200, 200, 503), strict=True):
            wait_for(lambda p=paths[probe]: answer(admin, p), lambda s, w=status: s == w, process)
        (monitor,) = of_kind("production", "ServiceMonitor")
        assert [answer(admin, e["path"]) for e in monitor["spec"]["endpoints"]] == [200]
        assert answer(admin, "/no-such-probe") == 404
        process.send_signal(signal.SIGTERM)
        process.wait(deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"])
    except BaseException:
        print((tmp_path / "log").read_text()[-4000:])
        raise
    finally:
        process.kill()
        process.wait()
