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

/// Which part of a match is the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    /// What follows the first `:` or `=`.
    Assigned,
    /// The first group.
    Group,
}

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) kind: String,
    pub(super) regex: Regex,
    pub(super) part: Part,
}

#[derive(Debug)]
pub(super) struct Rules {
    pub(super) rules: Vec<Rule>,
    /// Says in one pass which rules can match at all; most text matches none.
    pub(super) set: RegexSet,
}

const OURS: &[(&str, &str, Part)] = &[
    ("jwt", r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){0,3}", Part::Whole),
    ("google-api-key", r"\bAIza[0-9A-Za-z_-]{33,}", Part::Whole),
    ("aws-access-key-id", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", Part::Whole),
    ("openai-api-key", r"\bsk-[0-9A-Za-z_-]{20,}", Part::Whole),
    ("alibaba-access-key-id", r"\bLTAI[0-9A-Za-z]{12,26}\b", Part::Whole),
    ("tencent-secret-id", r"\bAKID[0-9A-Za-z]{28,40}\b", Part::Whole),
    ("slack-webhook", r"hooks\.slack\.com/services/([A-Za-z0-9_/]{16,})", Part::Group),
    ("hashicorp-vault-token", r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}", Part::Whole),
    ("bearer", r#"(?i)\bbearer[ \t]+([A-Za-z0-9._~+/=-]*[0-9._~+/=-][A-Za-z0-9._~+/=-]{5,})"#, Part::Group),
    (
        "authorization",
        r#"(?i)\b(?:proxy-)?authorization\\*["']?[ \t]*[:=][ \t]*\\*["']?((?:(?:basic|bearer|token|digest|apikey|negotiate|aws4-hmac-sha256)[ \t]+)?[^\s"'\\,;]{4,}[^"'\\\r\n]*)"#,
        Part::Group,
    ),
    (
        "session-cookie",
        r#"(?i)\b(?:set-)?cookie\\*["']?[ \t]*:[ \t]*\\*["']?([^\s"'\\=]+=[^"'\\\r\n]+)"#,
        Part::Group,
    ),
    // A password may hold `/` and `@` in a database URL as people write it; in a web address they end it.
    (
        "url-password",
        r#"(?i)\b(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|oracle|clickhouse|kafka|nats|ldaps?|smtps?|ftps?|sftp|jdbc:[a-z]+|[a-z]+\+[a-z0-9]+)://[^\s:/@"'<>]*:([^\s"'<>]+)@"#,
        Part::Group,
    ),
    ("url-password", r#"://[^\s:/?#@"'<>]*:([^\s/"'<>]+)@"#, Part::Group),
    ("mysql-password", r#"\bmysql(?:dump|admin|import)?\b[^\n|;]*?[ \t]-p([^\s"'|;]+)"#, Part::Group),
    ("basic-auth", r#"\bcurl\b[^\n|;]*?[ \t](?:-u|--user)[ \t=]*["']?[^\s:"']+:([^\s"']+)"#, Part::Group),
    ("ssh-password", r#"\bsshpass[ \t]+-p[ \t]*["']?([^\s"']+)"#, Part::Group),
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
];

/// Begins with the name of a variable: only what is assigned is the secret.
fn part_of(pattern: &str) -> Part {
    if pattern.contains("[:=]") { Part::Assigned } else { Part::Whole }
}

pub(super) static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let ours = OURS.iter().map(|(kind, pattern, part)| ((*kind).to_owned(), (*pattern).to_owned(), *part));
    let theirs = catalogue()
        .iter()
        .filter(|r| r.severity >= Severity::High && !REPLACED.contains(&r.name))
        .map(|r| (r.id.clone(), r.regex.as_str().to_owned(), part_of(r.regex.as_str())));
    let all: Vec<_> = ours.chain(theirs).collect();
    let set = RegexSetBuilder::new(all.iter().map(|(_, p, _)| p)).unicode(false).size_limit(64 << 20).build();
    let set = match set {
        Ok(set) => set,
        Err(e) => unreachable!("patterns compile one by one but not together: {e}"),
    };
    let rules =
        all.into_iter().map(|(kind, pattern, part)| Rule { kind, regex: compile(&pattern), part }).collect();
    Rules { rules, set }
});
