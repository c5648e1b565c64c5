//! LoCoMo: long conversations of two people. Every turn becomes a fact of one user per conversation.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::Path,
};

use anyhow::Context;
use hindsight_types::{Fact, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    bench::{Arms, Bench},
    score::{Mean, recall_at},
};

/// Questions of this category have no answer in the conversation.
const UNANSWERABLE: u32 = 5;
const BEFORE: usize = 2;
const AFTER: usize = 1;

#[derive(Deserialize)]
struct Conversation {
    sample_id: String,
    conversation: BTreeMap<String, serde_json::Value>,
    qa: Vec<Question>,
}

#[derive(Deserialize)]
struct Question {
    question: String,
    category: u32,
    #[serde(default)]
    evidence: Vec<String>,
}

#[derive(Deserialize)]
struct Turn {
    speaker: String,
    dia_id: String,
    text: String,
    #[serde(default)]
    blip_caption: String,
}

impl Turn {
    fn said(&self) -> String {
        match self.blip_caption.as_str() {
            "" => self.text.clone(),
            photo => format!("{} [{photo}]", self.text),
        }
    }
}

struct Session {
    number: i64,
    date: String,
    turns: Vec<Turn>,
}

impl Conversation {
    fn sessions(&self) -> anyhow::Result<Vec<Session>> {
        let mut sessions = Vec::new();
        for (key, value) in self.conversation.iter().filter(|(_, v)| v.is_array()) {
            let number = key.trim_start_matches("session_").parse().with_context(|| format!("`{key}`"))?;
            let date = self.conversation.get(&format!("{key}_date_time")).and_then(|d| d.as_str());
            sessions.push(Session {
                number,
                date: date.unwrap_or_default().to_owned(),
                turns: serde_json::from_value(value.clone()).with_context(|| format!("`{key}`"))?,
            });
        }
        sessions.sort_by_key(|s| s.number);
        Ok(sessions)
    }
}

/// One session a day; the real dates are text in the context.
fn day(number: i64) -> anyhow::Result<Timestamp> {
    Ok(Timestamp::from_second(1_700_000_000 + number * 86_400)?)
}

fn facts(bench: &Bench, c: &Conversation, context: bool) -> anyhow::Result<Vec<Fact>> {
    let mut facts = Vec::new();
    for session in c.sessions()? {
        let turns = &session.turns;
        for (at, turn) in turns.iter().enumerate() {
            let mut fact = bench.fact(&c.sample_id, &turn.dia_id, turn.said(), day(session.number)?)?;
            fact.speaker = turn.speaker.clone();
            if context {
                let around =
                    (at.saturating_sub(BEFORE)..(at + AFTER + 1).min(turns.len())).filter(|i| *i != at);
                let around = around.map(|i| format!("{}: {}", turns[i].speaker, turns[i].said()));
                fact.context =
                    std::iter::once(session.date.clone()).chain(around).collect::<Vec<_>>().join("\n");
            }
            facts.push(fact);
        }
    }
    Ok(facts)
}

/// `D8:6; D9:17` names two turns.
fn evidence(question: &Question) -> BTreeSet<String> {
    let ids = question.evidence.iter().flat_map(|e| e.split([';', ' ', ',']));
    ids.map(str::trim).filter(|e| e.starts_with('D') && e.contains(':')).map(str::to_owned).collect()
}

fn session_of(turn: &str) -> String {
    turn.split(':').next().unwrap_or(turn).to_owned()
}

#[derive(Debug, Serialize)]
pub(crate) struct Row {
    arms: Arms,
    context: bool,
    /// Answerable questions: share of the evidence among the first 5 and 10.
    recall5: Mean,
    recall10: Mean,
    /// Answerable questions: any of the evidence among the first 5 and 10.
    hit5: Mean,
    hit10: Mean,
    /// All questions that name evidence, the unanswerable ones too.
    all5: Mean,
    all10: Mean,
    /// A turn of the right session among the first 5.
    session5: Mean,
    /// Nothing returned for an unanswerable question.
    abstained: Mean,
    /// Nothing returned for a question about another conversation.
    foreign: Mean,
}

impl Row {
    fn new(arms: Arms, context: bool) -> Self {
        let [recall5, recall10, hit5, hit10, all5, all10, session5, abstained, foreign] = Default::default();
        Self { arms, context, recall5, recall10, hit5, hit10, all5, all10, session5, abstained, foreign }
    }

    fn add(&mut self, question: &Question, found: &[String]) {
        if question.category == UNANSWERABLE {
            self.abstained.add(f64::from(u8::from(found.is_empty())));
        }
        let wanted = evidence(question);
        if wanted.is_empty() {
            return;
        }
        let (r5, r10) = (recall_at(5, found, &wanted), recall_at(10, found, &wanted));
        self.all5.add(r5);
        self.all10.add(r10);
        if question.category == UNANSWERABLE {
            return;
        }
        self.recall5.add(r5);
        self.recall10.add(r10);
        self.hit5.add(r5.ceil());
        self.hit10.add(r10.ceil());
        let sessions: Vec<String> = found.iter().take(5).map(|t| session_of(t)).collect();
        let right = wanted.iter().any(|w| sessions.contains(&session_of(w)));
        self.session5.add(f64::from(u8::from(right)));
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    turns: usize,
    rows: Vec<Row>,
}

pub(crate) async fn measure(data: &Path) -> anyhow::Result<Option<Report>> {
    let path = data.join("locomo/dev.json");
    let Some(conversations) = super::load::<Vec<Conversation>>(&path)? else { return Ok(None) };
    let mut report = Report { turns: 0, rows: Vec::new() };
    for context in [false, true] {
        let bench = Bench::new().await?;
        report.turns = 0;
        for c in &conversations {
            let facts = facts(&bench, c, context)?;
            report.turns += facts.len();
            bench.retain(facts).await?;
        }
        for arms in Arms::ALL {
            report.rows.push(row(&bench, &conversations, arms, context).await?);
        }
    }
    Ok(Some(report))
}

async fn row(
    bench: &Bench,
    conversations: &[Conversation],
    arms: Arms,
    context: bool,
) -> anyhow::Result<Row> {
    let mut row = Row::new(arms, context);
    for (at, c) in conversations.iter().enumerate() {
        let now = day(i64::try_from(c.conversation.len())?)?;
        let other = &conversations[(at + 1) % conversations.len()].sample_id;
        for question in &c.qa {
            row.add(question, &bench.ask(arms, &c.sample_id, &question.question, now).await?);
            // A search arm alone is never silent.
            if arms == Arms::Fused {
                let found = bench.ask(arms, other, &question.question, now).await?;
                row.foreign.add(f64::from(u8::from(found.is_empty())));
            }
        }
    }
    Ok(row)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.rows.first();
        let count = |mean: fn(&Row) -> &Mean| first.map_or(0, |r| mean(r).count());
        writeln!(
            f,
            "LoCoMo: {} turns, {} answerable questions, {} unanswerable\n",
            self.turns,
            count(|r| &r.recall5),
            count(|r| &r.abstained)
        )?;
        writeln!(
            f,
            "| search | text | recall@5 | recall@10 | any@5 | any@10 | all questions: recall@5 | recall@10 | \
             session@5 | silent: no answer | silent: other conversation |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|---|---|---|")?;
        for r in &self.rows {
            let text = if r.context { "turn and context" } else { "turn" };
            write!(f, "| {} | {text} ", r.arms.name())?;
            for mean in [
                &r.recall5,
                &r.recall10,
                &r.hit5,
                &r.hit10,
                &r.all5,
                &r.all10,
                &r.session5,
                &r.abstained,
                &r.foreign,
            ] {
                write!(f, "| {mean} ")?;
            }
            writeln!(f, "|")?;
        }
        Ok(())
    }
}
