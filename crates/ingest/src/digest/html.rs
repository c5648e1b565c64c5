//! Web pages as text: without markup, scripts and styles.

/// Whether a text is a web page.
pub(super) fn is_page(text: &str) -> bool {
    let head = text.trim_start().as_bytes();
    let head = &head[..head.len().min(1_000)];
    let starts = |tag: &[u8]| head.len() >= tag.len() && head[..tag.len()].eq_ignore_ascii_case(tag);
    starts(b"<!doctype html") || starts(b"<html") || starts(b"<head") || starts(b"<body")
}

/// The text of a page, a line per block. Reads broken markup to the end.
pub(super) fn text(page: &str) -> String {
    let mut out = String::with_capacity(page.len() / 4);
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        push(&mut out, &rest[..at]);
        rest = &rest[at..];
        let tag = name(rest);
        if is_block(tag) && !out.ends_with('\n') {
            out.push('\n');
        }
        rest = match tag {
            _ if rest.starts_with("<!--") => after(rest, "-->"),
            "script" | "style" | "noscript" | "svg" => after(rest, &format!("</{tag}")),
            _ => rest,
        };
        rest = after(rest, ">");
    }
    push(&mut out, rest);
    out
}

/// The part behind the next `end`, as the page or the rest of it has it.
fn after<'a>(text: &'a str, end: &str) -> &'a str {
    match text.find(end) {
        Some(at) if end == ">" || end == "-->" => &text[at + end.len()..],
        Some(at) => &text[at..],
        None => "",
    }
}

/// The name of the tag that `text` begins with; what closes a tag is called as what opens it.
fn name(text: &str) -> &str {
    let text = text.trim_start_matches(['<', '/']);
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    &text[..end.min(16)]
}

fn is_block(tag: &str) -> bool {
    const BLOCKS: &[&str] = &[
        "p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "title", "section", "article",
        "table", "ul", "ol", "pre", "header", "footer", "body", "head", "nav", "main",
    ];
    BLOCKS.iter().any(|b| b.eq_ignore_ascii_case(tag))
}

/// Text with its entities resolved and its blanks as one.
fn push(out: &mut String, text: &str) {
    const ENTITIES: &[(&str, &str)] = &[
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    for word in text.split_whitespace() {
        if !out.is_empty() && !out.ends_with(['\n', ' ']) {
            out.push(' ');
        }
        if word.contains('&') {
            let plain = ENTITIES.iter().fold(word.to_owned(), |w, (entity, sign)| w.replace(entity, sign));
            out.push_str(&plain);
        } else {
            out.push_str(word);
        }
    }
}
