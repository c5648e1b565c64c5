//! Where the chain from what an agent did to what helped another one breaks.

use std::fmt::Write as _;

use hindsight_proto::memory::v1::{DiagnoseRequest, DiagnoseResponse, DiagnosisLink, DiagnosisState};
use hindsight_wiring::Failure;

use crate::{context::Context, names, ui::Style};

/// Exit code when a link is broken.
const BROKEN: u8 = 1;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of a run, or the id of a memory or of a receipt.
    #[arg(value_name = "TRACE|MEMORY|RECEIPT")]
    subject: String,
    /// The user it belongs to, when it belongs to one.
    #[arg(long)]
    user: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<u8, Failure> {
    let request = DiagnoseRequest { subject: args.subject, user: args.user.unwrap_or_default() };
    let response = context.with_client(|client| async move { Ok(client.diagnose(request).await?) }).await?;
    context.ui.message("hindsight.memory.v1.DiagnoseResponse", &response, text)?;
    let broken = response.links.iter().any(|link| link.state() == DiagnosisState::Broken);
    Ok(if broken { BROKEN } else { 0 })
}

fn text(response: &DiagnoseResponse) -> String {
    response.links.iter().map(line).collect()
}

fn line(link: &DiagnosisLink) -> String {
    let (mark, style) = match link.state() {
        DiagnosisState::Whole => ("✓", Style::Green),
        DiagnosisState::Broken => ("✗", Style::Red),
        DiagnosisState::NotReached | DiagnosisState::Unspecified => ("·", Style::Dim),
    };
    let stage = format!("{:<9}", names::diagnosis_stage(link.stage));
    let mut text =
        format!("{} {} {}", style.paint(mark), style.paint(&stage), link.finding).trim_end().to_owned();
    text.push('\n');
    if !link.remedy.is_empty() {
        let _ = writeln!(text, "  {} {}", Style::Bold.paint("remedy   "), link.remedy);
    }
    text
}
