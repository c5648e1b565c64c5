//! Which formats are secrets.
//!
//! The formats of providers (cloud keys, forge and chat tokens, …) come from the rule table of the crate
//! `secretscan`, which is maintained for that. Of its rules we take those that name one exact format. Its
//! scanner is not used: it reads files line by line, reports instead of replacing, and filters by path.
//! Left out are its rules for passwords, URLs and generic assignments, which cut at the first space or
//! quote, miss YAML, escaped JSON and Chinese, and take the name with the value (ours are in
//! `assignment`), and its guesses by length and alphabet, which would erase hashes and ids that an
//! experience needs.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexSet, RegexSetBuilder};
use secretscan::{Severity, rules as catalogue};

use crate::pattern::compile;

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) kind: String,
    pub(super) regex: Regex,
    /// Only what follows the first `:` or `=` of the match is the secret.
    pub(super) assigned: bool,
}

#[derive(Debug)]
pub(super) struct Rules {
    pub(super) rules: Vec<Rule>,
    /// Says in one pass which rules can match at all; most text matches none.
    pub(super) set: RegexSet,
}

/// Where a rule may begin: at a word, or behind an escaped line end, whose letter is no part of a word.
const BEGIN: &str = r"(?:\b|\\[nrt])";

/// A pattern without the border at its beginning, in whose place [`BEGIN`] stands.
fn unbound(pattern: &str) -> String {
    match pattern.strip_prefix(r"(?i)\b") {
        Some(rest) => format!("(?i){rest}"),
        None => pattern.strip_prefix(r"\b").unwrap_or(pattern).to_owned(),
    }
}

/// A pattern that also holds in JSON in JSON, where blanks and quotes are written with backslashes.
fn escaped(pattern: &str) -> String {
    pattern.replace(r"[ \t]", BLANK).replace(r"\s*", BLANKS).replace(r#"["']?"#, r#"\\*["']?"#)
}

pub(super) const BLANK: &str = r"(?:[ \t]|\\+t)";
pub(super) const BLANKS: &str = r"(?:\s|\\+[nrt])*";

/// Kind and pattern. The secret is the group `part`, or else the whole.
const OURS: &[(&str, &str)] = &[
    ("jwt", r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){0,3}"),
    ("google-api-key", r"AIza[0-9A-Za-z_-]{33,}"),
    ("aws-access-key-id", r"(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("openai-api-key", r"sk-[0-9A-Za-z_-]{20,}"),
    ("alibaba-access-key-id", r"LTAI[0-9A-Za-z]{12,26}\b"),
    ("tencent-secret-id", r"AKID[0-9A-Za-z]{28,40}\b"),
    ("slack-webhook", r"hooks\.slack\.com/services/(?P<part>[A-Za-z0-9_/]{16,})"),
    ("hashicorp-vault-token", r"hv[sbr]\.[A-Za-z0-9_-]{20,}"),
    ("discord-token", r"[MN][A-Za-z0-9]{23}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}"),
    ("bearer", r#"(?i)bearer[ \t]+(?P<part>[A-Za-z0-9._~+/=-]*[0-9._~+/=-][A-Za-z0-9._~+/=-]{5,})"#),
    (
        "authorization",
        r#"(?i)(?:proxy-)?authorization\\*["']?[ \t]*[:=][ \t]*(?:\[[ \t]*)?\\*["']?(?P<part>(?:(?:basic|bearer|token|digest|apikey|negotiate|aws4-hmac-sha256)[ \t]+)?[^\s"'\\,;]{4,}[^"'\\\r\n]*)"#,
    ),
    (
        "session-cookie",
        r#"(?i)(?:set-)?cookie\\*["']?[ \t]*:[ \t]*\\*["']?(?P<part>[^\s"'\\=]+=[^"'\\\r\n]+)"#,
    ),
    // A password may hold `/` and `@` in a database URL as people write it; in a web address they end it.
    (
        "url-password",
        r#"(?i)(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|oracle|clickhouse|kafka|nats|ldaps?|smtps?|ftps?|sftp|jdbc:[a-z]+|[a-z]+\+[a-z0-9]+)://[^\s:/@"'<>]*:(?P<part>[^\s"'<>]+)@"#,
    ),
    ("url-password", r#"[a-z][a-z0-9+.-]*://[^\s:/?#@"'<>]*:(?P<part>[^\s/"'<>]+)@"#),
    ("mysql-password", r#"mysql(?:dump|admin|import)?\b[^\n|;]*?[ \t]-p(?P<part>[^\s"'|;]+)"#),
    ("basic-auth", r#"curl\b[^\n|;]*?[ \t](?:-u|--user)(?:[ \t]|=)*["']?[^\s:"']+:(?P<part>[^\s"']+)"#),
    ("password", r"(?i)[a-z0-9_:.-]*(?:password|passwd|secret|token|api-?key)>(?P<part>[^<\s][^<]*)</"),
    ("password", r#"(?i)identified[ \t]+by[ \t]+\\*["'](?P<part>[^"'\\\n]+)"#),
    ("password", r"(?i)machine[ \t]+\S+\s+login[ \t]+\S+\s+password[ \t]+(?P<part>\S+)"),
    ("redis-password", r#"redis-cli\b[^\n|;]*?[ \t]-a[ \t]+["']?(?P<part>[^\s"']+)"#),
    ("kubernetes-secret", r#"from-literal[ =]["']?[^\s="']+=["']?(?P<part>[^\s"']+)"#),
    (
        "secret",
        r#"(?i)config(?:ure)?[ \t]+set[ \t]+[a-z0-9_.-]*(?:secret|token|password|passwd|access_key|api_?key)[a-z0-9_.-]*[ \t]+["']?(?P<part>[^\s"']+)"#,
    ),
    (
        "secret",
        r#"(?:ENV|ARG|setx|setenv)[ \t]+(?i:[a-z0-9_]*(?:password|passwd|secret|token|api_?key|access_?key)[a-z0-9_]*)[ \t]+["']?(?P<part>[^\s"']+)"#,
    ),
    (
        "password",
        r#"(?:docker|podman|nerdctl|helm|oras|skopeo|az|oc)\b[^\n|;]*?[ \t]login\b[^\n|;]*?[ \t]-p(?:[ \t]|=)*["']?(?P<part>[^\s"']+)"#,
    ),
    (
        "password",
        r#"(?i)(?:sqlplus|sqlldr|expdp|impdp|rman)\b[^\n|;]*?[ \t][^\s/]+/["']?(?P<part>[^\s"'@]+)@"#,
    ),
    ("basic-auth", r#"auth[ \t]*=[ \t]*\([ \t]*\\*["'][^"'\n]*["'][ \t]*,[ \t]*\\*["'](?P<part>[^"'\\\n]+)"#),
    ("ssh-password", r#"sshpass[ \t]+-p[ \t]*["']?(?P<part>[^\s"']+)"#),
];

/// Rules of the catalogue that another of ours does better.
const REPLACED: &[&str] = &[
    "AWS Access Key",
    "AWS Access Key ID",
    "RSA Private Key",
    "EC Private Key",
    "PGP Private Key",
    "SSH Private Key",
    "Generic Private Key",
    "Multi-line Private Key",
    "PostgreSQL URL",
    "MySQL URL",
    "MongoDB URL",
    "Redis URL",
    "OpenAI API Key",
    // Unbound at its start, it makes the automaton count from every M and N of a base64 text.
    "Discord Token",
];

pub(super) static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let ours = OURS.iter().map(|(kind, pattern)| ((*kind).to_owned(), (*pattern).to_owned(), false));
    let theirs = catalogue()
        .iter()
        .filter(|r| r.severity >= Severity::High && !REPLACED.contains(&r.name))
        // Those that begin with the name of a variable say so with their separator.
        .map(|r| (r.id.clone(), r.regex.as_str(), r.regex.as_str().contains("[:=]")))
        .map(|(kind, pattern, assigned)| (kind, unbound(pattern), assigned));
    let all: Vec<_> = ours
        .chain(theirs)
        .map(|(kind, pattern, assigned)| (kind, format!("{BEGIN}(?P<whole>{})", escaped(&pattern)), assigned))
        .collect();
    let set = RegexSetBuilder::new(all.iter().map(|(_, p, _)| p)).unicode(false).size_limit(64 << 20).build();
    let set = match set {
        Ok(set) => set,
        Err(e) => unreachable!("patterns compile one by one but not together: {e}"),
    };
    let rules =
        all.into_iter().map(|(kind, pattern, assigned)| Rule { kind, regex: compile(&pattern), assigned });
    Rules { rules: rules.collect(), set }
});
