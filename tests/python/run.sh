#!/usr/bin/env bash
# Clients in Python: starts HINDSIGHT_BIN on a free port with a data directory of its own and runs against it
# test_client.py (stubs made of the schema), test_readme.py (what the READMEs say), test_otlp.py
# (traces of OpenTelemetry), test_mcp.py (MCP server and proxy,
# with the official client, and servers and inspector of npm), the tests of clients/python, and test_roads.py (what
# agents of different make leave, and are given).
#
#   tests/python/run.sh HINDSIGHT_BIN
#
# The virtual environment is kept in HINDSIGHT_TEST_CACHE (default ~/.cache/hindsight-tests).
set -euo pipefail
HINDSIGHT_BIN=$(realpath "${1:?usage: tests/python/run.sh HINDSIGHT_BIN}")
export HINDSIGHT_BIN
cd "$(dirname "$0")"
python="${HINDSIGHT_PYTHON:-python3}"
pins=$("$python" -c 'import hashlib; print(hashlib.sha256(open("requirements.txt", "rb").read()).hexdigest()[:12])')
venv="${HINDSIGHT_TEST_CACHE:-$HOME/.cache/hindsight-tests}/python-$pins"

# The marker is written last: an environment that broke off half way is made again.
if ! [ -f "$venv/complete" ]; then
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
    touch "$venv/complete"
fi

# MCP servers, and the inspector.
node="${HINDSIGHT_TEST_CACHE:-$HOME/.cache/hindsight-tests}/mcp-node-2026.8.31-2.12.0"
if ! command -v npm >/dev/null; then
    echo "SKIPPED: npm is not to be had; MCP is tested without the servers and the inspector that it has"
elif [ -f "$node/complete" ] || npm install --silent --no-audit --no-fund --prefix "$node" \
    @modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31 \
    @modelcontextprotocol/inspector@2.12.0 >&2; then
    touch "$node/complete"
    export HINDSIGHT_MCP_NODE="$node"
else
    echo "SKIPPED: the MCP servers and the inspector of npm are not to be had"
fi

source ../server.sh
mkdir "$work/stubs"
"$venv/bin/python" -m grpc_tools.protoc --proto_path=../../proto --python_out="$work/stubs" \
    --grpc_python_out="$work/stubs" $(find ../../proto/hindsight -name '*.proto' | sort)

# The package as users install it. It goes into a folder of this run: the environment is shared and kept.
cp -r ../../clients/python "$work/package"
cp -r ../../proto "$work/package/proto"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps \
    --target "$work/site" "$work/package"

# One run is enough to be warned of, and spans are not long on their way.
export HINDSIGHT__WATCH__MIN_TIMES=1 HINDSIGHT__INGEST__SPAN_GRACE=1s
start_server "$HINDSIGHT_BIN"
export HINDSIGHT_ADDRESS="$address" HINDSIGHT_SERVER="http://$address"

PYTHONPATH="$work/stubs" checked "$venv/bin/python" test_client.py
PYTHONPATH="$work/site:$work/stubs" checked "$venv/bin/python" -B test_readme.py
PYTHONPATH="$work/stubs" checked "$venv/bin/python" -B test_mcp.py
PYTHONPATH="$work/stubs" checked "$venv/bin/python" -B test_otlp.py
export PYTHONPATH="$work/site:../../clients/python/tests"
checked "$venv/bin/python" -B -m unittest discover -s ../../clients/python/tests
checked "$venv/bin/python" -B test_roads.py
