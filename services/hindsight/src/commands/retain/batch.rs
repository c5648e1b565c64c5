//! Many facts from a file, in calls of bounded size. Every line gets its answer; a broken one does not stop
//! the others.

use std::path::Path;

use hindsight_client::Client;
use hindsight_proto::collector::v1::{
    Rejection, RetainBatchRequest, RetainBatchResponse, RetainRequest, RetainResult,
};
use hindsight_types::limits;
use hindsight_wiring::{Failure, code};
use prost::Message as _;

use super::read;
use crate::{context::Context, json};

/// A call is sent when it weighs more, below what a server takes.
const CALL_BYTES: usize = 16 * 1024 * 1024;
/// Larger files come in parts.
const FILE_BYTES: u64 = 256 * 1024 * 1024;

/// A line of the file, by its number.
struct Line {
    number: u64,
    request: RetainRequest,
}

pub(super) async fn run(file: &Path, options: &RetainRequest, context: &Context) -> Result<u8, Failure> {
    let text = read(file, FILE_BYTES + 1)?;
    if text.len() as u64 > FILE_BYTES {
        let problem = format!("{}: is larger than {FILE_BYTES} bytes; split it", file.display());
        return Err(Failure::new(code::DATA, problem));
    }
    let (lines, mut results) = lines(&text, options);
    let kept = context.with_client(|client| async move { send(&client, lines).await }).await?;
    results.extend(kept);
    results.sort_by_key(|(number, _)| *number);
    let refused = results.iter().any(|(_, r)| r.rejection.is_some());
    let answer = RetainBatchResponse { results: results.iter().map(|(_, r)| r.clone()).collect() };
    context.ui.message("hindsight.collector.v1.RetainBatchResponse", &answer, |_| told(&results))?;
    Ok(if refused { code::DATA } else { 0 })
}

/// The requests of a file, and what became of lines that are none.
fn lines(text: &str, options: &RetainRequest) -> (Vec<Line>, Vec<(u64, RetainResult)>) {
    let (mut lines, mut broken) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        match json::to_message("hindsight.collector.v1.RetainRequest", line) {
            Ok(request) => lines.push(Line { number, request: completed(request, options) }),
            Err(e) => {
                let message = format!("is no RetainRequest in JSON: {e}");
                let rejection = Rejection { sequence: number, message, ..Rejection::default() };
                broken.push((number, RetainResult { rejection: Some(rejection), ..RetainResult::default() }));
            }
        }
    }
    (lines, broken)
}

/// What the line leaves open is taken from the options.
fn completed(line: RetainRequest, options: &RetainRequest) -> RetainRequest {
    let text = |own: String, option: &String| if own.is_empty() { option.clone() } else { own };
    let number = |own: i32, option: i32| if own == 0 { option } else { own };
    RetainRequest {
        user: text(line.user, &options.user),
        context: text(line.context, &options.context),
        speaker: text(line.speaker, &options.speaker),
        session: text(line.session, &options.session),
        intent: text(line.intent, &options.intent),
        r#type: number(line.r#type, options.r#type),
        status: number(line.status, options.status),
        consistency: number(line.consistency, options.consistency),
        expires_at: line.expires_at.or(options.expires_at),
        attachments: if line.attachments.is_empty() { options.attachments.clone() } else { line.attachments },
        force: line.force || options.force,
        ..line
    }
}

async fn send(client: &Client, lines: Vec<Line>) -> Result<Vec<(u64, RetainResult)>, Failure> {
    let (mut results, mut lines) = (Vec::with_capacity(lines.len()), lines.into_iter().peekable());
    while lines.peek().is_some() {
        let (mut numbers, mut facts, mut bytes) = (Vec::new(), Vec::new(), 0);
        while let Some(Line { number, request }) =
            lines.next_if(|_| facts.len() < limits::BATCH && bytes < CALL_BYTES)
        {
            bytes += request.encoded_len();
            numbers.push(number);
            facts.push(request);
        }
        let answer = client.retain_batch(RetainBatchRequest { facts }).await?;
        for (number, mut result) in numbers.into_iter().zip(answer.results) {
            if let Some(rejection) = &mut result.rejection {
                rejection.sequence = number;
            }
            results.push((number, result));
        }
    }
    Ok(results)
}

/// A line for each that is not kept, and how many were.
fn told(results: &[(u64, RetainResult)]) -> String {
    let line = |(number, r): &(u64, RetainResult)| match (&r.rejection, &r.not_retained) {
        (Some(rejection), _) => Some(format!("line {number}: refused: {}", rejection.message)),
        (None, Some(why)) => Some(format!("line {number}: not kept: {}", why.message)),
        (None, None) => None,
    };
    let count = |of: fn(&RetainResult) -> bool| results.iter().filter(|(_, r)| of(r)).count();
    let counts = format!(
        "{} kept, {} of them shown as summaries; {} not worth keeping; {} refused",
        count(|r| r.retained),
        count(|r| r.summarised),
        count(|r| r.not_retained.is_some()),
        count(|r| r.rejection.is_some()),
    );
    results.iter().filter_map(line).chain([counts]).collect::<Vec<_>>().join("\n")
}
