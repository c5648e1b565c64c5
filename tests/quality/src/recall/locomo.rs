//! LoCoMo: long conversations of two people. Every turn becomes a fact of one user per conversation.

use std::{collections::BTreeSet, fmt, path::Path, sync::Arc};

use anyhow::Context;
use hindsight_ingest::context::surround;
use hindsight_types::{Fact, Memory, MemoryKind, SessionId, Timestamp, UserId};
use jiff::ToSpan;
use serde::Serialize;

use super::{
    bench::{Answer, Asked, Bench},
    curve::{Curve, Sort},
    embedder::Cached,
    score::{Mean, recall_at},
    variant::Variant,
};
use crate::sets::locomo::{self as sets, Conversation, Question, Session, UNANSWERABLE};

/// The day after the last session.
fn end(c: &Conversation) -> anyhow::Result<Timestamp> {
    let last = c.sessions()?.pop().context("a conversation without sessions")?;
    Ok(last.began()? + 24.hours())
}

/// A minute for each turn.
fn time(session: &Session, turn: usize) -> anyhow::Result<Timestamp> {
    Ok(session.began()? + (i64::try_from(turn)?).minutes())
}

/// As the product keeps a talk: each turn with its speaker, time, session and photo, and the turns beside it.
fn facts(bench: &Bench, c: &Conversation, context: bool) -> anyhow::Result<Vec<Memory>> {
    let mut facts = Vec::new();
    for session in c.sessions()? {
        let mut said = Vec::new();
        for (at, turn) in session.turns.iter().enumerate() {
            let user = UserId::new(&c.sample_id)?;
            let mut fact = Fact::new(&bench.tenant, user, &turn.dia_id, &turn.text, time(&session, at)?);
            fact.speaker = turn.speaker.clone();
            fact.session = Some(SessionId::new(format!("session-{}", session.number))?);
            fact.attachments = turn.photo();
            said.push(fact);
        }
        if context {
            surround(&mut said);
        }
        facts.extend(said.into_iter().map(Memory::Fact));
    }
    Ok(facts)
}

fn session_of(turn: &str) -> String {
    turn.split(':').next().unwrap_or(turn).to_owned()
}

#[derive(Debug, Serialize)]
struct Row {
    variant: String,
    /// Answerable questions: share of the evidence among the first 5 and 10.
    recall5: Mean,
    recall10: Mean,
    /// The same in the first and in the other conversations, to see what chance does.
    halves5: [Mean; 2],
    /// Any of the evidence among the first 5 and 10.
    any5: Mean,
    any10: Mean,
    /// A turn of the right session among the first 5.
    session5: Mean,
}

impl Row {
    fn new(variant: &Variant) -> Self {
        let [recall5, recall10, any5, any10, session5] = Default::default();
        let variant = variant.name.clone();
        Self { variant, recall5, recall10, halves5: Default::default(), any5, any10, session5 }
    }

    fn add(&mut self, wanted: &BTreeSet<String>, found: &[String], half: usize) {
        let (r5, r10) = (recall_at(5, found, wanted), recall_at(10, found, wanted));
        self.recall5.add(r5);
        self.recall10.add(r10);
        self.halves5[half].add(r5);
        self.any5.add(r5.ceil());
        self.any10.add(r10.ceil());
        let sessions: Vec<String> = found.iter().take(5).map(|t| session_of(t)).collect();
        let right = wanted.iter().any(|w| sessions.contains(&session_of(w)));
        self.session5.add(f64::from(u8::from(right)));
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    turns: usize,
    rows: Vec<Row>,
    curves: Vec<Curve>,
}

pub(crate) async fn measure(
    data: &Path,
    embedder: &Arc<Cached>,
    variants: &[Variant],
) -> anyhow::Result<Option<Report>> {
    let Some(conversations) = sets::load(data)? else { return Ok(None) };
    let rows = variants.iter().map(Row::new).collect();
    let curves = variants.iter().filter(|v| v.curve).map(|v| Curve::new(&v.name)).collect();
    let mut report = Report { turns: 0, rows, curves };
    for context in [true, false] {
        if !variants.iter().any(|v| v.context == context) {
            continue;
        }
        let bench = Bench::new(embedder).await?;
        report.turns = 0;
        for c in &conversations {
            let facts = facts(&bench, c, context)?;
            report.turns += facts.len();
            bench.retain(facts).await?;
        }
        for (at, c) in conversations.iter().enumerate() {
            let asked = Asking { bench: &bench, variants, context, half: at % 2 };
            let other = &conversations[(at + 1) % conversations.len()];
            asked.conversation(c, other, &mut report).await?;
        }
    }
    Ok(Some(report))
}

struct Asking<'a> {
    bench: &'a Bench,
    variants: &'a [Variant],
    context: bool,
    half: usize,
}

impl Asking<'_> {
    async fn conversation(
        &self,
        c: &Conversation,
        other: &Conversation,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let now = end(c)?;
        for question in &c.qa {
            let sort = if question.category == UNANSWERABLE { Sort::Unanswerable } else { Sort::Answerable };
            let wanted = question.evidence();
            let asked = self.ask(c, question, now).await?;
            if sort == Sort::Answerable && !wanted.is_empty() {
                for (variant, row) in self.variants.iter().zip(&mut report.rows) {
                    if variant.context == self.context {
                        row.add(&wanted, &keys(&asked.answer(variant)), self.half);
                    }
                }
            }
            if self.context {
                let foreign = self.ask(other, question, now).await?;
                let open = self.variants.iter().filter(|v| v.curve).map(Variant::without_floors);
                for (open, curve) in open.zip(&mut report.curves) {
                    let answer = asked.answer(&open);
                    let recall = (!wanted.is_empty()).then(|| recall_at(5, &keys(&answer), &wanted));
                    curve.add(sort, answer.similarity, recall);
                    curve.add(Sort::Foreign, foreign.answer(&open).similarity, None);
                }
            }
        }
        Ok(())
    }

    async fn ask(&self, of: &Conversation, question: &Question, now: Timestamp) -> anyhow::Result<Asked> {
        self.bench.ask(MemoryKind::Fact, Some(&of.sample_id), &question.question, now, None).await
    }
}

fn keys(answer: &Answer) -> Vec<String> {
    let key = |memory: &Memory| match memory {
        Memory::Fact(fact) => Some(fact.key.clone()),
        _ => None,
    };
    answer.memories.iter().filter_map(key).collect()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let questions = self.rows.first().map_or(0, |r| r.recall5.count());
        writeln!(f, "### LoCoMo\n\n{} turns, {questions} answerable questions\n", self.turns)?;
        writeln!(f, "| | recall@5 | recall@10 | any@5 | any@10 | session@5 | recall@5 of halves |")?;
        writeln!(f, "|---|---:|---:|---:|---:|---:|---:|")?;
        for r in &self.rows {
            let Row { variant, recall5, recall10, any5, any10, session5, halves5: [a, b] } = r;
            writeln!(f, "| {variant} | {recall5} | {recall10} | {any5} | {any10} | {session5} | {a}, {b} |")?;
        }
        self.curves.iter().try_for_each(|curve| writeln!(f, "\n{curve}"))
    }
}
