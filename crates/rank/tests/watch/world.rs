//! Memories of two people and their tenant, and a memory that answers a stream as the service does.

use std::collections::BTreeMap;

use hindsight_ports::{Arm, Candidate, CandidateId, Encoding, Fetched, SparseVector};
use hindsight_rank::{
    DenseScale, Pool, Query, Ranking, Request, Settings,
    block::Style,
    watch::{
        Event, Hush, Known, Moment, Next, Patterns, Policy, Question, Refusal, Signs, Watch, arguments, kept,
    },
};
use hindsight_text::bm25;
use hindsight_types::*;
use jiff::tz::TimeZone;
use uuid::Uuid;

pub(crate) const NOW: i64 = 1_780_000_000;
const SCALE: DenseScale = DenseScale { zero: 0.1, crowd: 0.2, full: 0.6, weight: 0.2 };

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(NOW + seconds).unwrap()
}

pub(crate) fn days_ago(days: i64) -> Timestamp {
    at(-days * 86_400)
}

pub(crate) fn tenant() -> TenantId {
    TenantId::new("acme").unwrap()
}

pub(crate) fn scope(user: Option<&str>) -> Scope {
    let visibility = user.map_or(Visibility::Tenant, |u| Visibility::User(UserId::new(u).unwrap()));
    Scope::new(tenant(), visibility)
}

pub(crate) fn ann() -> Viewer {
    Viewer::of_tenant(tenant()).with_user(Some(UserId::new("ann").unwrap()))
}

/// Seen in `runs` runs of the last days.
pub(crate) fn pattern(
    user: Option<&str>,
    tool: &str,
    detail: &str,
    error: &str,
    runs: usize,
) -> FailurePattern {
    let scope = scope(user);
    let key = format!("{tool}\u{1f}{}", error.to_lowercase());
    FailurePattern {
        id: MemoryId::failure_pattern(&scope.tenant, &scope.visibility.keyword(), &key),
        scope,
        action_name: tool.to_owned(),
        signature: error.to_lowercase(),
        example: error.to_owned(),
        action_detail: detail.to_owned(),
        cause: error.to_owned(),
        suggestion: "Worked: use the mirror".to_owned(),
        environment: Environment::default(),
        sources: (0..runs).map(|n| TraceId::new(format!("t-{n}")).unwrap()).collect(),
        supported: 0,
        refuted: 0,
        first_seen: days_ago(20),
        last_seen: days_ago(1),
        frequency: None,
    }
}

pub(crate) fn fact(user: &str, key: &str, content: &str) -> Memory {
    let user = UserId::new(user).unwrap();
    Memory::Fact(Fact::new(&tenant(), user, key, content, days_ago(2)))
}

pub(crate) fn known(pattern: FailurePattern) -> Known {
    let signs = signs(&pattern.action_name, &pattern.action_detail);
    Known::new(pattern, signs)
}

pub(crate) fn signs(tool: &str, detail: &str) -> Signs {
    Signs::new(tool, &arguments(&kept(detail)))
}

/// What is said in answer to an event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Reminder { id: ReceiptId, block: String, memories: Vec<Memory> },
    Silence(Hush),
    Refused(Refusal),
}

/// A stream with everything it needs, in memory.
pub(crate) struct Stream {
    pub(crate) watch: Watch,
    memories: Vec<Memory>,
    patterns: Patterns,
    receipts: u128,
    pub(crate) withheld: Vec<(MemoryId, WithheldReason)>,
}

impl Stream {
    /// The store gives the recall what Ann may see; the index of failures is given everything.
    pub(crate) fn new(policy: Policy, memories: &[Memory]) -> Self {
        let patterns = memories.iter().filter_map(|memory| match memory {
            Memory::FailurePattern(pattern) => Some(known(pattern.clone())),
            _ => None,
        });
        Self {
            watch: Watch::new(policy, ann(), 0),
            patterns: Patterns::new(patterns),
            memories: memories.iter().filter(|m| ann().may_see(m.scope())).cloned().collect(),
            receipts: 0,
            withheld: Vec::new(),
        }
    }

    pub(crate) fn start(&mut self, goal: &str) -> Answer {
        self.tell(Event::Start { goal: goal.to_owned() }, "", at(0))
    }

    pub(crate) fn call(&mut self, tool: &str, detail: &str, seconds: i64) -> Answer {
        self.tell(Event::BeforeCall { tool: tool.to_owned() }, detail, at(seconds))
    }

    /// `detail`: the arguments of a call.
    pub(crate) fn tell(&mut self, event: Event, detail: &str, now: Timestamp) -> Answer {
        self.receipts += 1;
        let receipt = ReceiptId(Uuid::from_u128(self.receipts));
        let tool = match &event {
            Event::BeforeCall { tool } => tool.clone(),
            _ => String::new(),
        };
        match self.watch.on(event, now) {
            Err(refusal) => Answer::Refused(refusal),
            Ok(Next::Silent(hush)) => Answer::Silence(hush),
            Ok(Next::Compare) => self.compare(&tool, detail, receipt, now),
            Ok(Next::Search(question)) => self.search(&question, receipt, now),
        }
    }

    fn compare(&mut self, tool: &str, detail: &str, receipt: ReceiptId, now: Timestamp) -> Answer {
        let found = self.patterns.like(&signs(tool, detail), 0.25);
        let environment = Environment::default();
        let moment =
            Moment { now, environment: &environment, style: Style::default(), token_budget: 1_500, receipt };
        let call = format!("{tool} {}", arguments(detail));
        let verdict = self.watch.compared(tool, &call, found, &Settings::default(), &moment);
        self.withheld.extend(verdict.withheld.iter().map(|w| (w.memory_id, w.reason)));
        match verdict.said {
            Ok(warning) => {
                Answer::Reminder { id: receipt, block: warning.block, memories: vec![warning.item.memory] }
            }
            Err(hush) => Answer::Silence(hush),
        }
    }

    fn search(&mut self, question: &Question, receipt: ReceiptId, now: Timestamp) -> Answer {
        let ranking = self.recall(question, receipt, now);
        self.withheld.extend(ranking.withheld.iter().map(|w| (w.memory_id, w.reason)));
        match self.watch.found(question, &ranking.items, &ranking.withheld, receipt, now) {
            Ok(_) => Answer::Reminder {
                id: receipt,
                block: ranking.block,
                memories: ranking.items.into_iter().map(|item| item.memory).collect(),
            },
            Err(hush) => Answer::Silence(hush),
        }
    }

    fn recall(&self, question: &Question, receipt: ReceiptId, now: Timestamp) -> Ranking {
        let query = Query::new(&question.query, &question.recent, now, &TimeZone::UTC);
        let mut settings = Settings::default();
        settings.floor = question.floor.unwrap_or(settings.floor);
        let mut pool = Pool::new(query.clone(), vec![1.0, 0.0], SCALE, settings);
        let asked = query.sparse();
        let wanted = self.memories.iter().filter(|m| question.kinds.contains(&m.kind()));
        let mut fetched = Vec::new();
        for memory in wanted {
            let (indices, values) = bm25::encode_document(&memory.indexed_text());
            let weights: BTreeMap<u32, f32> = indices.iter().copied().zip(values.iter().copied()).collect();
            let score: f32 = asked.indices.iter().filter_map(|i| weights.get(i)).sum();
            let id = CandidateId(memory.id().0);
            let sparse = SparseVector { indices, values };
            let encoding = Encoding { dense: Vec::new(), sparse };
            pool.add(memory.kind(), &Arm::Bm25(asked.clone()), vec![Candidate { id, score, encoding }]);
            fetched.push(Fetched { id, memory: memory.clone() });
        }
        let request = Request {
            query: &question.query,
            environment: &Environment::default(),
            now,
            limit: question.limit,
            token_budget: 1_500,
            receipt,
            style: Style::default(),
            said: Some(self.watch.said()),
        };
        pool.rank(fetched, &request)
    }
}
