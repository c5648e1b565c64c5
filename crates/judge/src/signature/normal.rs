//! What varies from run to run, replaced by its kind.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Codes that say which error it is, kept as they are: HTTP statuses, exit codes, numbers of compilers and databases.
/// The end of an id, as in `A-404 not found`, is none.
const KEPT: &[&str] = &[
    r"(?i)(?:\bhttp(?:/\d(?:\.\d)?)?|\bstatus(?:[ _-]?code)?|\bcode|\berrno|\bexit(?:ed)?(?: with)?(?: code| status)?|\bsignal|\breturned|退出码|状态码|错误码|返回码)[\s:=\x22'：]{1,4}-?\d{1,5}(?-u:\b)",
    r"(?i)(?:^|[^A-Za-z0-9_-])[45]\d\d (?:not found|forbidden|unauthori[sz]ed|bad request|internal server error|bad gateway|service unavailable|gateway time-?out|too many requests|conflict|client error|server error|payment required|method not allowed|request time-?out|gone|unprocessable)",
    r"(?:^|[^A-Za-z0-9_-])(?:E\d{3,4}|ORA-\d{5}|TS\d{4}|CS\d{4}|SQLSTATE\[?\w{5}|ERR_[A-Z_]+\d*)(?-u:\b)",
];

/// What is replaced, and by what. The order matters: larger shapes first. Words are those of ASCII, so that
/// an id glued to a Chinese word is an id.
const VARIABLE: &[(&str, &str)] = &[
    (r"(?i)(?-u:\b)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?-u:\b)", "<id>"),
    (
        r"(?-u:\b)\d{4}[-/]\d{2}[-/]\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:[.,]\d+)?)?(?:Z| ?[+-]\d{2}:?\d{2})?",
        "<time>",
    ),
    (r"\d{4}年\d{1,2}月\d{1,2}日(?: ?\d{1,2}[:时点]\d{1,2}(?:[:分]\d{1,2}秒?|分)?)?", "<time>"),
    (
        r"(?i)(?-u:\b)(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?(?:(?:\d{1,2} )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,4})(?:,? \d{4})?(?: \d{2}:\d{2}(?::\d{2})?)?(?: \d{4})?(?-u:\b)",
        "<time>",
    ),
    (r"(?i)(?-u:\b)(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4}(?-u:\b)", "<addr>"),
    (r"(?-u:\b)\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?(?:Z|[+-]\d{2}:?\d{2})?(?-u:\b)", "<time>"),
    (r"(?-u:[\w.+-]+@[\w-]+\.[\w.]+)", "<mail>"),
    (
        r"(?-u:\b)(?:https?|wss?|amqps?|postgres(?:ql)?|mysql|redis|mongodb|s3|gs|file)://[^\s,;)'\x22，；）”]+",
        "<url>",
    ),
    (r"(?-u:\b)\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?:/\d{1,2})?(?-u:\b)", "<addr>"),
    (
        r"(?i)(?-u:\b)[a-z0-9](?:[a-z0-9-]*)(?:\.[a-z0-9-]+)*\.(?:internal|local|com|net|org|io|cn|dev|svc|lan)(?:\.[a-z0-9-]+)*(?::\d+)?(?-u:\b)",
        "<addr>",
    ),
    (r"(?-u:(?:~|\.{1,2}|\b[\w.@+-]+)?(?:/[\w.@+-]+){2,}/?)", "<path>"),
    (r"(?-u:\b[A-Za-z]:\\[\w.\\-]+)", "<path>"),
    (r"(?-u:\b[\w.@+-]+(?:/[\w.@+-]+)+\.\w{1,5}\b)", "<path>"),
    (
        r"(?-u:\b[\w.-]*\w\.(?:py|rs|js|jsx|ts|tsx|go|java|rb|php|c|h|cc|cpp|cs|sh|sql|ya?ml|json|toml|xml|ini|cfg|conf|txt|log|md|csv|html|css|lock|pem|key|crt|tf)\b)",
        "<path>",
    ),
    (r"(?-u:\b0[xX][0-9a-fA-F]+\b)", "<hex>"),
    (
        r"(?i)(?-u:\b)(?:\d+(?:\.\d+)? ?(?:ns|us|µs|ms|s|secs?|seconds?|mins?|minutes?|hours?|hrs?|h|m|days?|d))+(?-u:\b)",
        "<time>",
    ),
    (r"\d+(?:\.\d+)? ?(?:毫秒|秒|分钟|小时|天)", "<time>"),
    (r"(?-u:\b)\d+(?:\.\d+)? ?(?:[KMGTkmgt]i?[Bb]?|bytes?|B)(?-u:\b)", "<n>"),
    // Words that mix letters and digits, and long hexadecimal ones, are generated.
    (r"(?-u:\b[\w-]*[A-Za-z][\w-]*\d[\w-]*\b|\b[\w-]*\d[\w-]*[A-Za-z][\w-]*\b)", "<id>"),
    (r"(?-u:\b[0-9a-fA-F]{12,}\b)", "<id>"),
    (r"\d+(?:[.,]\d+)*", "<n>"),
    // A place in a file, and a name in quotes, which is whatever the call was about.
    (r"<path>(?::<n>)+", "<path>"),
    (
        r#"'[^'\s]{1,64}'|"[^"\s]{1,64}"|`[^`\s]{1,64}`|“[^”\s]{1,32}”|「[^」\s]{1,32}」|《[^》\s]{1,32}》|‘[^’\s]{1,32}’"#,
        "<name>",
    ),
];

static KEPT_SET: LazyLock<Vec<Regex>> =
    LazyLock::new(|| KEPT.iter().filter_map(|p| Regex::new(p).ok()).collect());
static VARIABLE_SET: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    VARIABLE.iter().filter_map(|(p, name)| Regex::new(p).ok().map(|r| (r, *name))).collect()
});

/// Where kept digits and letters hide while the rest is replaced: the private use area, which no text of
/// ours holds for long.
const HIDDEN: u32 = 0xF_0000;

/// Text with ids, numbers, times, addresses, paths and quoted names replaced by their kind, and white space
/// squeezed. Codes that say which error it is stay.
pub fn normalise(text: &str) -> String {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for kept in KEPT_SET.iter() {
        if let Cow::Owned(changed) = kept.replace_all(&text, |c: &Captures<'_>| hidden(&c[0])) {
            text = changed;
        }
    }
    for (pattern, name) in VARIABLE_SET.iter() {
        if let Cow::Owned(changed) = pattern.replace_all(&text, *name) {
            text = changed;
        }
    }
    shown(&text)
}

fn hidden(text: &str) -> String {
    let hide = |c: char| if c.is_ascii() { char::from_u32(HIDDEN + c as u32).unwrap_or(c) } else { c };
    text.chars().map(hide).collect()
}

fn shown(text: &str) -> String {
    let show = |c: char| match (c as u32).checked_sub(HIDDEN).filter(|n| *n < 128) {
        Some(n) => char::from_u32(n).unwrap_or(c),
        None => c,
    };
    text.chars().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!((KEPT_SET.len(), VARIABLE_SET.len()), (KEPT.len(), VARIABLE.len()));
    }

    #[test]
    fn what_says_which_error_it_is_stays() {
        assert_eq!(normalise("HTTP 404 for order 77"), "HTTP 404 for order <n>");
        assert_eq!(normalise("exit code 137 after 30s"), "exit code 137 after <time>");
        assert_eq!(
            normalise("a.py:3:1: E999 SyntaxError"),
            "<path>:<n>:<n>: E999 SyntaxError".replace(":<n>:<n>", "")
        );
        assert_eq!(normalise("error: 404 not found"), "error: 404 not found");
        assert_eq!(normalise("order A-404 not found"), "order <id> not found");
        assert_eq!(normalise("part X-E999 missing"), "part <id> missing");
        assert_eq!(normalise("状态码：502，订单A-17失败"), "状态码：502，订单<id>失败");
    }
}
