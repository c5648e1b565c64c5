mod batch;

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use hindsight_proto::{
    collector::v1::{Consistency, RetainRequest, RetainResponse},
    common::v1::{Attachment, FactStatus},
};
use hindsight_types::Timestamp;
use hindsight_wiring::{Failure, code};

use crate::{context::Context, names::FactKind};

/// Standard input in place of a text or a file.
const STDIN: &str = "-";
/// More than any fact may hold.
const MOST_BYTES: u64 = 1024 * 1024;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the user said; `-` reads it from standard input.
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    text: Option<String>,
    /// Many at once: JSON Lines in the form of the schema's RetainRequest, as in {"content": …, "session": …};
    /// `-` reads standard input. What a line leaves open is taken from the options.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The user.
    #[arg(long, required_unless_present = "file")]
    user: Option<String>,
    /// The same key again replaces the fact.
    #[arg(long, conflicts_with = "file")]
    key: Option<String>,
    /// What surrounded it, in place of the turns of its session; searched, not shown.
    #[arg(long)]
    context: Option<String>,
    /// Who said it.
    #[arg(long)]
    speaker: Option<String>,
    /// Conversation it was said in.
    #[arg(long)]
    session: Option<String>,
    /// What the user wanted by it.
    #[arg(long)]
    intent: Option<String>,
    /// What sort of thing it is; told from the words by default.
    #[arg(long = "type", value_name = "TYPE")]
    fact_type: Option<FactKind>,
    /// It is settled already.
    #[arg(long)]
    resolved: bool,
    /// When it ends, as in 2026-12-31T18:00:00Z.
    #[arg(long, value_name = "TIME")]
    expires: Option<Timestamp>,
    /// What belongs to it and is kept elsewhere, with what it shows. May be given several times.
    #[arg(long, value_name = "URI[=CAPTION]")]
    attachment: Vec<String>,
    /// Keep it even if it says nothing worth keeping.
    #[arg(long)]
    force: bool,
    /// Return once it cannot be lost, without waiting until a recall finds it.
    #[arg(long)]
    no_wait: bool,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let mut request = request(&args);
    if let Some(file) = &args.file {
        return batch::run(file, &request, context).await;
    }
    if request.content == STDIN {
        request.content = read(Path::new(STDIN), MOST_BYTES)?.trim_end().to_owned();
    }
    let response = context.with_client(|client| async move { Ok(client.retain(request).await?) }).await?;
    context.ui.message("hindsight.collector.v1.RetainResponse", &response, told)?;
    Ok(0)
}

/// What the options say.
fn request(args: &Args) -> RetainRequest {
    let text = |option: &Option<String>| option.clone().unwrap_or_default();
    let status = if args.resolved { FactStatus::Resolved } else { FactStatus::Unspecified };
    let consistency = if args.no_wait { Consistency::Durable } else { Consistency::Indexed };
    RetainRequest {
        user: text(&args.user),
        content: text(&args.text),
        key: text(&args.key),
        context: text(&args.context),
        speaker: text(&args.speaker),
        session: text(&args.session),
        intent: text(&args.intent),
        r#type: args.fact_type.map_or(0, |t| t.to_proto().into()),
        status: status.into(),
        expires_at: args.expires.map(hindsight_codec::time_to_proto),
        attachments: args.attachment.iter().map(|a| attachment(a)).collect(),
        force: args.force,
        consistency: consistency.into(),
        ..RetainRequest::default()
    }
}

/// The last `=` begins the caption, unless it gives the last parameter of a query its value.
fn attachment(text: &str) -> Attachment {
    let own = |uri: &str| {
        let query = uri.split_once('?').and_then(|(_, query)| query.rsplit('&').next());
        query.is_some_and(|parameter| !parameter.contains('='))
    };
    let (uri, caption) = text.rsplit_once('=').filter(|(uri, _)| !own(uri)).unwrap_or((text, ""));
    Attachment { uri: uri.to_owned(), caption: caption.to_owned(), media_type: String::new() }
}

fn read(path: &Path, most: u64) -> Result<String, Failure> {
    let failed = |e: std::io::Error| Failure::new(code::NO_INPUT, format!("{}: {e}", path.display()));
    let mut text = String::new();
    if path == Path::new(STDIN) {
        std::io::stdin().take(most).read_to_string(&mut text).map_err(failed)?;
    } else {
        std::fs::File::open(path).and_then(|f| f.take(most).read_to_string(&mut text)).map_err(failed)?;
    }
    Ok(text)
}

fn told(r: &RetainResponse) -> String {
    match &r.not_retained {
        Some(why) => format!("not kept: {}", why.message),
        None if r.summarised => format!("kept as {}, shown as a summary", r.memory_id),
        None => format!("kept as {}", r.memory_id),
    }
}

#[cfg(test)]
mod tests {
    use super::attachment;

    #[test]
    fn a_caption_is_told_from_a_query() {
        for (text, uri, caption) in [
            ("https://example.com/1.png", "https://example.com/1.png", ""),
            ("https://example.com/1.png=a green cup", "https://example.com/1.png", "a green cup"),
            ("https://example.com/x?id=5", "https://example.com/x?id=5", ""),
            ("https://example.com/x?a=1&b=2", "https://example.com/x?a=1&b=2", ""),
            ("https://example.com/x?a=1&b=2=发票", "https://example.com/x?a=1&b=2", "发票"),
        ] {
            let read = attachment(text);
            assert_eq!((read.uri.as_str(), read.caption.as_str()), (uri, caption));
        }
    }
}
