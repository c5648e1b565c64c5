#!/usr/bin/env bash
# Sets up what the tests need and runs all of them. Needs Rust, a C/C++ compiler and the package registries;
# npm and python3 are installed with apt-get where they are missing and that is possible.
#
#   tests/run.sh            everything
#   tests/run.sh --fast     without the lints, the licence check and the tests in other languages
#   tests/run.sh --slow     everything, and long outages of RabbitMQ and Qdrant (about four minutes more)
#
# CARGO_TARGET_DIR (default ~/.cache/hindsight-target) and HINDSIGHT_TEST_CACHE (default
# ~/.cache/hindsight-tests) keep what was built and fetched between runs.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$HOME/.cache/hindsight-target}"
export HINDSIGHT_TEST_CACHE="${HINDSIGHT_TEST_CACHE:-$HOME/.cache/hindsight-tests}"
fast=false
[ "${1:-}" = "--fast" ] && fast=true
[ "${1:-}" = "--slow" ] && export HINDSIGHT_SLOW_TESTS=1

step() { printf '\n== %s (%d min %d s)\n' "$1" $((SECONDS / 60)) $((SECONDS % 60)); }

step "tools"
tools=$(tests/setup.sh)
eval "$tools"

if ! $fast; then
    step "format"
    cargo fmt --all --check
    step "protos"
    if [ -n "${BUF:-}" ]; then (cd proto && "$BUF" lint); else echo "SKIPPED: buf is not to be had"; fi
    step "licences and bans"
    if [ -n "${CARGO_DENY:-}" ]; then "$CARGO_DENY" check licenses bans sources; else echo "SKIPPED: cargo-deny is not to be had"; fi
    step "clippy"
    cargo clippy --workspace --all-targets --quiet -- -D warnings
fi

step "build"
cargo build --workspace --all-targets
export HINDSIGHT_BIN="$CARGO_TARGET_DIR/debug/hindsight"

if ! $fast; then
    step "clients in Python and Node, deployment"
    tests/node/run.sh "$HINDSIGHT_BIN"
    if [ -n "${HINDSIGHT_PYTHON:-}" ]; then
        tests/python/run.sh "$HINDSIGHT_BIN"
        tests/deploy/run.sh "$HINDSIGHT_BIN"
    else
        echo "SKIPPED: python3 is not to be had"
    fi
fi

step "tests"
if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --workspace --no-fail-fast
else
    cargo test --workspace --no-fail-fast
fi
step "done"
