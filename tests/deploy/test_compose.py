"""compose.yaml, as `docker compose config` reads it."""

import hashlib
import re

import pytest
from rendered import DEPLOY, ROLES, WORKSPACE, compose, entrypoint, hindsight, must, seconds, stages

CONFIG = DEPLOY / "compose/hindsight.toml"
BACKENDS = ["rabbitmq", "qdrant"]


def service(name):
    return compose()["services"][name]


def test_it_starts_every_role_and_what_they_stand_on():
    assert set(compose()["services"]) == set(ROLES) | set(BACKENDS)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_is_built_by_its_target(role):
    s = service(role)
    assert s["build"]["target"] == role and role in stages()
    assert s["image"] == f"{entrypoint(role)[0]}:{WORKSPACE['version']}"


@pytest.mark.parametrize("role", ROLES)
def test_a_role_waits_for_health_and_has_one(role):
    s = service(role)
    waits = {name: d["condition"] for name, d in s["depends_on"].items()}
    assert waits == dict.fromkeys(BACKENDS, "service_healthy")
    assert s["healthcheck"]["test"][-1] == "http://127.0.0.1:7412/readyz"
    # The program of the check is in the image.
    program = s["healthcheck"]["test"][1]
    assert any(rest.endswith(f" {program}") for word, rest in stages()[role] if word == "COPY")


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_they_stand_on_is_checked_and_kept(backend):
    s = service(backend)
    assert s["healthcheck"]["test"][0] == "CMD"
    assert [v["source"] for v in s["volumes"] if v["type"] == "volume"] == [backend]
    tag = s["image"].rpartition(":")[2]
    assert tag[0] in "v0123456789", f"{s['image']} has no fixed version"


@pytest.mark.parametrize("role", ROLES)
def test_a_role_has_no_privilege(role):
    s = service(role)
    assert s["read_only"] and s["cap_drop"] == ["ALL"] and s["user"] == "65532:65532"
    assert "no-new-privileges:true" in s["security_opt"]


def test_only_this_machine_can_reach_it():
    ports = [p for s in compose()["services"].values() for p in s.get("ports", [])]
    assert ports and all(p["host_ip"] == "127.0.0.1" for p in ports)
    grpc = [p["published"] for role in ROLES for p in service(role).get("ports", [])]
    assert len(set(grpc)) == len(grpc) and {p["target"] for r in ROLES for p in service(r).get("ports", [])} == {7411}


def test_no_secret_is_in_the_environment():
    for name, s in compose()["services"].items():
        for key in s.get("environment") or {}:
            assert not any(word in key for word in ("PASS", "KEY", "SECRET", "TOKEN")), f"{name}: {key}"


@pytest.mark.parametrize("role", ROLES)
def test_the_secrets_that_the_configuration_names_are_there(role):
    targets = {s["target"] for s in service(role)["secrets"]}
    assert targets == set(re.findall(r'"(/run/secrets/[^"]+)"', CONFIG.read_text()))
    (config,) = service(role)["configs"]
    assert service(role)["command"] == ["--config", config["target"]]


def test_the_configuration_is_right(tmp_path):
    """Strictly: a key that means nothing is a mistake. The secrets are read, too."""
    text = CONFIG.read_text()
    for name, secret in compose()["secrets"].items():
        text = text.replace(f"/run/secrets/{name}", secret["file"])
    assert "/run/secrets" not in text
    file = tmp_path / "hindsight.toml"
    file.write_text(text)
    must(hindsight("--config", file, "config", "check"))
    file.write_text(text.replace("[log]", "[log]\nno_such_key = 1"))
    assert hindsight("--config", file, "config", "check").returncode != 0


def test_the_example_key_is_the_one_that_is_named():
    text = CONFIG.read_text()
    key = "hs_development-key-not-a-secret"
    assert key in text and hashlib.sha256(key.encode()).hexdigest() in text


@pytest.mark.parametrize("role", ROLES)
def test_a_stop_has_time(role):
    grace = next(line for line in CONFIG.read_text().splitlines() if line.startswith("grace_period"))
    assert seconds(service(role)["stop_grace_period"]) > seconds(grace)
