"""The Dockerfile: what it builds exists, and what it makes is small and unprivileged."""

import json
import re
import subprocess

import pytest
from rendered import DEPLOY, ROLES, ROOT, WORKSPACE, entrypoint, must, run, stages

IMAGES = {**{role: f"hindsight-{role}" for role in ROLES}, "hindsight": "hindsight"}


def test_the_dockerfile_has_no_lint():
    must(run("hadolint", "--failure-threshold", "info", DEPLOY / "Dockerfile"))


def test_hadolint_is_at_work():
    assert run("hadolint", "-", input="FROM debian\nRUN sudo true\n").returncode != 0


def test_what_is_built_is_in_the_workspace():
    metadata = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    targets = [t for p in json.loads(metadata.stdout)["packages"] for t in p["targets"]]
    binaries = {t["name"] for t in targets if "bin" in t["kind"]}
    (build,) = [rest for word, rest in stages()["build"] if word == "RUN"]
    assert set(re.findall(r"--bin (\S+)", build)) == set(IMAGES.values())
    assert set(IMAGES.values()) <= binaries, binaries


def test_the_toolchain_is_the_one_the_workspace_names():
    assert f"rust:{WORKSPACE['rust-version']}-" in stages()["build"][0][1]


@pytest.mark.parametrize("target", IMAGES)
def test_an_image_holds_one_binary_and_no_privilege(target):
    binary = IMAGES[target]
    assert entrypoint(target) == [binary]
    copied = [rest for word, rest in stages()[target] if word == "COPY"]
    assert f"--from=build /out/{binary} /usr/local/bin/" in copied
    assert len([c for c in copied if "/out/" in c]) == 1
    user = [rest for word, rest in stages()[target] if word == "USER"][-1]
    assert user == "65532:65532"


def test_the_build_sees_what_cargo_reads():
    lines = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    let_in = {line[1:] for line in lines if line.startswith("!")}
    assert all((ROOT / path).exists() for path in let_in)
    members = [
        m.split("/")[0]
        for m in re.findall(r'"([^"]+)"', re.search(r"members = \[(.*?)\]", (ROOT / "Cargo.toml").read_text(), re.S)[1])
    ]
    assert set(members) | {"proto", "examples"} <= let_in
