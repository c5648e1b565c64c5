# Sourced by tests in other languages: starts a server of their own.
#
#   start_server HINDSIGHT_BIN     sets `work` (a folder that goes with the server) and `address` (HOST:PORT)

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

start_server() {
    HINDSIGHT__LOG__FORMAT=json "$1" serve --listen 127.0.0.1:0 --data-dir "$work/data" 2>"$work/serve.log" &
    server=$!
    for _ in $(seq 600); do
        address=$(sed -n 's|^serving .* at http://||p' "$work/serve.log")
        [ -n "$address" ] && return
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    echo "the server does not start:" >&2
    cat "$work/serve.log" >&2
    exit 1
}

# checked COMMAND...: what the server said last comes with a failure.
checked() {
    if ! "$@"; then
        tail -n 50 "$work/serve.log" >&2
        exit 1
    fi
}
