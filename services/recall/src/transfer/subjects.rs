//! Of whom a record is, so that nothing that was forgotten comes back.

use hindsight_types::{
    Event, EventBody, Memory, MemoryKind, RecordBody, Scope, Subject, Timestamp, TraceId, UserId,
};

/// Subjects of a record, each with the time since when it says something of them: forgotten then or later, it is
/// gone. What was drawn from several runs goes by the first of them.
pub(super) fn about(record: &RecordBody) -> Vec<(Subject, Timestamp)> {
    match record {
        RecordBody::Event(event) => of_event(event),
        RecordBody::Memory(memory) => of_memory(memory),
        RecordBody::Version(version) => of_memory(&version.0),
        RecordBody::Archived(archived) => of_memory(&archived.memory),
        RecordBody::Evaluation(r) => of_run(&r.scope, &r.trace_id, r.updated_at),
        RecordBody::OpenTask(r) => of_run(&r.scope, &r.trace_id, r.touched_at),
        RecordBody::FormerVerdicts(r) => {
            let first = r.verdicts.iter().map(|v| v.evaluated_at).min().unwrap_or(Timestamp::MIN);
            of_run(&r.scope, &r.trace_id, first)
        }
        RecordBody::Receipt(r) => of_user(r.scope.user(), r.at),
        RecordBody::Feedback(r) => {
            let run = r.trace_id.iter().map(|trace| (Subject::Run(trace.clone()), r.at));
            of_user(r.scope.user(), r.at).into_iter().chain(run).chain([memory(r.memory_id, r.at)]).collect()
        }
        RecordBody::Evidence(r) => {
            let run = of_run(&r.scope, &r.trace_id, r.at);
            run.into_iter().chain([memory(r.memory_id, r.at)]).collect()
        }
        RecordBody::Review(r) => {
            of_user(r.scope.user(), r.at).into_iter().chain([memory(r.memory_id, r.at)]).collect()
        }
        RecordBody::SubjectMerge(_)
        | RecordBody::Moved(_)
        | RecordBody::Forgotten(_)
        | RecordBody::Forgetting(_)
        | RecordBody::Reevaluation(_)
        | RecordBody::CompactionRun(_)
        | RecordBody::CompactionTask(_) => Vec::new(),
    }
}

/// A tombstone of a memory is found by its id alone.
fn memory(id: hindsight_types::MemoryId, at: Timestamp) -> (Subject, Timestamp) {
    (Subject::Memory(MemoryKind::Lesson, id), at)
}

fn of_user(user: Option<&UserId>, at: Timestamp) -> Vec<(Subject, Timestamp)> {
    user.map(|user| (Subject::User(user.clone()), at)).into_iter().collect()
}

fn of_run(scope: &Scope, trace: &TraceId, at: Timestamp) -> Vec<(Subject, Timestamp)> {
    let run = (Subject::Run(trace.clone()), at);
    of_user(scope.user(), at).into_iter().chain([run]).collect()
}

fn of_event(event: &Event) -> Vec<(Subject, Timestamp)> {
    let at = event.recorded_at;
    let mut about = of_run(&event.scope, &event.trace_id, at);
    if let EventBody::Started(start) = &event.body {
        about.extend(of_user(start.user.as_ref(), at));
    }
    about
}

fn of_memory(memory: &Memory) -> Vec<(Subject, Timestamp)> {
    let since = match memory {
        Memory::Fact(m) => m.retained_at,
        Memory::Experience(m) => m.trajectory.started_at,
        Memory::Lesson(m) => m.created_at,
        Memory::FailurePattern(m) => m.first_seen,
        Memory::Step(m) => m.recorded_at,
    };
    let mut about = of_user(memory.scope().user(), since);
    about.push((Subject::Memory(memory.kind(), memory.id()), since));
    let runs: &[TraceId] = match memory {
        Memory::Fact(_) => &[],
        Memory::Experience(m) => {
            about.extend(of_user(m.trajectory.user.as_ref(), since));
            std::slice::from_ref(&m.trajectory.trace_id)
        }
        Memory::Lesson(m) => &m.sources,
        Memory::FailurePattern(m) => &m.sources,
        Memory::Step(m) => std::slice::from_ref(&m.trace_id),
    };
    about.extend(runs.iter().map(|run| (Subject::Run(run.clone()), since)));
    about
}
