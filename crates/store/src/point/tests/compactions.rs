//! Runs of upkeep and their tasks as this version writes them; see [`super::at_rest`].

use hindsight_ports::testkit::samples::time;
use hindsight_types::{
    CompactionRun, CompactionTask, Policy, RunState, TaskCounts, TaskState, Trigger, Work,
};

use super::*;

const RUN: &str = "CgRhY21lEgIIAaIBUwpMCiQ3Y2Q0ODkwMy01ZjcxLTVmZGUtOWFlYS1mMmYwZTYzN2Y2ZjcQARgBIAIyBgiByuLQBj\
     oGCILK4tAGQgYIg8ri0AZQAVgDYAFoARIBcBgE";

const TASK: &str = "CgRhY21lEgIIAaoBigEKJDc4YjhkM2VjLWQ4MzctNWU0Zi1iMDA5LWZmNjEyN2ZjODkzMhIkN2NkNDg5MDMtNWY3MS\
     01ZmRlLTlhZWEtZjJmMGU2MzdmNmY3Gg0SCwoBdAoG5Lu75YqhIhJvbGRlciB0aGFuIDE0IGRheXMoAzIHaXMgZ29u\
     ZToGCILK4tAGQgYIhcri0AY=";

fn run() -> CompactionRun {
    let run = CompactionRun::due(tenant("acme"), Policy::RawEvents, Trigger::Schedule, time(1), time(2));
    CompactionRun {
        state: RunState::Working,
        published_at: Some(time(3)),
        cursor: "p".to_owned(),
        cut: true,
        counts: TaskCounts { planned: 3, done: 1, skipped: 1, failed: 0 },
        revision: 4,
        ..run
    }
}

fn task() -> CompactionTask {
    let work = Work::ExpireEvents { traces: vec![trace("t"), trace("任务")] };
    let task = CompactionTask::of_run(&run(), work, "older than 14 days".to_owned(), time(2));
    CompactionTask {
        state: TaskState::Skipped { why: "is gone".to_owned() },
        ended_at: Some(time(5)),
        ..task
    }
}

#[test]
fn runs_of_upkeep_are_written_and_read_like_this() {
    let point = of(&run());
    let open = [
        r#"at=1780000002000000"#,
        r#"policy="raw-events""#,
        r#"revision=4"#,
        r#"state="run:open""#,
        r#"tenant="acme""#,
        r#"visibility="tenant""#,
    ];
    assert_eq!(shown(&point.payload), open);
    assert_eq!(text(&point.payload, field::RECORD), Some(RUN));
    assert_eq!(decode::<CompactionRun>(&retrieved(point)).unwrap(), run());
    let over = of(&CompactionRun { state: RunState::Done, ..run() });
    assert_eq!(text(&over.payload, field::STATE), Some("run:ended"));
}

#[test]
fn tasks_of_upkeep_are_written_and_read_like_this() {
    let point = of(&task());
    let open = [
        r#"at=1780000002000000"#.to_owned(),
        r#"revision=1"#.to_owned(),
        format!(r#"run_id="{}""#, run().id),
        r#"state="skipped""#.to_owned(),
        r#"tenant="acme""#.to_owned(),
        r#"visibility="tenant""#.to_owned(),
    ];
    assert_eq!(shown(&point.payload), open);
    assert_eq!(text(&point.payload, field::RECORD), Some(TASK));
    assert_eq!(decode::<CompactionTask>(&retrieved(point)).unwrap(), task());
    let planned = of(&CompactionTask { state: TaskState::Planned, ..task() });
    assert_eq!(integer(&planned.payload, field::REVISION), Some(0));
}
