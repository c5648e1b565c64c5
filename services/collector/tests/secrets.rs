//! A secret that is sent to the collector reaches neither the bus nor the store nor the log.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use hindsight_bus_local::LocalBusOptions;
use hindsight_ports::{
    Bus, BusError, Consumer, DeadLetter, Envelope, Leadership, Listener, MemoryStore as _, Queue, QueueStats,
};
use hindsight_proto::{
    collector::v1::{
        CompleteTaskRequest, Consistency, RecordEventsRequest, RetainBatchRequest, RetainRequest,
        SubmitTrajectoryRequest, record_events_request::Body,
    },
    common::v1::{
        ActionType, Attachment, Decision, Environment, EvidenceSource, Outcome, OutcomeEvidence,
        OutcomeStatus, Step, Trajectory,
    },
    event::v1::TaskStarted,
};
use hindsight_types::{MemoryId, MemoryKind, Scope, TraceId, UserId, Visibility};
use support::{House, tenant, until, viewer};
use tracing_subscriber::fmt::MakeWriter;
use uuid::Uuid;

/// What is planted, and what of it must be seen nowhere.
const PLANTED: &[(&str, &str)] = &[
    ("key AKIAQ3EXAMPLE7TESTKX in use", "AKIAQ3EXAMPLE7TESTKX"),
    ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "16C7e42F292c6912E7710c838347Ae178B4a"),
    ("令牌：glpat-x7Zq2Kd9Lm4Rt8Wv1Yb3，请勿外传", "x7Zq2Kd9Lm4Rt8Wv1Yb3"),
    ("xoxb-123456789012-abcDEF123ghiJKL456mnoPQR", "abcDEF123ghiJKL456mnoPQR"),
    ("Authorization: Bearer q8.Zr2_Xw9-Kd4Lm7Tt", "q8.Zr2_Xw9-Kd4Lm7Tt"),
    ("Authorization: Basic YWRtaW46aHVudGVyMnRlc3Q=", "YWRtaW46aHVudGVyMnRlc3Q"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ0ZXN0In0.c2lnbmF0dXJlLXRlc3Q", "eyJzdWIiOiJ0ZXN0In0"),
    ("postgres://app:pa/ss-7Kd@w@db:5432/orders", "pa/ss-7Kd@w"),
    ("{\"user\":\"app\",\"password\":\"correct-7Kd-horse\"}", "correct-7Kd-horse"),
    ("{\"body\":\"{\\\"password\\\":\\\"nested-9Qx-staple\\\"}\"}", "nested-9Qx-staple"),
    ("db:\n  password: yaml-3Wz-battery\n  host: db-1", "yaml-3Wz-battery"),
    ("DB_PASSWORD=env-5Tt-hunter ./run", "env-5Tt-hunter"),
    ("数据库密码是zh-8Lm-secret，谢谢", "zh-8Lm-secret"),
    ("mysql -uroot -pcli-4Rv-mysql orders", "cli-4Rv-mysql"),
    ("GET /x?access_token=url-6Yb-token12345&page=2", "url-6Yb-token12345"),
    ("kind: Secret\ndata:\n  a: azhzLTJQcS1zZWNyZXQ=\n", "azhzLTJQcS1zZWNyZXQ"),
    (
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC7Kd9Lm\n-----END PRIVATE KEY-----",
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC7Kd9Lm",
    ),
];

/// Keeps a copy of what is published.
struct Tap {
    bus: Arc<dyn Bus>,
    seen: Arc<Mutex<Vec<u8>>>,
}

#[async_trait]
impl Bus for Tap {
    async fn publish(&self, queue: Queue, messages: Vec<Envelope>) -> Result<(), BusError> {
        messages.iter().for_each(|m| {
            self.seen.lock().unwrap().extend(format!("{m:?}").bytes().chain(m.payload.clone()))
        });
        self.bus.publish(queue, messages).await
    }

    async fn subscribe(&self, queue: Queue, prefetch: usize) -> Result<Box<dyn Consumer>, BusError> {
        self.bus.subscribe(queue, prefetch).await
    }

    async fn stats(&self, queue: Queue) -> Result<QueueStats, BusError> {
        self.bus.stats(queue).await
    }

    async fn dead_letters(&self, queue: Queue, limit: usize) -> Result<Vec<DeadLetter>, BusError> {
        self.bus.dead_letters(queue, limit).await
    }

    async fn dead_letter(&self, queue: Queue, id: Uuid) -> Result<Option<DeadLetter>, BusError> {
        self.bus.dead_letter(queue, id).await
    }

    async fn replay(&self, queue: Queue, id: Uuid) -> Result<bool, BusError> {
        self.bus.replay(queue, id).await
    }

    async fn replay_all(&self, queue: Queue) -> Result<u64, BusError> {
        self.bus.replay_all(queue).await
    }

    async fn discard(&self, queue: Queue, id: Uuid) -> Result<bool, BusError> {
        self.bus.discard(queue, id).await
    }

    async fn broadcast(&self, message: Envelope) -> Result<(), BusError> {
        self.seen.lock().unwrap().extend(format!("{message:?}").bytes().chain(message.payload.clone()));
        self.bus.broadcast(message).await
    }

    async fn listen(&self) -> Result<Box<dyn Listener>, BusError> {
        self.bus.listen().await
    }

    async fn lead(&self, name: &str) -> Result<Box<dyn Leadership>, BusError> {
        self.bus.lead(name).await
    }

    fn ready(&self) -> Result<(), BusError> {
        self.bus.ready()
    }
}

/// What is logged, at every level, spans with their fields.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn watch_the_log() -> Log {
    use tracing_subscriber::fmt::format::FmtSpan;
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::FULL)
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    log
}

fn step(index: u32, text: &str) -> Step {
    Step {
        step_index: index,
        action_type: ActionType::ToolCall as i32,
        action_name: "shell".to_owned(),
        action_detail: text.to_owned(),
        observation: text.to_owned(),
        decision: Some(Decision {
            chosen: text.to_owned(),
            rejected: vec![text.to_owned()],
            rationale: text.to_owned(),
        }),
        reflection: text.to_owned(),
        ..Default::default()
    }
}

fn outcome(text: &str) -> Outcome {
    Outcome {
        status: OutcomeStatus::Success as i32,
        evidence: vec![OutcomeEvidence {
            source: EvidenceSource::User as i32,
            verdict: OutcomeStatus::Success as i32,
            detail: text.to_owned(),
            observed_at: None,
        }],
        conclusion: text.to_owned(),
    }
}

fn environment(text: &str) -> Environment {
    Environment { tags: Vec::new(), attributes: [("note".to_owned(), text.to_owned())].into() }
}

fn trajectory(text: &str) -> Trajectory {
    Trajectory {
        trace_id: "submitted".to_owned(),
        task_description: text.to_owned(),
        steps: PLANTED.iter().zip(0..).map(|((planted, _), i)| step(i, planted)).collect(),
        outcome: Some(outcome(text)),
        environment: Some(environment(text)),
        ..Default::default()
    }
}

fn recorded(text: &str) -> Vec<RecordEventsRequest> {
    let started =
        TaskStarted { goal: text.to_owned(), environment: Some(environment(text)), ..Default::default() };
    let mut nameless = step(1, text);
    nameless.action_name.clear();
    let bodies = [Body::Started(started), Body::Step(step(0, text)), Body::Step(nameless)];
    let request = |(body, sequence)| RecordEventsRequest {
        sequence,
        trace_id: "recorded".to_owned(),
        body: Some(body),
        ..Default::default()
    };
    bodies.into_iter().zip(1..).map(request).collect()
}

fn fact(text: &str) -> RetainRequest {
    RetainRequest {
        user: "ann".to_owned(),
        key: "note".to_owned(),
        content: format!("my note: {text}"),
        context: text.to_owned(),
        // These are short.
        speaker: PLANTED[11].0.to_owned(),
        intent: PLANTED[11].0.to_owned(),
        entities: vec![PLANTED[11].0.to_owned()],
        attachments: vec![Attachment {
            uri: "https://example.com/x?access_token=url-6Yb-token12345&page=2".to_owned(),
            media_type: "text/html".to_owned(),
            caption: text.to_owned(),
        }],
        consistency: Consistency::Indexed as i32,
        ..Default::default()
    }
}

/// Turns of one session: a long one, which is summarised, and one that stands beside it.
fn turns(text: &str) -> RetainBatchRequest {
    let turn = |key: &str, content: String| RetainRequest {
        user: "ann".to_owned(),
        key: key.to_owned(),
        session: "talk".to_owned(),
        content,
        consistency: Consistency::Indexed as i32,
        ..Default::default()
    };
    let long = PLANTED.iter().map(|(secret, _)| format!("Ann: I decided on Monday:\n{secret}\nBob: Why?\n"));
    RetainBatchRequest {
        facts: vec![turn("long", long.collect()), turn("beside", format!("I wrote {text}"))],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_secrets_are_seen_nowhere() {
    let log = watch_the_log();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let tapped = seen.clone();
    let house = House::with_bus(move |bus| Arc::new(Tap { bus, seen: tapped }), LocalBusOptions::default())
        .await
        .run();
    let all: String = PLANTED.iter().map(|(text, _)| format!("{text}\n")).collect();

    let mut client = house.client();
    client
        .submit_trajectory(SubmitTrajectoryRequest {
            trajectory: Some(trajectory(&all)),
            ..Default::default()
        })
        .await
        .unwrap();
    let answers = client.record_events(tokio_stream::iter(recorded(&all))).await.unwrap();
    drain(answers.into_inner()).await;
    let ended = CompleteTaskRequest {
        trace_id: "recorded".to_owned(),
        outcome: Some(outcome(&all)),
        step_count: 1,
        ..Default::default()
    };
    client.complete_task(ended).await.unwrap();
    // A refused run must not be quoted in the log either.
    let mut refused = trajectory(&all);
    refused.steps[1].action_name.clear();
    let request = SubmitTrajectoryRequest { trajectory: Some(refused), ..Default::default() };
    let refusal = client.submit_trajectory(request).await.unwrap_err().to_string();
    let mut facts = vec![client.retain(fact(&all)).await.unwrap().into_inner().memory_id];
    let batch = client.retain_batch(turns(&all)).await.unwrap().into_inner();
    assert!(batch.results[0].summarised);
    facts.extend(batch.results.into_iter().map(|r| r.memory_id));

    let stored = stored(&house, &facts).await;
    let on_disk = files(house.path());
    assert!(!on_disk.is_empty());
    house.stop().await;
    let places = [
        ("the bus", String::from_utf8_lossy(&seen.lock().unwrap()).into_owned()),
        ("the store", stored),
        ("the disk of the bus", String::from_utf8_lossy(&on_disk).into_owned()),
        ("the log", String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned()),
        ("a refusal", refusal),
    ];
    for (place, text) in &places[..2] {
        assert!(text.contains("[REDACTED:"), "{place} has nothing");
    }
    assert!(places[3].1.contains("TRACE") || places[3].1.contains("DEBUG"), "the log is not watched");
    for (place, text) in places {
        for (_, secret) in PLANTED {
            assert!(!text.contains(secret), "{secret} in {place}");
        }
    }
}

async fn drain<T>(mut answers: tonic::Streaming<T>) {
    while answers.message().await.unwrap().is_some() {}
}

/// Everything of the two runs and the facts, as it is read back.
async fn stored(house: &House, facts: &[String]) -> String {
    let scope = Scope::new(tenant(), Visibility::Tenant);
    let mut text = String::new();
    for (trace, count) in [("submitted", PLANTED.len() + 2), ("recorded", 3)] {
        let trace = TraceId::new(trace).unwrap();
        let events = until("the run is stored", || async {
            house.store.events(&scope, &trace).await.ok().filter(|events| events.len() >= count)
        })
        .await;
        text.push_str(&format!("{events:?}"));
    }
    let viewer = viewer().with_user(Some(UserId::new("ann").unwrap()));
    for fact in facts {
        let id = MemoryId::parse(fact).unwrap();
        let fact = house.store.get(&viewer, MemoryKind::Fact, id).await.unwrap().unwrap();
        text.push_str(&format!("{fact:?}"));
    }
    text
}

/// All bytes of the bus's database and its log. The engine's files are large and mostly empty: what is in
/// them is read back instead.
fn files(folder: &Path) -> Vec<u8> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let of_the_bus = paths.filter(|e| e.file_name().to_string_lossy().starts_with("bus.db"));
    of_the_bus.flat_map(|e| std::fs::read(e.path()).unwrap()).collect()
}
