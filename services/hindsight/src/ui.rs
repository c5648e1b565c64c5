//! The one place that writes to the terminal. Results go to standard output, everything else to standard
//! error, so that output can be piped.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _, Write as _},
    sync::LazyLock,
};

use hindsight_text::is_invisible;
use hindsight_wiring::{Failure, code};
use prost::Message;
use serde::Serialize;

use crate::json;

/// A look for text. Applied only on a terminal, and not when `NO_COLOR` is set.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    Bold,
    Dim,
    Green,
    Yellow,
    Red,
    Magenta,
}

static COLOURS: LazyLock<bool> =
    LazyLock::new(|| io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()));

/// Stands for the escape character of a style until the text is printed. Random, so that no text that is
/// shown can contain it and colour the terminal by itself.
static ESCAPE: LazyLock<String> = LazyLock::new(|| format!("\x1b{:032x}", rand::random::<u128>()));

impl Style {
    pub(crate) fn paint(self, text: &str) -> String {
        if !*COLOURS {
            return text.to_owned();
        }
        let code = match self {
            Self::Bold => 1,
            Self::Dim => 2,
            Self::Red => 31,
            Self::Green => 32,
            Self::Yellow => 33,
            Self::Magenta => 35,
        };
        format!("{escape}[{code}m{text}{escape}[0m", escape = *ESCAPE)
    }
}

/// What a terminal may be given: the styles of this process and text. Text comes from runs that anybody
/// recorded; a control character in it shows as its picture, an invisible one not at all.
fn drawn(text: &str) -> String {
    let visible = |part: &str| part.chars().filter_map(visible).collect::<String>();
    text.split(ESCAPE.as_str()).map(visible).collect::<Vec<_>>().join("\x1b")
}

fn visible(c: char) -> Option<char> {
    match c {
        '\n' | '\t' => Some(c),
        '\r' => None,
        '\x7f' => Some('\u{2421}'),
        '\0'..' ' => char::from_u32(0x2400 + u32::from(c)),
        _ if c.is_control() => Some(char::REPLACEMENT_CHARACTER),
        _ => Some(c).filter(|c| !is_invisible(*c)),
    }
}

/// JSON that means the same, in which nothing is invisible.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_invisible(c) || (c.is_control() && c != '\n') {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// How results are printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ui {
    pub json: bool,
}

impl Ui {
    /// A result, with a newline at its end.
    pub(crate) fn print(self, text: &str) -> Result<(), Failure> {
        self.write(&drawn(text))
    }

    fn write(self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        let newline = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
        match out.write_all(format!("{text}{newline}").as_bytes()).and_then(|()| out.flush()) {
            // The reader has seen enough.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => Ok(other?),
        }
    }

    /// A message of the API: as JSON, or as `text` makes it.
    pub(crate) fn message<M: Message>(
        self,
        name: &str,
        message: &M,
        text: impl FnOnce(&M) -> String,
    ) -> Result<(), Failure> {
        if self.json { self.value(&json::of_message(name, message)?) } else { self.print(&text(message)) }
    }

    /// A message of the API as JSON on one line, without what holds its default.
    pub(crate) fn line<M: Message>(self, name: &str, message: &M) -> Result<(), Failure> {
        self.write(&escaped(&json::line(name, message)?))
    }

    /// A value on one line.
    pub(crate) fn row<T: Serialize>(self, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(|e| Failure::new(code::INTERNAL, e))?;
        self.write(&escaped(&text))
    }

    pub(crate) fn value<T: Serialize>(self, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).map_err(|e| Failure::new(code::INTERNAL, e))?;
        self.write(&escaped(&text))
    }

    /// Something to know that is not the result.
    pub(crate) fn note(self, text: &str) {
        // Nothing can be said about standard error not working.
        let _ = writeln!(io::stderr().lock(), "{}", drawn(text));
    }
}

#[cfg(test)]
mod tests {
    use super::{ESCAPE, drawn, escaped};

    #[test]
    fn only_styles_of_this_process_reach_a_terminal() {
        let hostile = "a\x1b[31mb\x1b]0;title\x07\0\u{9b}2J\u{202e}c\u{200b}\x7f\r\n\t好";
        assert_eq!(drawn(hostile), "a␛[31mb␛]0;title␇␀\u{fffd}2Jc␡\n\t好");
        let styled = format!("{e}[1m{hostile}{e}[0m", e = *ESCAPE);
        assert_eq!(drawn(&styled), format!("\x1b[1m{}\x1b[0m", drawn(hostile)));
    }

    #[test]
    fn json_shows_everything_and_means_the_same() {
        let value = serde_json::json!({"a": "x\u{202e}\u{e0041}\x1b\u{9b}\x7f好"});
        let shown = escaped(&serde_json::to_string_pretty(&value).unwrap_or_default());
        assert!(shown.contains("\\u202e\\udb40\\udc41\\u001b\\u009b\\u007f好"), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).ok(), Some(value));
    }
}
