"""The manifests against the program: settings, names, ports, probes. What one changes, the other must follow."""

import base64
import hashlib
import json
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
    "HINDSIGHT__AUTH__KEYS": f'[{{ name = "a", hash = "{"0" * 64}", tenant = "acme", permissions = ["read"] }}]',
    "HINDSIGHT__BUS__USERNAME": "hindsight",
    "HINDSIGHT__BUS__PASSWORD": "given",
    "HINDSIGHT__STORE__API_KEY": "given",
}


def environment(overlay):
    """What a pod of any role gets from ConfigMap and Secret."""
    env = {}
    for m in of_kind(overlay, "ConfigMap"):
        env |= {k: v for k, v in m["data"].items() if k.startswith("HINDSIGHT")}
    secrets = of_kind(overlay, "Secret")
    for m in secrets:
        env |= {k: base64.b64decode(v).decode() for k, v in m["data"].items()}
    return env if secrets else env | GIVEN


def configuration(overlay, folder):
    (found,) = [m for m in of_kind(overlay, "ConfigMap") if "hindsight.toml" in m["data"]]
    file = folder / "hindsight.toml"
    file.write_text(found["data"]["hindsight.toml"])
    return file


def effective(overlay, folder):
    file = configuration(overlay, folder)
    return json.loads(must(hindsight("--config", file, "--json", "config", "print", env=environment(overlay))))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_configuration_is_right(overlay, tmp_path):
    """Strictly: every key of the file and every variable means something."""
    file = configuration(overlay, tmp_path)
    must(hindsight("--config", file, "config", "check", env=environment(overlay)))


@pytest.mark.parametrize("extra", ["HINDSIGHT__BUS__NO_SUCH_KEY", "HINDSIGHT__NO_SUCH_SECTION__KEY"])
def test_a_variable_that_means_nothing_is_found(extra, tmp_path):
    file = configuration("production", tmp_path)
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


def test_the_queue_that_scales_is_the_one_that_is_worked_off(tmp_path):
    (scaled,) = of_kind("production", "ScaledObject")
    (trigger,) = scaled["spec"]["triggers"]
    name = trigger["metadata"]["queueName"].removeprefix(effective("production", tmp_path)["bus"]["prefix"])
    source = (ROOT / "crates/ports/src/bus.rs").read_text()
    assert re.search(rf'Self::Evaluate => "{re.escape(name)}"', source)


def test_the_development_key_is_the_one_that_is_named():
    text = (ROOT / "deploy/kubernetes/overlays/development/kustomization.yaml").read_text()
    key = re.search(r"hs_\S+", text)[0]
    assert hashlib.sha256(key.encode()).hexdigest() in environment("development")["HINDSIGHT__AUTH__KEYS"]


def test_the_secret_that_production_needs_is_written_down():
    text = (ROOT / "deploy/README.md").read_text()
    assert all(key in text for key in GIVEN)
    assert set(environment("development")) >= set(GIVEN)


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
    file = configuration("development", tmp_path)
    mount = next(m for m in c["volumeMounts"] if m["name"] == "config")["mountPath"]
    args = [a.replace(mount, str(file.parent)) for a in c["args"]]
    with (tmp_path / "log").open("w") as log:
        command = [BIN.parent / binary_of(c["image"]), *args]
        process = subprocess.Popen(command, stdout=log, stderr=log, env=env, cwd=tmp_path)
    try:
        paths = {probe: c[probe]["httpGet"]["path"] for probe in PROBES}
        for probe, status in zip(PROBES, (200, 200, 503), strict=True):
            wait_for(lambda p=paths[probe]: answer(admin, p), lambda s, w=status: s == w, process)
        assert answer(admin, "/no-such-probe") == 404
        process.send_signal(signal.SIGTERM)
        process.wait(deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"])
    except BaseException:
        print((tmp_path / "log").read_text()[-4000:])
        raise
    finally:
        process.kill()
        process.wait()
