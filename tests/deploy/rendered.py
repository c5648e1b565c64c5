"""What deploy/ says, rendered by the tools that users run."""

import functools
import json
import os
import pathlib
import re
import subprocess
import tomllib

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
TOOLS = pathlib.Path(os.environ["DEPLOY_TOOLS"])
BIN = pathlib.Path(os.environ["HINDSIGHT_BIN"])
ROLES = ["collector", "evaluator", "compactor", "recall"]
OVERLAYS = ["development", "production"]
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]


def run(tool, *args, **options):
    command = [TOOLS / "bin" / tool, *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def must(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@functools.cache
def manifests(overlay):
    text = must(run("kubectl", "kustomize", DEPLOY / "kubernetes/overlays" / overlay))
    return [m for m in yaml.safe_load_all(text) if m]


def of_kind(overlay, *kinds):
    return [m for m in manifests(overlay) if m["kind"] in kinds]


def named(overlay, kind, name):
    found = [m for m in of_kind(overlay, kind) if m["metadata"]["name"] == name]
    assert len(found) == 1, f"{overlay}: {len(found)} of {kind} {name}"
    return found[0]


def deployments(overlay):
    return of_kind(overlay, "Deployment")


def pods(overlay):
    """The pod templates of our roles and of what an overlay brings along."""
    return [(m["metadata"]["name"], m["spec"]["template"]) for m in of_kind(overlay, "Deployment", "StatefulSet")]


def container(deployment):
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    return only


def binary_of(image):
    """`registry/hindsight-recall:0.1.0` runs `hindsight-recall`."""
    return image.rsplit("/", 1)[-1].split(":")[0]


@functools.cache
def compose():
    return json.loads(must(run("docker-compose", "-f", DEPLOY / "compose.yaml", "config", "--format", "json")))


@functools.cache
def stages():
    """Target → its instructions as (word, rest), with those of the stages it is built from first."""
    text = re.sub(r"\\\n", " ", (DEPLOY / "Dockerfile").read_text())
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    found, current = {}, []
    for word, rest in lines:
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            current = found[name] = [("FROM", base)] + [i for i in found.get(base, []) if i[0] != "FROM"]
        else:
            current.append((word, rest))
    return found


def entrypoint(stage):
    return json.loads([rest for word, rest in stages()[stage] if word == "ENTRYPOINT"][-1])


def seconds(time):
    """`1m30s` and the like."""
    units = {"h": 3600, "m": 60, "s": 1}
    return sum(int(n) * units[u] for n, u in re.findall(r"(\d+)\s*([hms])", time))


def hindsight(*args, env=None, directory=None):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("HINDSIGHT_")}
    return subprocess.run(
        [BIN, *args], capture_output=True, text=True, timeout=120, env=clean | (env or {}), cwd=directory
    )
