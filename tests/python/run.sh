#!/usr/bin/env bash
# A client in another language: starts HINDSIGHT_BIN on a free port with a data directory of its own and
# runs test_client.py against it.
#
#   tests/python/run.sh HINDSIGHT_BIN
#
# The virtual environment is kept in HINDSIGHT_TEST_CACHE (default ~/.cache/hindsight-tests).
set -euo pipefail
bin=$(realpath "${1:?usage: tests/python/run.sh HINDSIGHT_BIN}")
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

work=$(mktemp -d)
server=
finish() {
    if [ -n "$server" ]; then
        kill -TERM "$server" 2>/dev/null || true
        wait "$server" || true
    fi
    rm -rf "$work"
}
trap finish EXIT

mkdir "$work/stubs"
"$venv/bin/python" -m grpc_tools.protoc --proto_path=../../proto --python_out="$work/stubs" \
    --grpc_python_out="$work/stubs" $(find ../../proto/hindsight -name '*.proto' | sort)

HINDSIGHT__LOG__FORMAT=json "$bin" serve --listen 127.0.0.1:0 --data-dir "$work/data" 2>"$work/serve.log" &
server=$!
for _ in $(seq 600); do
    address=$(sed -n 's|^serving .* at http://||p' "$work/serve.log")
    [ -n "$address" ] && break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
done
if [ -z "${address:-}" ]; then
    echo "the server does not start:" >&2
    cat "$work/serve.log" >&2
    exit 1
fi

if ! PYTHONPATH="$work/stubs" HINDSIGHT_ADDRESS="$address" "$venv/bin/python" test_client.py; then
    tail -n 50 "$work/serve.log" >&2
    exit 1
fi
