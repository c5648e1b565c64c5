//! Turns found by words alone, with no context, with one put together by hand, and with the product's own.

use std::{collections::BTreeMap, fmt};

use hindsight_ingest::context::surround;
use hindsight_text::bm25;
use hindsight_types::{Fact, Memory, SessionId, TenantId, Timestamp, UserId};
use serde::Serialize;

use crate::{
    recall::score::{Mean, recall_at},
    sets::locomo::{Conversation, Turn, UNANSWERABLE},
};

#[derive(Debug, Clone, Copy, Serialize)]
enum Context {
    None,
    ByHand,
    Own,
}

#[derive(Debug, Serialize)]
struct Row {
    context: Context,
    questions: usize,
    /// Share of the evidence among the first 5 and 10.
    recall5: Mean,
    recall10: Mean,
}

#[derive(Debug, Serialize)]
pub(super) struct Report {
    rows: Vec<Row>,
}

pub(super) fn measure(conversations: &[Conversation]) -> anyhow::Result<Report> {
    let rows = [Context::None, Context::ByHand, Context::Own].map(|context| row(conversations, context));
    Ok(Report { rows: rows.into_iter().collect::<Result<_, _>>()? })
}

fn row(conversations: &[Conversation], context: Context) -> anyhow::Result<Row> {
    let (mut recall5, mut recall10) = (Mean::default(), Mean::default());
    for c in conversations {
        let index = Index::new(&facts(c, context)?);
        for question in c.qa.iter().filter(|q| q.category != UNANSWERABLE) {
            let wanted = question.evidence();
            if wanted.is_empty() {
                continue;
            }
            let found = index.best(&question.question);
            recall5.add(recall_at(5, &found, &wanted));
            recall10.add(recall_at(10, &found, &wanted));
        }
    }
    Ok(Row { context, questions: recall5.count(), recall5, recall10 })
}

fn facts(c: &Conversation, context: Context) -> anyhow::Result<Vec<Fact>> {
    let (tenant, user) = (TenantId::new("quality")?, UserId::new(&c.sample_id)?);
    let mut facts = Vec::new();
    for recorded in c.sessions()? {
        let at = recorded.began()?;
        let mut session = Vec::with_capacity(recorded.turns.len());
        for (place, turn) in recorded.turns.iter().enumerate() {
            let mut fact = Fact::new(&tenant, user.clone(), &turn.dia_id, &turn.text, at);
            fact.retained_at = Timestamp::new(0, i32::try_from(place)?)?;
            fact.speaker = turn.speaker.clone();
            fact.session = Some(SessionId::new(&recorded.name)?);
            fact.attachments = turn.photo();
            session.push(fact);
        }
        match context {
            Context::None => {}
            Context::ByHand => by_hand(&mut session, &recorded.turns, &recorded.date),
            Context::Own => surround(&mut session),
        }
        facts.extend(session);
    }
    Ok(facts)
}

/// The date as it stands in the data, two turns before, one after.
fn by_hand(session: &mut [Fact], turns: &[Turn], date: &str) {
    for (at, fact) in session.iter_mut().enumerate() {
        let beside = (at.saturating_sub(2)..(at + 2).min(turns.len())).filter(|i| *i != at);
        let lines =
            beside.map(|i| format!("{}: {} {}", turns[i].speaker, turns[i].text, turns[i].blip_caption));
        fact.context = std::iter::once(date.to_owned()).chain(lines).collect::<Vec<_>>().join("\n");
    }
}

/// BM25 over a conversation.
struct Index {
    documents: Vec<(String, BTreeMap<u32, f32>)>,
    held_by: BTreeMap<u32, usize>,
}

impl Index {
    fn new(facts: &[Fact]) -> Self {
        let document = |fact: &Fact| {
            let (terms, weights) = bm25::encode_document(&Memory::Fact(fact.clone()).indexed_text());
            (fact.key.clone(), terms.into_iter().zip(weights).collect())
        };
        let documents: Vec<(String, BTreeMap<u32, f32>)> = facts.iter().map(document).collect();
        let mut held_by = BTreeMap::new();
        for term in documents.iter().flat_map(|(_, terms)| terms.keys()) {
            *held_by.entry(*term).or_default() += 1;
        }
        Self { documents, held_by }
    }

    fn best(&self, query: &str) -> Vec<String> {
        let (terms, _) = bm25::encode_query(query);
        let all = self.documents.len() as f64;
        let rarity = |term: &u32| {
            let held = self.held_by.get(term).copied().unwrap_or(0) as f64;
            (1.0 + (all - held + 0.5) / (held + 0.5)).ln()
        };
        let score = |document: &BTreeMap<u32, f32>| -> f64 {
            terms.iter().filter_map(|t| Some(f64::from(*document.get(t)?) * rarity(t))).sum()
        };
        let mut scored: Vec<(f64, &String)> = self.documents.iter().map(|(key, d)| (score(d), key)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        scored.into_iter().take(10).map(|(_, key)| key.clone()).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| context of a turn | questions | recall@5 | recall@10 |")?;
        writeln!(f, "|---|---:|---:|---:|")?;
        for r in &self.rows {
            let context = match r.context {
                Context::None => "its day alone",
                Context::ByHand => "by hand: date, two turns before, one after",
                Context::Own => "the product's own",
            };
            writeln!(f, "| {context} | {} | {} | {} |", r.questions, r.recall5, r.recall10)?;
        }
        Ok(())
    }
}
