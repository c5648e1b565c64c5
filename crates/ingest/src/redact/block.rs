//! Secrets that are recognised by the block they stand in.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::Span;
use crate::pattern::compile;

static BEGIN: LazyLock<Regex> =
    LazyLock::new(|| compile(r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"));
static END: LazyLock<Regex> =
    LazyLock::new(|| compile(r"-----END[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"));

/// From the header to the footer; without one of them, as far as the text still looks like a key.
pub(super) fn private_keys(input: &str, spans: &mut Vec<Span>) {
    let bytes = input.as_bytes();
    headless(bytes, spans);
    let mut at = 0;
    let mut footers = true;
    while let Some(begin) = BEGIN.find_at(bytes, at) {
        let footer = if footers { END.find_at(bytes, begin.end()) } else { None };
        footers = footer.is_some();
        let end = footer.map_or_else(|| key_end(bytes, begin.end()), |f| f.end());
        spans.push(Span::new(begin.start()..end, "private-key"));
        at = end;
    }
}

fn key_end(bytes: &[u8], start: usize) -> usize {
    start + bytes[start..].iter().take_while(|b| is_key(b)).count()
}

/// Lines of base64, as text or with escaped line ends.
fn is_key(b: &u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'\\' | b'\r' | b'\n' | b' ' | b'\t')
}

/// A key whose header was cut off: what stands before a footer that no header belongs to.
fn headless(bytes: &[u8], spans: &mut Vec<Span>) {
    let mut at = 0;
    while let Some(footer) = END.find_at(bytes, at) {
        let before = bytes[at..footer.start()].iter().rev().take_while(|b| is_key(b)).count();
        let start = footer.start() - before;
        if !bytes[at..start].ends_with(b"-----") {
            spans.push(Span::new(start..footer.end(), "private-key"));
        }
        at = footer.end();
    }
}

static KIND: LazyLock<Regex> = LazyLock::new(|| {
    compile(r#"(?m)^[ \t-]*kind:[ \t]*["']?Secret["']?[ \t]*\r?$|\\*"kind\\*"\s*:\s*\\*"Secret\\*""#)
});
static YAML_DATA: LazyLock<Regex> =
    LazyLock::new(|| compile(r"(?m)^([ \t]*)(?:- )?(?:data|stringData):[ \t]*\r?\n"));
static JSON_DATA: LazyLock<Regex> =
    LazyLock::new(|| compile(r#"\\*"(?:data|stringData)\\*"\s*:\s*\{([^{}]*)\}"#));
static JSON_VALUE: LazyLock<Regex> = LazyLock::new(|| compile(r#":\s*(\\*)"([^"\\]*)"?"#));

/// The values below `data` and `stringData` of a Kubernetes Secret.
pub(super) fn kubernetes_secrets(input: &str, spans: &mut Vec<Span>) {
    if !KIND.is_match(input.as_bytes()) {
        return;
    }
    for caps in YAML_DATA.captures_iter(input.as_bytes()) {
        if let (Some(whole), Some(indent)) = (caps.get(0), caps.get(1)) {
            yaml_values(input, whole.end(), indent.len(), spans);
        }
    }
    for body in JSON_DATA.captures_iter(input.as_bytes()).filter_map(|c| c.get(1)) {
        for value in JSON_VALUE.captures_iter(body.as_bytes()).filter_map(|c| c.get(2)) {
            spans.push(kubernetes(body.start() + value.start()..body.start() + value.end()));
        }
    }
}

fn yaml_values(input: &str, start: usize, indent: usize, spans: &mut Vec<Span>) {
    let mut at = start;
    let mut entries = None;
    for line in input[start..].split_inclusive('\n') {
        let body = line.trim_start_matches([' ', '\t']);
        let depth = line.len() - body.len();
        let (from, end) = (at + depth, at + line.trim_end().len());
        at += line.len();
        if body.trim().is_empty() {
            continue;
        }
        if depth <= indent {
            break;
        }
        // Deeper than the entries: the lines of a block value.
        let first = *entries.get_or_insert(depth);
        let value = if depth > first { Some(0) } else { body.find(": ").map(|i| i + 2) };
        if let Some(offset) = value {
            let raw = &input[from + offset..end.max(from + offset)];
            if !matches!(raw.trim(), "|" | ">" | "|-" | ">-") {
                spans.push(kubernetes(from + offset..end.max(from + offset)));
            }
        }
    }
}

fn kubernetes(range: std::ops::Range<usize>) -> Span {
    Span::new(range, "kubernetes-secret")
}

static AUTHS: LazyLock<Regex> = LazyLock::new(|| compile(r#"\\*["']auths\\*["'](?:\s|\\+[nrt])*:"#));
static AUTH: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"\\*["'](?:auth|identitytoken|registrytoken)\\*["'](?:\s|\\+[nrt])*:(?:\s|\\+[nrt])*\\*["']([^\s"'\\]{4,})"#,
    )
});

/// The logins in the configuration of a container registry's client: `{"auths": {"host": {"auth": "…"}}}`.
pub(super) fn registry_logins(input: &str, spans: &mut Vec<Span>) {
    let Some(begin) = AUTHS.find(input.as_bytes()) else { return };
    let found = AUTH.captures_iter(&input.as_bytes()[begin.end()..]).filter_map(|c| c.get(1));
    spans.extend(found.map(|v| Span::new(begin.end() + v.start()..begin.end() + v.end(), "registry-login")));
}

/// `host:port:database:user:password`, with the ports PostgreSQL and its poolers listen on.
static PGPASS: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?m)(?:^|[\s"'`]|\\[nrt])[A-Za-z0-9_.*/-]+:(?:\*|[0-9]?543[0-9]|6432|6543):[A-Za-z0-9_.*$-]+:[A-Za-z0-9_.*@$-]+:((?:\\+:|[^\s"'`\\])+)"#,
    )
});

/// The lines of a `.pgpass` file.
pub(super) fn pgpass(input: &str, spans: &mut Vec<Span>) {
    let found = PGPASS.captures_iter(input.as_bytes()).filter_map(|c| c.get(1));
    spans.extend(found.map(|v| Span::new(v.range(), "password")));
}
