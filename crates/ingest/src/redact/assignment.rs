//! Secrets that show by what stands before them: `password: …`, `--token …`, `密码是…`, an environment
//! entry of name and value. Keeps the name, takes the value, in YAML, JSON (also escaped), shell and prose.

use std::sync::LazyLock;

use regex::bytes::{Captures, Regex};

use super::{Span, is_mark};
use crate::pattern::compile;

macro_rules! names {
    () => {
        concat!(
            r"(?:(?P<password>password|passwd|passphrase|pwd|密码|口令",
            r"|(?:db|database|user|admin|root|mysql|postgres|pg|redis|smtp|mail|ftp|ssh|ldap|mongo|mq|auth|login|proxy)[_-]?pass)",
            r"|(?P<key>api[_ -]?key|secret[_-]?key|access[_-]?key(?:[_-]?secret)?|private[_-]?key|client[_-]?secret",
            r"|encryption[_-]?key|signing[_-]?key|account[_-]?key|auth[_-]?token|access[_-]?token|密钥|令牌)",
            r"|secret|token|credentials?|凭证)[_-]?[0-9]{0,2}"
        )
    };
}

/// A name and a separator; the value begins where the match ends.
static LEAD: LazyLock<[Regex; 5]> = LazyLock::new(|| {
    [
        compile(concat!(
            "(?i)",
            names!(),
            r#"\\*["'`]?\]?[ \t]*(?:(?::=|=>|==?|:|：|=|＝)[ \t]*(?:“|「|『|‘)?|“|「|『)"#
        )),
        compile(concat!(r"(?i)--[a-z-]*", names!(), r"[ \t]+")),
        compile(concat!(
            "(?i)",
            names!(),
            r"(?:[ \t]+(?:for|of|to|on)(?:[ \t]+[^\s:]{1,60}){1,6}?)?(?:[ \t]+(?:is|was|is now|(?:was |is )?(?:changed|set|reset) to)[ \t]+",
            r"|[ \t]*(?:是|为|改为|设为))[ \t]*(?::|：)?[ \t]*(?:“|「|『|‘)?"
        )),
        compile(concat!(
            r#"(?i)\b(?:name|key)\\*["']?[ \t]*[:=][ \t]*\\*["']?[A-Za-z0-9_.-]*"#,
            names!(),
            r#"\\*["']?,?(?:\s|\\n)*\\*["']?value\\*["']?[ \t]*[:=][ \t]*"#
        )),
        // Headers: of those that somebody made up (`X-…`), whatever stands there is the secret.
        compile(concat!(
            r"(?i)(?:\b|\\[nrt])(?:(?P<password>x[_-](?:[a-z0-9]+[_-]){0,6}(?:token|secret|auth|pass))",
            r"|(?P<key>x[_-](?:[a-z0-9]+[_-]){0,6}key|(?:[a-z0-9]+-){1,6}token))",
            r#"\\*["'`]?[ \t]*(?::|=>)[ \t]*"#
        )),
    ]
});

const PROSE: usize = 2;
/// Longest value of a key that is read when it turns out not to be one; bounds the time.
const KEY_BYTES: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Password,
    /// A name that only keys have.
    Key,
    /// A word that also stands before the name of a secret, or before none: the value must look random.
    Maybe,
}

impl Class {
    fn of(caps: &Captures<'_>) -> Self {
        match (caps.name("password"), caps.name("key")) {
            (Some(_), _) => Self::Password,
            (_, Some(_)) => Self::Key,
            _ => Self::Maybe,
        }
    }
}

pub(super) fn find(input: &str, spans: &mut Vec<Span>) {
    for (form, lead) in LEAD.iter().enumerate() {
        let bytes = input.as_bytes();
        let mut at = 0;
        while let Some(caps) = lead.captures_at(bytes, at) {
            let Some(whole) = caps.get(0) else { break };
            let class = Class::of(&caps);
            let start = whole.end();
            at = start.max(whole.start() + 1);
            let equals = bytes[whole.range()].contains(&b'=');
            let Some(value) = Value::read(input, whole.start(), start, equals, class) else { continue };
            if value.is_secret(input, class, form == PROSE) {
                let kind = if class == Class::Password { "password" } else { "secret" };
                at = value.end.max(at);
                spans.push(Span::new(value.start..value.end, kind));
            }
        }
    }
}

#[derive(Debug)]
struct Value {
    start: usize,
    end: usize,
    quoted: bool,
}

impl Value {
    fn read(input: &str, lead: usize, start: usize, equals: bool, class: Class) -> Option<Self> {
        let limit = if class == Class::Password { usize::MAX } else { KEY_BYTES };
        let start = in_list(input, start);
        let rest = input.get(start..)?;
        let escapes = rest.bytes().take_while(|b| *b == b'\\').count();
        if let Some(line_end) = line_end(rest) {
            return if equals { None } else { on_next_line(input, lead, start + line_end, class) };
        }
        match rest.as_bytes().get(escapes).copied() {
            Some(quote @ (b'"' | b'\'' | b'`')) => {
                let from = start + escapes + 1;
                Some(Self {
                    start: from,
                    end: from + quoted(&input[from..], quote, escapes, limit),
                    quoted: true,
                })
            }
            Some(b'|' | b'>') => block_scalar(input, start),
            Some(_) => {
                let mut len = bare(rest, equals, limit);
                let spaced = rest.as_bytes().get(len) == Some(&b' ');
                if class == Class::Password
                    && !equals
                    && spaced
                    && begins_line(input, lead)
                    && !is_word(&rest[..len])
                {
                    len = to_line_end(rest).max(len);
                }
                (len > 0).then_some(Self { start, end: start + len, quoted: false })
            }
            None => None,
        }
    }

    fn is_secret(&self, input: &str, class: Class, prose: bool) -> bool {
        let Some(value) = input.get(self.start..self.end) else { return true };
        if value.is_empty() || is_mark(value) || is_reference(value) {
            return false;
        }
        if !self.quoted && (is_word(value) || is_code(value)) {
            return false;
        }
        match class {
            Class::Password if prose => has_odd_character(value),
            Class::Password => self.quoted || !value.starts_with('/'),
            Class::Key => looks_random(value) || is_mixed(value),
            Class::Maybe => looks_random(value),
        }
    }
}

/// `["…"]`: the first of a list of texts.
fn in_list(input: &str, start: usize) -> usize {
    let rest = input.get(start..).unwrap_or_default();
    let Some(inner) = rest.strip_prefix('[') else { return start };
    let text = inner.trim_start_matches([' ', '\\']);
    if text.starts_with(['"', '\'']) {
        start + 1 + inner.len() - inner.trim_start_matches(' ').len()
    } else {
        start
    }
}

/// Length up to the closing quote: the one with no more backslashes before it than the opening had.
fn quoted(rest: &str, quote: u8, escapes: usize, limit: usize) -> usize {
    let mut run = 0;
    for (i, b) in rest.bytes().enumerate().take(limit) {
        match b {
            b'\\' => run += 1,
            b'\n' => return i,
            _ if b == quote && run <= escapes && (escapes > 0 || run % 2 == 0) => {
                return i - run.min(escapes);
            }
            _ => run = 0,
        }
    }
    rest.len().min(limit)
}

/// Length up to what ends a bare value: white space, a quote, Chinese text; after `=` also what ends a
/// shell word or a query parameter.
fn bare(rest: &str, equals: bool, limit: usize) -> usize {
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '\'' | '`' | '\u{2018}'..='\u{201d}' | '\u{2e80}'..)
            || (equals && matches!(c, '&' | ';'))
    };
    let len = rest.char_indices().take_while(|(i, _)| *i < limit).find(|(_, c)| ends(*c)).map(|(i, _)| i);
    let len = len.unwrap_or_else(|| rest.len().min(limit));
    let cut = rest.as_bytes()[..len].windows(2).position(|w| w == b"\\n" || w == b"\\r").unwrap_or(len);
    rest.get(..cut).map_or(cut, |value| without_closers(value).len())
}

/// Without the comma and the brackets that close what stands around the value.
fn without_closers(mut value: &str) -> &str {
    loop {
        let shorter = match value.as_bytes().last() {
            Some(b',' | b'\\') => &value[..value.len() - 1],
            Some(b')') if !value.contains('(') => &value[..value.len() - 1],
            Some(b'}') if !value.contains('{') => &value[..value.len() - 1],
            Some(b']') if !value.contains('[') => &value[..value.len() - 1],
            _ => return value,
        };
        value = shorter;
    }
}

/// A YAML entry: nothing but the rest of its name stands before it on the line.
fn begins_line(input: &str, lead: usize) -> bool {
    let line = line_start(input, lead);
    input[line..lead].bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b' ' | b'-' | b'_' | b'.'))
        && !input[line..lead].trim_start_matches([' ', '-']).contains(' ')
}

/// Looks back a little only: a hostile text is one endless line.
fn line_start(input: &str, at: usize) -> usize {
    let from = input.ceil_char_boundary(at.saturating_sub(200));
    input[from..at].rfind('\n').map_or(from, |i| from + i + 1)
}

fn to_line_end(rest: &str) -> usize {
    let line = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
    line.find("\\n").map_or(line, |i| &line[..i]).trim_end().len()
}

/// A YAML block: the following lines that are indented deeper than the line of the key.
fn block_scalar(input: &str, start: usize) -> Option<Value> {
    let indent = indent_of(&input[line_start(input, start)..start]);
    // The mark of a block is at most `|-` and stands at the end of its line.
    let head = input[start..].bytes().take_while(|b| matches!(b, b'|' | b'>' | b'-' | b'+' | b' ' | b'\r'));
    let first = start + head.take(8).count() + 1;
    if input.as_bytes().get(first - 1) != Some(&b'\n') {
        let len = bare(&input[start..], false, usize::MAX);
        return Some(Value { start, end: start + len, quoted: false });
    }
    let mut end = first;
    for line in input[first..].split_inclusive('\n') {
        if !line.trim().is_empty() && indent_of(line) <= indent {
            break;
        }
        end += line.len();
    }
    let body = &input[first..end];
    let from = first + (body.len() - body.trim_start().len());
    Some(Value { start: from, end: first + body.trim_end().len().max(from - first), quoted: true })
}

/// Length of the end of a line that `rest` begins with, also of an escaped one.
fn line_end(rest: &str) -> Option<usize> {
    if let Some(after) = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')) {
        return Some(rest.len() - after.len());
    }
    let escaped = |rest: &str, letter: u8| {
        let slashes = rest.bytes().take_while(|b| *b == b'\\').count();
        (slashes > 0 && rest.as_bytes().get(slashes) == Some(&letter)).then_some(slashes + 1)
    };
    let carriage = escaped(rest, b'r').unwrap_or(0);
    escaped(&rest[carriage..], b'n').map(|end| carriage + end)
}

/// A value that stands alone below its name, indented deeper: one word, or in YAML also a quoted text.
fn on_next_line(input: &str, lead: usize, line: usize, class: Class) -> Option<Value> {
    let escaped = !input[..line].ends_with('\n');
    let indent = if escaped { 0 } else { indent_of(&input[line_start(input, lead)..]) };
    let start = line + indent_of(&input[line..]);
    if start - line <= indent || line_end(&input[start..]).is_some() {
        return None;
    }
    let value = Value::read(input, start, start, false, class)?;
    let word = input.get(value.start..value.end)?;
    let after = input.as_bytes().get(value.end);
    let alone = value.quoted || matches!(after, None | Some(b'\r' | b'\n' | b'\\' | b'"' | b'\''));
    let is_word = !word.contains([' ', '`']) && !word.contains("://") && !word.ends_with(':');
    let yaml = value.quoted && (escaped || begins_line(input, lead));
    (yaml || alone && is_word && has_odd_character(word)).then_some(value)
}

fn indent_of(line: &str) -> usize {
    line.bytes().take_while(|b| matches!(b, b' ' | b'\t')).count()
}

/// Points at a secret without being one.
fn is_reference(value: &str) -> bool {
    let template = [("<", ">"), ("${", "}"), ("{{", "}}"), ("$(", ")"), ("%(", ")s")];
    value.len() <= 200
        && (template.iter().any(|(a, b)| value.starts_with(a) && value.ends_with(b))
            || value.chars().all(|c| matches!(c, '*' | '.' | 'x' | 'X' | '•' | '-' | '%' | '?'))
            || (value.starts_with('$') && value[1..].bytes().all(|b| b.is_ascii_uppercase() || b == b'_')))
}

/// Words that follow a name in ordinary text, code and configuration.
fn is_word(value: &str) -> bool {
    const WORDS: &[&str] = &[
        "null",
        "none",
        "nil",
        "true",
        "false",
        "empty",
        "undefined",
        "required",
        "optional",
        "incorrect",
        "invalid",
        "wrong",
        "expired",
        "missing",
        "must",
        "should",
        "cannot",
        "is",
        "was",
        "not",
        "for",
        "from",
        "the",
        "a",
        "an",
        "to",
        "and",
        "or",
        "of",
        "in",
        "failed",
        "failure",
        "reset",
        "changed",
        "unchanged",
        "authentication",
        "str",
        "string",
        "text",
        "bytes",
        "int",
        "bool",
        "any",
        "optional[str]",
        "{",
        "{{",
        "[",
        "(",
        "[]",
        "{}",
        "yes",
        "no",
        "ok",
        "enabled",
        "disabled",
        "unknown",
        "unexpected",
        "hidden",
        "masked",
        "redacted",
        "<nil>",
        "never",
        "please",
        "n/a",
        "set",
    ];
    let word = value.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
    word.is_empty() || WORDS.iter().any(|w| w.eq_ignore_ascii_case(word))
}

/// `get_password()`, `self.password`, `os.environ["X"]`: an expression, not a value.
fn is_code(value: &str) -> bool {
    let name = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
    let head = value.split(['(', '[']).next().unwrap_or(value);
    let dotted = head.split('.').all(name);
    dotted && (head.len() < value.len() || head.contains('.'))
}

fn has_odd_character(value: &str) -> bool {
    let v = value.trim_end_matches(['.', ',', ';', ':', '!', '?']);
    // Words like `case-sensitive` or `wrong/expired`.
    if v.split(['-', '/', '\'']).all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase()))
    {
        return false;
    }
    v.chars().any(|c| c.is_ascii_digit() || c.is_ascii_punctuation()) && v.len() >= 4
}

fn is_mixed(value: &str) -> bool {
    let has = |f: fn(&u8) -> bool| value.bytes().any(|b| f(&b));
    value.len() >= 8
        && !value.contains(char::is_whitespace)
        && !value.starts_with(['/', '~'])
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
}

/// Not a plain name: resources are called `db-credentials-2`, keys are not.
fn looks_random(value: &str) -> bool {
    if value.len() < 8 || value.contains(char::is_whitespace) || value.starts_with(['/', '.', '~']) {
        return false;
    }
    let plain = |part: &str| {
        part.len() <= 3
            || part.bytes().all(|b| b.is_ascii_digit()) && part.len() <= 4
            || part.bytes().all(|b| b.is_ascii_lowercase()) && part.len() < 20
            || part.bytes().skip(1).all(|b| b.is_ascii_lowercase()) && part.len() < 20
            || part.bytes().all(|b| b.is_ascii_uppercase()) && part.len() < 16
            || !part.is_ascii()
    };
    !value
        .split(['-', '_', '.', '/', ':', ',', '@', '(', ')', '[', ']', '{', '}', '<', '>', '=', '|'])
        .all(plain)
}
