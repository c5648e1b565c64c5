//! One stream: what it was told, and what it is answered.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use hindsight_proto::recall::v1::{watch_request, watch_response::Said};
use hindsight_rank::watch::{Event, Hush, Moment, Next, Question, Refusal, Watch};
use hindsight_telemetry::{Label, Metric};
use hindsight_types::{
    FeedbackVerdict, MemoryId, OutcomeStatus, Receipt, ReceiptId, ReminderTrigger, TenantId, Timestamp,
    Watched,
};
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout, timeout_at},
};
use tonic::Code;

use super::{
    answer::{self, Answer, Spoken},
    call::{self, Failure},
    event::{self, Called, Heard, Opening},
    receipt,
};
use crate::{
    ask::{Ask, Watching},
    engine::{self, Engine},
    report::Report,
};

/// For a look at the store before something of an old copy is said.
const LOOK: Duration = Duration::from_millis(100);
/// For a receipt to be stored before something is said of it.
const STORED: Duration = Duration::from_secs(2);
/// Texts above this size are taken apart beside the threads that serve calls.
const HEAVY_BYTES: usize = 16 * 1024;
/// Known failures that are half as like a call as they must be are told as withheld.
const NEAR: f32 = 0.5;

pub(super) struct Session {
    engine: Arc<Engine>,
    tenant: TenantId,
    may_report: bool,
    task: Option<Task>,
}

/// What began with the first event.
struct Task {
    opening: Opening,
    watch: Watch,
    reminders: BTreeMap<ReceiptId, Given>,
}

/// What a reminder gave.
struct Given {
    memories: Vec<MemoryId>,
    /// Its receipt, on its way to the store.
    stored: Option<JoinHandle<bool>>,
    /// The last word on it.
    verdict: Option<(FeedbackVerdict, String)>,
}

impl Session {
    pub(super) fn new(engine: Arc<Engine>, tenant: TenantId, may_report: bool) -> Self {
        Self { engine, tenant, may_report, task: None }
    }

    /// Exactly one answer, whatever comes.
    pub(super) async fn answer(&mut self, event: Option<watch_request::Event>) -> Said {
        let heard = match event::read(&self.tenant, event) {
            Ok(heard) => heard,
            Err(e) => return counted("none", answer::invalid(&e)),
        };
        let kind = match &heard {
            Heard::Start(_) => ReminderTrigger::TaskStart.as_str(),
            Heard::BeforeCall { .. } => ReminderTrigger::BeforeCall.as_str(),
            Heard::AfterCall { .. } => ReminderTrigger::AfterFailure.as_str(),
            Heard::Message(_) => ReminderTrigger::Asked.as_str(),
            Heard::Feedback { .. } | Heard::End(_) => "none",
        };
        let now = self.engine.clock.now();
        counted(kind, self.hear(heard, now).await)
    }

    async fn hear(&mut self, heard: Heard, now: Timestamp) -> Answer {
        let Some(task) = &mut self.task else {
            let Heard::Start(opening) = heard else { return answer::refused(Refusal::NotStarted) };
            let policy = self.engine.settings.watch.policy;
            let watch = Watch::new(policy, opening.viewer.clone(), opening.reminders);
            let task = Task { opening: *opening, watch, reminders: BTreeMap::new() };
            return self.task.insert(task).start(&self.engine, now).await;
        };
        match heard {
            Heard::Start(_) => answer::refused(Refusal::StartedBefore),
            Heard::BeforeCall { call, description } => {
                task.before(&self.engine, &call, &description, now).await
            }
            Heard::AfterCall { failed: false, .. } => answer::silence(Hush::NotAsked, None),
            Heard::AfterCall { call, output, .. } => task.failed(&self.engine, call, output, now).await,
            Heard::Message(text) => task.take(&self.engine, Event::Message { text }, Vec::new(), now).await,
            Heard::Feedback { .. } if !self.may_report => answer::rejection(
                "PERMISSION_MISSING",
                "feedback needs a key with permission `write`".to_owned(),
                vec!["feedback".to_owned()],
            ),
            Heard::Feedback { reminder, verdict, note } => {
                task.feedback(&self.engine, reminder, (verdict, note)).await
            }
            Heard::End(outcome) => task.end(&self.engine, outcome).await,
        }
    }
}

impl Task {
    async fn start(&mut self, engine: &Engine, now: Timestamp) -> Answer {
        let failures = engine.memories.failures().clone();
        let viewer = self.opening.viewer.clone();
        let event = Event::Start { goal: self.opening.goal.clone() };
        // The first call is to find what it is compared with.
        let ready = timeout(engine.settings.watch.deadline, failures.ready(&viewer));
        let (answer, _) = tokio::join!(self.take(engine, event, Vec::new(), now), ready);
        answer
    }

    /// Asks the memory what the policy wants to know.
    async fn take(&mut self, engine: &Engine, event: Event, exact: Vec<MemoryId>, now: Timestamp) -> Answer {
        let question = match self.watch.on(event, now) {
            Err(refusal) => return answer::refused(refusal),
            Ok(Next::Search(question)) => question,
            Ok(Next::Silent(hush)) => return answer::silence(hush, None),
            Ok(Next::Compare) => return answer::silence(Hush::NothingKnown, None),
        };
        let watching = Watching {
            event: Some(self.watched(question.trigger, &question.tool)),
            said: self.watch.said().clone(),
            floor: question.floor,
            exact,
        };
        let ask = self.ask(&question, watching);
        let answered = match engine.recall(ask, Some(engine.settings.watch.deadline)).await {
            Ok(answered) => answered,
            Err(status) => return answer::unavailable(status.message(), None),
        };
        let engine::Answer { receipt, items, block, degraded } = answered;
        match self.watch.found(&question, &items, &receipt.withheld, receipt.id, now) {
            Ok(spoken) => {
                let memories = items.iter().map(|item| item.memory.id()).collect();
                self.reminders.insert(receipt.id, Given { memories, stored: None, verdict: None });
                let spoken = Spoken {
                    id: receipt.id,
                    trigger: question.trigger,
                    block,
                    tokens: receipt.tokens,
                    items,
                    left: spoken.left,
                    degraded,
                };
                answer::reminder(spoken, now)
            }
            Err(_) if receipt.degraded => answer::unavailable(receipt.empty_reason, Some(receipt.id)),
            Err(hush) => answer::silence(hush, Some(receipt.id)),
        }
    }

    fn ask(&self, question: &Question, watch: Watching) -> Ask {
        let Opening { viewer, environment, style, time_zone, token_budget, goal, .. } = &self.opening;
        let mut style = *style;
        // A failure is told in the language of the task, not of the program that failed.
        if question.trigger == ReminderTrigger::AfterFailure && !goal.trim().is_empty() {
            style.language = style.language.or_else(|| Some(hindsight_rank::block::Language::of(goal)));
        }
        Ask {
            viewer: viewer.clone(),
            query: question.query.clone(),
            recent: question.recent.clone(),
            asked_at: None,
            time_zone: time_zone.clone(),
            style,
            environment: environment.clone(),
            kinds: question.kinds.clone(),
            limit: question.limit,
            token_budget: *token_budget,
            strict: false,
            watch,
        }
    }

    fn watched(&self, trigger: ReminderTrigger, tool: &str) -> Watched {
        Watched {
            trigger,
            trace_id: self.opening.trace_id.clone(),
            tool: hindsight_ingest::redact::text(tool).into_owned(),
            session: self.opening.session.clone(),
        }
    }

    /// Compares a call with the failures that are known: in memory, without a search.
    async fn before(&mut self, engine: &Engine, call: &Called, description: &str, now: Timestamp) -> Answer {
        let begun = Instant::now();
        let answer = self.compare(engine, call, description, now).await;
        let result = if answer.counted == "said" { "said" } else { "silent" };
        Metric::WatchCheckDuration.record(begun.elapsed().as_secs_f64(), &[(Label::Result, result)]);
        answer
    }

    async fn compare(&mut self, engine: &Engine, call: &Called, description: &str, now: Timestamp) -> Answer {
        match self.watch.on(Event::BeforeCall { tool: call.tool.clone() }, now) {
            Err(refusal) => return answer::refused(refusal),
            Ok(Next::Silent(hush)) => return answer::silence(hush, None),
            Ok(Next::Compare | Next::Search(_)) => {}
        }
        let failures = engine.memories.failures();
        let sight = failures.of(&self.opening.viewer);
        if sight.is_empty() {
            return match sight.is_whole {
                true => answer::silence(Hush::NothingKnown, None),
                false => answer::unavailable("known failures are being read", None),
            };
        }
        let near = engine.settings.watch.policy.alike * NEAR;
        let mut found = sight.like(&call::signs(&call.tool, &call.arguments), near);
        if found.is_empty() {
            return answer::silence(Hush::NothingKnown, None);
        }
        if !sight.is_true {
            found = match timeout(LOOK, failures.as_stored(&self.opening.viewer, found)).await {
                Ok(Ok(found)) => found,
                Ok(Err(_)) => return answer::unavailable("the store does not answer", None),
                Err(_) => return answer::unavailable("the store does not answer in time", None),
            };
        }
        self.warn(engine, call, description, found, now)
    }

    fn warn(
        &mut self,
        engine: &Engine,
        call: &Called,
        description: &str,
        found: Vec<hindsight_rank::watch::Likeness>,
        now: Timestamp,
    ) -> Answer {
        let id = ReceiptId::generate();
        let candidates = found.len();
        let told = format!("{} {}", call.tool, call::told(&call.arguments));
        let mut style = self.opening.style;
        let words = if self.opening.goal.trim().is_empty() { description } else { &self.opening.goal };
        style.language = style.language.or_else(|| Some(hindsight_rank::block::Language::of(words)));
        let moment = Moment {
            now,
            environment: &self.opening.environment,
            style,
            token_budget: self.opening.token_budget,
            receipt: id,
        };
        let settings = engine.settings.rank(&self.opening.viewer.tenant);
        let verdict = self.watch.compared(&call.tool, &told, found, &settings, &moment);
        let story = receipt::Story {
            id,
            now,
            opening: &self.opening,
            watched: self.watched(ReminderTrigger::BeforeCall, &call.tool),
            call: told,
            candidates,
            alike: engine.settings.watch.policy.alike,
        };
        let leave = |receipt: Receipt| {
            engine::count(&receipt);
            engine.write(receipt)
        };
        match verdict.said {
            Ok(warning) => {
                let receipt = receipt::receipt(story, Some(&warning), verdict.withheld);
                let memories = vec![warning.item.memory.id()];
                let stored = Some(leave(receipt));
                self.reminders.insert(id, Given { memories, stored, verdict: None });
                let spoken = Spoken {
                    id,
                    trigger: ReminderTrigger::BeforeCall,
                    block: warning.block,
                    tokens: u32::try_from(warning.tokens).unwrap_or(u32::MAX),
                    items: vec![warning.item],
                    left: self.watch.left(),
                    degraded: false,
                };
                answer::reminder(spoken, now)
            }
            Err(hush) if verdict.news => {
                let _stored = leave(receipt::receipt(story, None, verdict.withheld));
                answer::silence(hush, Some(id))
            }
            Err(hush) => answer::silence(hush, None),
        }
    }

    async fn failed(&mut self, engine: &Engine, call: Called, output: String, now: Timestamp) -> Answer {
        let failure = if output.len() > HEAVY_BYTES {
            tokio::task::spawn_blocking(move || Failure::of(&output)).await
        } else {
            Ok(Failure::of(&output))
        };
        let Ok(failure) = failure else {
            return answer::unavailable("the output could not be taken apart", None);
        };
        let exact = failure.patterns(&self.opening.viewer, &call.tool);
        let arguments = call::told(&call.arguments);
        let event = Event::Failed { tool: call.tool, arguments, error: failure.error };
        self.take(engine, event, exact, now).await
    }

    /// Goes where `ReportOutcome` goes.
    async fn feedback(
        &mut self,
        engine: &Engine,
        reminder: ReceiptId,
        said: (FeedbackVerdict, String),
    ) -> Answer {
        let Some(given) = self.reminders.get_mut(&reminder) else {
            return answer::rejection(
                "UNKNOWN_REMINDER",
                format!("{reminder} was not said on this stream; report on others with ReportOutcome"),
                vec!["feedback.reminder_id".to_owned()],
            );
        };
        given.verdict = Some(said);
        match report(engine, &self.opening, reminder, given, OutcomeStatus::Unknown).await {
            Ok(()) => answer::noted("the feedback is kept"),
            Err(why) => why,
        }
    }

    /// What was said of reminders is said again with the outcome.
    async fn end(&mut self, engine: &Engine, outcome: OutcomeStatus) -> Answer {
        if outcome == OutcomeStatus::Unknown {
            return answer::noted("the task ended");
        }
        for (reminder, given) in &mut self.reminders {
            if let Err(why) = report(engine, &self.opening, *reminder, given, outcome).await {
                return why;
            }
        }
        answer::noted("the task ended")
    }
}

/// Nothing, when nothing was said of the reminder.
async fn report(
    engine: &Engine,
    opening: &Opening,
    reminder: ReceiptId,
    given: &mut Given,
    outcome: OutcomeStatus,
) -> Result<(), Answer> {
    let Some((verdict, note)) = given.verdict.clone() else { return Ok(()) };
    if let Some(stored) = &mut given.stored {
        let stored = timeout_at(Instant::now() + STORED, stored).await;
        if !matches!(stored, Ok(Ok(true))) {
            let why = "the receipt of the reminder is not stored; send the feedback again";
            return Err(answer::unavailable(why, None));
        }
        given.stored = None;
    }
    let run = (opening.trace_id.clone(), outcome);
    let report = Report::of_all(reminder, &given.memories, verdict, run, note);
    match engine.report(&opening.viewer, report).await {
        Ok(_) => Ok(()),
        Err(status) if matches!(status.code(), Code::InvalidArgument | Code::NotFound) => {
            let fields = vec!["feedback".to_owned()];
            Err(answer::rejection("FEEDBACK_REFUSED", status.message().to_owned(), fields))
        }
        Err(status) => Err(answer::unavailable(status.message(), None)),
    }
}

fn counted(kind: &'static str, answer: Answer) -> Said {
    Metric::WatchAnswers.add(1, &[(Label::Kind, kind), (Label::Result, answer.counted)]);
    answer.said
}
