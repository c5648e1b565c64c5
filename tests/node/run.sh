#!/usr/bin/env bash
# A client in Node: starts HINDSIGHT_BIN on a free port with a data directory of its own and runs the example of
# clients/node against it.
#
#   tests/node/run.sh HINDSIGHT_BIN
#
# The npm packages are kept in HINDSIGHT_TEST_CACHE (default ~/.cache/hindsight-tests).
set -euo pipefail
bin=$(realpath "${1:?usage: tests/node/run.sh HINDSIGHT_BIN}")
if ! command -v npm >/dev/null; then
    echo "SKIPPED: npm is not to be had"
    exit
fi
cd "$(dirname "$0")/../../clients/node"
pins=$(sha256sum package-lock.json | cut -c-12)
modules="${HINDSIGHT_TEST_CACHE:-$HOME/.cache/hindsight-tests}/node-$pins"

# The marker is written last: what broke off half way is made again.
if ! [ -f "$modules/complete" ]; then
    rm -rf "$modules" && mkdir -p "$modules"
    cp package.json package-lock.json "$modules/"
    if ! (cd "$modules" && npm ci --silent --no-audit --no-fund); then
        echo "SKIPPED: the packages of npm that a client in Node needs are not to be had"
        # Where tests count, what was not checked has failed.
        [ -z "${CI:-}" ]
        exit
    fi
    touch "$modules/complete"
fi

source ../../tests/server.sh
# The example stands where its modules are.
mkdir -p "$work/clients/node"
cp ./*.mjs package.json "$work/clients/node/"
cp -r ../../proto "$work/proto"
ln -s "$modules/node_modules" "$work/clients/node/node_modules"

# One run is enough to be warned of.
export HINDSIGHT__WATCH__MIN_TIMES=1
start_server "$bin"
cd "$work/clients/node"
HINDSIGHT_SERVER="http://$address" checked node --test
