//! What is kept of conversations: turns that the gate lets go, evidence that it must not, and whether a turn
//! with the context that the product gives it is found as well as with one that was put together by hand.

mod context;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::Path,
};

use hindsight_ingest::retain::{Trivial, gate};
use hindsight_types::{Fact, TenantId, Timestamp, UserId};
use serde::Serialize;

use crate::sets::{
    self,
    locomo::{Conversation, Question},
    memdaily::List,
};

/// How the gate did on one data set.
#[derive(Debug, Default, Serialize)]
struct Gated {
    turns: usize,
    gated: BTreeMap<String, usize>,
    evidence: usize,
    evidence_gated: usize,
    /// Every turn that was let go; with `!` when a question needs it.
    #[serde(skip)]
    texts: Vec<String>,
}

impl Gated {
    fn add(&mut self, turn: &str, needed: bool) -> anyhow::Result<()> {
        let (tenant, user) = (TenantId::new("quality")?, UserId::new("user")?);
        let trivial: Option<Trivial> = gate(&Fact::new(&tenant, user, "", turn, Timestamp::UNIX_EPOCH));
        self.turns += 1;
        self.evidence += usize::from(needed);
        if let Some(kind) = trivial {
            *self.gated.entry(format!("{kind:?}")).or_default() += 1;
            self.evidence_gated += usize::from(needed);
            self.texts.push(format!("{} {turn}", if needed { '!' } else { ' ' }));
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Report {
    gate: BTreeMap<&'static str, Gated>,
    context: Option<context::Report>,
}

#[allow(clippy::print_stdout)]
pub(crate) fn run(data: &Path, json: bool, misses: bool) -> anyhow::Result<()> {
    let mut report = Report { gate: BTreeMap::new(), context: None };
    if let Some(conversations) = sets::locomo::load(data)? {
        report.gate.insert("locomo", locomo(&conversations)?);
        report.context = Some(context::measure(&conversations)?);
    }
    for file in sets::memdaily::FILES {
        if let Some(lists) = sets::memdaily::load(data, file)? {
            memdaily(&lists, report.gate.entry("memdaily_zh").or_default())?;
        }
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(());
    }
    println!("{report}");
    if misses {
        report.gate.values().flat_map(|g| &g.texts).for_each(|text| println!("{text}"));
    }
    Ok(())
}

fn locomo(conversations: &[Conversation]) -> anyhow::Result<Gated> {
    let mut gated = Gated::default();
    for c in conversations {
        let needed: BTreeSet<String> = c.qa.iter().flat_map(Question::evidence).collect();
        for turn in c.sessions()?.into_iter().flat_map(|session| session.turns) {
            // A picture says something by itself.
            let said = format!("{} {}", turn.text, turn.blip_caption);
            gated.add(said.trim(), needed.contains(&turn.dia_id))?;
        }
    }
    Ok(gated)
}

fn memdaily(lists: &[List], gated: &mut Gated) -> anyhow::Result<()> {
    for list in lists {
        let needed: BTreeSet<u64> =
            list.question_list.iter().flat_map(|q| q.target_step_id.clone()).collect();
        for m in &list.message_list {
            gated.add(&m.message, needed.contains(&m.mid))?;
        }
    }
    Ok(())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| set | turns | not kept | of them | evidence turns | not kept |")?;
        writeln!(f, "|---|---:|---:|---|---:|---:|")?;
        for (name, g) in &self.gate {
            let all: usize = g.gated.values().sum();
            let share = 100.0 * all as f64 / g.turns.max(1) as f64;
            let kinds: Vec<String> = g.gated.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
            let (kinds, evidence, lost) = (kinds.join(", "), g.evidence, g.evidence_gated);
            writeln!(f, "| {name} | {} | {all} ({share:.1} %) | {kinds} | {evidence} | {lost} |", g.turns)?;
        }
        match &self.context {
            Some(context) => write!(f, "\n{context}"),
            None => Ok(()),
        }
    }
}
