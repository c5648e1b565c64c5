//! Digests of recorded tool output: how much smaller, and what of the root cause survives.

mod facts;
mod load;
mod report;

use std::{collections::BTreeSet, path::Path};

use facts::{Normal, named};
use hindsight_ingest::{digest, redact};
use hindsight_types::{ActionType, Step, StepStatus};
use load::{Case, Output};
use report::{Lost, Measured, Report, Row};

/// Measures on `holmesgpt_k8s`; says loudly when it is not there.
#[allow(clippy::print_stdout, clippy::print_stderr)]
pub(crate) fn run(data: &Path, json: bool, misses: bool) -> anyhow::Result<()> {
    let folder = data.join("holmesgpt_k8s");
    if !folder.is_dir() {
        eprintln!("SKIPPED: {} is not there", folder.display());
        return Ok(());
    }
    let report = measure(&load::cases(&folder)?);
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{report}");
        if misses {
            report.lost.iter().for_each(|lost| println!("{lost}"));
        }
    }
    Ok(())
}

/// Bytes of the arguments of a merged step.
const DETAIL: usize = 200;

/// How an observation is digested.
type Way = fn(&str, &digest::Focus) -> String;

const WAYS: [(&str, Way); 5] = [
    ("brief", |text, focus| digest::brief(text, focus).into_owned()),
    ("brief, not told what was asked", |text, _| digest::brief(text, &digest::Focus::default()).into_owned()),
    ("prompt, 100 bytes", |text, focus| digest::focused(text, 100, focus).into_owned()),
    ("step memory, 500 bytes", |text, focus| digest::focused(text, 500, focus).into_owned()),
    ("stored run, 2,000 bytes", |text, focus| digest::focused(text, 2_000, focus).into_owned()),
];

impl Case {
    /// The facts of the root cause that an output contains.
    fn named(&self, output: &Output) -> BTreeSet<String> {
        self.causes.iter().flat_map(|cause| named(cause, &output.raw)).collect()
    }
}

fn measure(cases: &[Case]) -> Report {
    let mut report = Report { cases: cases.len(), ..Report::default() };
    for (name, way) in WAYS {
        let measured: Vec<(&Case, Vec<Measured>)> =
            cases.iter().map(|c| (c, c.outputs.iter().map(|o| one(c, o, way)).collect())).collect();
        report.rows.push(Row::new(name, measured.iter().map(|(_, outputs)| &outputs[..])));
        if name == WAYS[0].0 {
            report.lost = measured.iter().flat_map(|(case, outputs)| lost(case, outputs)).collect();
        }
    }
    let merged: Vec<Vec<Measured>> = cases.iter().map(merged).collect();
    report.rows.insert(1, Row::new("brief, steps merged", merged.iter().map(|m| &m[..])));
    let outputs = || cases.iter().flat_map(|c| &c.outputs);
    report.redacted = outputs().filter(|o| redact::text(&o.raw) != o.raw).count();
    report
}

/// The facts that are looked for are those of the raw output; redaction runs before the digest, as in the product.
fn one(case: &Case, output: &Output, way: Way) -> Measured {
    let focus = digest::Focus::new([&*case.task, &*output.arguments]);
    let digest = way(&redact::text(&output.raw), &focus);
    let found = Normal::new(&digest);
    let named = case.named(output);
    let survived = named.iter().filter(|f| found.has(f)).cloned().collect();
    Measured { raw: output.raw.len(), digest, named, survived }
}

/// The investigation as a run whose consecutive steps of one kind are merged. The recordings do not say in
/// which order the calls were made, so they follow each other by the names of their files.
fn merged(case: &Case) -> Vec<Measured> {
    let steps: Vec<Step> = case.outputs.iter().zip(0..).map(|(output, index)| step(output, index)).collect();
    let observe = |text: &str, focus: &digest::Focus| digest::brief(text, focus).into_owned();
    let groups = digest::merge(&steps, &case.task, DETAIL, observe);
    groups
        .into_iter()
        .map(|group| {
            let outputs = &case.outputs[group.first as usize..=group.last as usize];
            let named: BTreeSet<String> = outputs.iter().flat_map(|o| case.named(o)).collect();
            let found = Normal::new(&group.observation);
            let survived = named.iter().filter(|f| found.has(f)).cloned().collect();
            Measured {
                raw: outputs.iter().map(|o| o.raw.len()).sum(),
                digest: group.observation,
                named,
                survived,
            }
        })
        .collect()
}

fn step(output: &Output, index: u32) -> Step {
    Step {
        step_index: index,
        action_type: ActionType::ToolCall,
        action_name: output.tool.clone(),
        action_detail: output.arguments.clone(),
        observation: redact::text(&output.raw).into_owned(),
        status: StepStatus::Unknown,
        decision: None,
        reflection: String::new(),
        agent: None,
        started_at: None,
        ended_at: None,
    }
}

fn lost(case: &Case, outputs: &[Measured]) -> Vec<Lost> {
    let pairs = case.outputs.iter().zip(outputs);
    pairs
        .flat_map(|(output, m)| {
            m.named.difference(&m.survived).map(|fact| Lost {
                output: format!("{}/{}", case.name, output.name),
                fact: fact.clone(),
                elsewhere: outputs.iter().any(|o| o.survived.contains(fact)),
                raw: m.raw,
                digest: m.digest.clone(),
            })
        })
        .collect()
}
