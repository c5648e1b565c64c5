//! Two users of one tenant, with everything that is kept of users.

use hindsight_ports::{
    Forget, MemoryStore, StoreError,
    testkit::samples::{
        completed, encoded, evaluation_record, evidence, experience, fact, failure_pattern, lesson, private,
        receipt, shared, started, step_event, step_memory, tenant, time, trace, user,
    },
};
use hindsight_store::Store;
use hindsight_types::{
    EvaluationState, Event, EventBody, Fact, Feedback, FeedbackVerdict, Forgetting, ForgettingId,
    ForgettingState, Memory, MemoryId, MemoryKind, OpenTask, OutcomeStatus, Scope, SessionId, Subject,
    TenantId, Timestamp, Verdict, Viewer, Visibility,
};

/// The subject was forgotten then; everything in the world was recorded before.
pub const FORGOTTEN_AT: i64 = 10_000;

/// What a user alone says, in words that have nothing in common with those of others.
pub fn secret(name: &str) -> String {
    let words = match name {
        "ann" => "quartz fjords vex nymphs at dusk, 7741",
        _ => "jackdaws love my big sphinx, 潮汐 5520",
    };
    words.to_owned()
}

pub struct World {
    pub tenant: TenantId,
}

impl World {
    pub fn new(name: &str) -> Self {
        Self { tenant: tenant(name) }
    }

    pub fn everyone(&self) -> Scope {
        shared(&self.tenant)
    }

    pub fn of(&self, name: &str) -> Viewer {
        Viewer::of_tenant(self.tenant.clone()).with_user(Some(user(name)))
    }

    /// Both users, each with facts, a run of their own, one that all may see, and what came of these.
    pub async fn fill(&self, store: &Store) -> Result<(), StoreError> {
        for name in ["ann", "bob"] {
            self.facts(store, name).await?;
            self.run(store, name, &private(&self.tenant, name), "own").await?;
            self.run(store, name, &self.everyone(), "open").await?;
            self.reads(store, name).await?;
        }
        self.learned(store).await
    }

    async fn facts(&self, store: &Store, name: &str) -> Result<(), StoreError> {
        let turn = |n: i64| Fact {
            content: format!("{} ({n})", secret(name)),
            session: Some(SessionId::new("s-1").unwrap()),
            surroundings: format!("before and after: {}", secret(name)),
            ..fact(&self.tenant, name, &format!("k{n}"), n)
        };
        let said: Vec<_> = (1..5).map(|n| encoded(Memory::Fact(turn(n)), 1, &[7])).collect();
        store.upsert(&said).await?;
        // A newer version, so that the former one is kept.
        let newer = Fact { content: format!("{}, or so", secret(name)), retained_at: time(9), ..turn(1) };
        store.upsert(&[encoded(Memory::Fact(newer), 1, &[7])]).await
    }

    async fn run(&self, store: &Store, name: &str, scope: &Scope, which: &str) -> Result<(), StoreError> {
        let trace = trace(&format!("{name}-{which}"));
        let mut events = vec![
            started(scope, &trace),
            step_event(scope, &trace, 0),
            step_event(scope, &trace, 1),
            completed(scope, &trace, 2),
        ];
        for event in &mut events {
            name_user(event, name);
        }
        store.append_events(&events).await?;
        store
            .mark_open(&[OpenTask { trace_id: trace.clone(), scope: scope.clone(), touched_at: time(3) }])
            .await?;
        let mut judged = experience(scope, &trace, 5);
        if let Memory::Experience(judged) = &mut judged {
            judged.trajectory.user = Some(user(name));
            judged.trajectory.task_description = secret(name);
            judged.evaluation.summary = format!("in short: {}", secret(name));
        }
        let mut steps: Vec<_> = (0..2).map(|n| step_memory(scope, &trace, n, "ls")).collect();
        for step in &mut steps {
            if let Memory::Step(step) = step {
                step.text = format!("ls found that {}", secret(name));
            }
        }
        let memories: Vec<_> = steps.into_iter().chain([judged]).map(|m| encoded(m, 2, &[8])).collect();
        store.upsert(&memories).await?;
        let record = evaluation_record(scope, &trace, EvaluationState::Judged, 6);
        store.put_evaluation_record(&record).await
    }

    async fn reads(&self, store: &Store, name: &str) -> Result<(), StoreError> {
        let scope = private(&self.tenant, name);
        let mut asked = receipt(&scope);
        asked.query = format!("what was it: {}", secret(name));
        store.put_receipt(&asked).await?;
        let feedback = Feedback {
            receipt_id: asked.id,
            memory_id: self.lesson_of_both(),
            scope,
            verdict: FeedbackVerdict::Helpful,
            trace_id: Some(trace(&format!("{name}-own"))),
            outcome: OutcomeStatus::Success,
            note: format!("it helped, since {}", secret(name)),
            at: time(7),
        };
        store.put_feedback(&[feedback]).await
    }

    pub fn lesson_of_both(&self) -> MemoryId {
        MemoryId::lesson(&self.tenant, "tenant", "both")
    }

    pub fn lesson_of(&self, name: &str) -> MemoryId {
        MemoryId::lesson(&self.tenant, "tenant", name)
    }

    async fn learned(&self, store: &Store) -> Result<(), StoreError> {
        let everyone = self.everyone();
        let taught = |key: &str, traces: &[&str], of: &str| {
            let mut lesson = lesson(&everyone, key, traces, 8);
            lesson.advice = format!("know that {}", secret(of));
            encoded(Memory::Lesson(lesson), 3, &[9])
        };
        let mut pattern = failure_pattern(&everyone, "pull", &["ann-open", "bob-open"], 8);
        pattern.example = format!("pull: {}", secret("ann"));
        let mut own = lesson(&private(&self.tenant, "ann"), "own", &["ann-own"], 8);
        own.advice = secret("ann");
        let learned = [
            taught("both", &["ann-open", "bob-open"], "ann"),
            taught("ann", &["ann-open"], "ann"),
            taught("bob", &["bob-open"], "bob"),
            encoded(Memory::FailurePattern(pattern), 3, &[9]),
            encoded(Memory::Lesson(own), 3, &[9]),
        ];
        store.upsert(&learned).await?;
        let line =
            |memory, run: &str, scope: &Scope| evidence(scope, memory, &trace(run), Verdict::Supported, 9);
        let (anns, bobs) = (private(&self.tenant, "ann"), private(&self.tenant, "bob"));
        store
            .append_evidence(&[
                line(self.lesson_of_both(), "ann-open", &everyone),
                line(self.lesson_of_both(), "bob-open", &everyone),
                line(self.lesson_of("bob"), "ann-own", &anns),
                line(self.lesson_of("bob"), "ann-open", &everyone),
                line(self.lesson_of("bob"), "bob-own", &bobs),
                line(self.lesson_of("ann"), "bob-own", &bobs),
            ])
            .await
    }

    pub fn forgetting(&self, subject: Subject) -> Forgetting {
        let id = ForgettingId::of_request(&self.tenant, "r-1");
        let scope = Scope::new(self.tenant.clone(), Visibility::Tenant);
        Forgetting::begin(id, scope, subject, "asked".to_owned(), "key".to_owned(), time(FORGOTTEN_AT))
    }

    /// Everything that a viewer can list, but what both users taught.
    pub async fn memories(&self, store: &Store, name: &str) -> Vec<Memory> {
        let mut all = Vec::new();
        for kind in MemoryKind::ALL {
            all.extend(store.list(&self.of(name), kind, &Default::default()).await.unwrap().items);
        }
        all
    }
}

/// Only starts name a user. Everything says what only the user says.
fn name_user(event: &mut Event, name: &str) {
    match &mut event.body {
        EventBody::Started(start) => {
            start.user = Some(user(name));
            start.goal = secret(name);
        }
        EventBody::Step(step) => step.observation = format!("and {}", secret(name)),
        EventBody::Completed(_) | EventBody::Span(_) => {}
    }
}

/// Takes every step, as far as records of the store go; what is asked for beside is collected.
pub async fn forget(
    store: &Store,
    forgetting: &Forgetting,
    now: Timestamp,
    relearned: &mut Vec<(MemoryId, Vec<String>)>,
) -> Result<Forgetting, StoreError> {
    let mut f = store.begin(forgetting).await?;
    while f.state == ForgettingState::Erasing {
        store.erase(&f).await?;
        for r in &f.batch.rederived {
            let runs = r.runs.iter().map(ToString::to_string).collect();
            relearned.push((r.memory, runs));
        }
        f = store.advance(&f, now).await?;
    }
    Ok(f)
}
