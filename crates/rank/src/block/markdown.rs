//! The Markdown rendering: a tag around it, a heading per item, a labelled line per thing said of it.
//!
//! ` → ` and ` · ` separate what stands on one line; `quote` takes both out of foreign text.

use hindsight_types::ReceiptId;

use super::{
    Language, TAG, VERSION,
    entry::{Entry, StepLine, Steps, Value},
};

pub(super) fn head(receipt: ReceiptId, language: Language) -> String {
    format!("<{TAG} version=\"{VERSION}\" receipt=\"{receipt}\">\n{}\n\n", language.note())
}

pub(super) fn tail(left_out: usize, language: Language) -> String {
    let told = if left_out == 0 { String::new() } else { format!("{}\n", language.left_out(left_out)) };
    format!("{told}</{TAG}>\n")
}

pub(super) fn item(before: usize, entry: &Entry, language: Language) -> String {
    let mut parts = vec![title(entry, language), entry.age.clone()];
    parts.push(language.in_brackets(entry.sure(language), &format!("{:.2}", entry.confidence)));
    if !entry.speaker.is_empty() {
        parts.push(language.said_by(&code(&entry.speaker)));
    }
    if !entry.sources.is_empty() {
        let sources: Vec<String> = entry.sources.iter().map(|s| code(s)).collect();
        parts.push(language.from(&sources.join(", ")));
    }
    let mut out = format!("### {}. {}\n", before + 1, parts.join(" · "));
    for (key, value) in &entry.lines {
        let label = format!("- {}{}", key.label(language), language.colon());
        match value {
            Value::Text(text) => out.push_str(&format!("{label}{text}\n")),
            Value::Texts(texts) => texts.iter().for_each(|text| out.push_str(&format!("{label}{text}\n"))),
            Value::Steps(steps) => {
                out.push_str(label.trim_end());
                out.push('\n');
                lines(steps, language).for_each(|line| out.push_str(&format!("  {line}\n")));
            }
        }
    }
    out.push('\n');
    out
}

fn title(entry: &Entry, language: Language) -> String {
    let mut title = entry.title.to_owned();
    if !entry.intent.is_empty() {
        title.push_str(&format!(" {}", code(&entry.intent)));
    }
    if entry.notes.is_empty() {
        title
    } else {
        language.in_brackets(&title, &entry.notes.join(language.comma()))
    }
}

fn lines(steps: &Steps, language: Language) -> impl Iterator<Item = String> {
    let mut lines: Vec<String> = steps.shown.iter().map(|s| line(s, language)).collect();
    if steps.left_out > 0 {
        lines.insert(steps.gap.min(lines.len()), format!("- {}", language.more_steps(steps.left_out)));
    }
    lines.into_iter()
}

/// `5. TOOL input → result · instead of X because Y · misleading: why`.
fn line(step: &StepLine, language: Language) -> String {
    let mut line = format!("{}.", step.index);
    if step.tool.is_empty() {
        line.push_str(&format!(" \"{}\"", step.input));
    } else {
        line.push_str(&format!(" {}", code(&step.tool)));
        if !step.input.is_empty() {
            line.push_str(&format!(" {}", step.input));
        }
    }
    if !step.result.is_empty() {
        line.push_str(&format!(" → {}", step.result));
    }
    let reason = language.reason(&step.rejected, &step.because);
    if !reason.is_empty() {
        line.push_str(&format!(" · {reason}"));
    }
    if !step.verdict.is_empty() {
        line.push_str(&format!(" · {}", step.verdict));
        if !step.reason.is_empty() {
            line.push_str(&format!("{}{}", language.colon(), step.reason));
        }
    }
    line
}

/// Quoted text as inline code.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}
