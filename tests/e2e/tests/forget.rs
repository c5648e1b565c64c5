//! Forgetting a user over the wire: nothing of theirs is in any answer nor in any file, and everything of the others
//! is as it was.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like tests")]

use std::{collections::BTreeSet, fs, path::Path};

use hindsight_client::Client;
use hindsight_e2e::{Kind, Server, trajectory, until};
use hindsight_proto::{
    collector::v1::{Consistency, RetainRequest, SubmitTrajectoryRequest},
    common::v1::{
        Forgetting, ForgettingState, MemoryKind, Scope, ScopeLevel, Step, StepStatus, Trajectory,
        forgetting_subject::Subject,
    },
    evaluator::v1::ListFailuresRequest,
    memory::v1::{
        DeleteMemoryRequest, ForgetSubjectRequest, GetForgettingRequest, GetTrajectoryRequest,
        ListMemoriesRequest, forget_subject_response::Outcome,
    },
    operations::v1::ListDeadLettersRequest,
    recall::v1::{ExplainRecallRequest, RecallRequest},
};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

const KINDS: [MemoryKind; 5] = [
    MemoryKind::Fact,
    MemoryKind::Experience,
    MemoryKind::Lesson,
    MemoryKind::FailurePattern,
    MemoryKind::Step,
];

/// A user with words that nobody else has.
struct Person {
    name: String,
    token: String,
    facts: Vec<String>,
    receipts: Vec<String>,
    runs: Vec<String>,
}

struct World {
    client: Client,
    people: Vec<Person>,
}

fn token(rng: &mut StdRng) -> String {
    (0..24).map(|_| char::from(rng.random_range(b'a'..=b'z'))).collect()
}

impl World {
    async fn make(client: Client, rng: &mut StdRng) -> Self {
        let mut people = Vec::new();
        for n in 0..3 {
            let name = format!("user-{n}-安");
            people.push(Person {
                name,
                token: token(rng),
                facts: Vec::new(),
                receipts: Vec::new(),
                runs: Vec::new(),
            });
        }
        for person in &mut people {
            for n in 0..rng.random_range(2..6) {
                person.retain(&client, n).await;
            }
            for shared in [false, true, rng.random_bool(0.5)] {
                person.submit(&client, shared).await;
            }
            person.recall(&client).await;
        }
        Self { client, people }
    }
}

impl Person {
    async fn retain(&mut self, client: &Client, n: u32) {
        let request = RetainRequest {
            user: self.name.clone(),
            content: format!("I keep spare key {n} at {}, 别忘了", self.token),
            session: "s-1".to_owned(),
            consistency: Consistency::Indexed as i32,
            force: true,
            ..RetainRequest::default()
        };
        let kept = client.retain(request).await.unwrap();
        self.facts.push(kept.memory_id);
    }

    /// A run that fails in a way that all runs here do, and is put right; each says it in its user's words.
    async fn submit(&mut self, client: &Client, shared: bool) {
        let trace = format!("{}-run-{}", self.name, self.runs.len());
        let mut run = trajectory("web", 6, Kind::Judged);
        let said = format!("as {} asked", self.token);
        run.task_description = format!("{} {said}", run.task_description);
        for step in &mut run.steps {
            step.observation = format!("{} {said}", step.observation);
        }
        run.steps.extend(failing(6, &said));
        run.trace_id.clone_from(&trace);
        run.user.clone_from(&self.name);
        if shared {
            run.scope = Some(Scope { level: ScopeLevel::Tenant as i32, id: String::new() });
        }
        let request =
            SubmitTrajectoryRequest { trajectory: Some(run), consistency: Consistency::Indexed as i32 };
        client.submit_trajectory(request).await.unwrap();
        self.runs.push(trace);
    }

    async fn recall(&mut self, client: &Client) -> Vec<String> {
        let request = RecallRequest {
            query: format!("where is the spare key, {}?", self.token),
            user: self.name.clone(),
            strict: true,
            ..RecallRequest::default()
        };
        let found = client.recall(request).await.unwrap();
        self.receipts.push(found.receipt_id.clone());
        vec![found.block]
    }
}

/// A call that fails, and one that does it.
fn failing(at: u32, said: &str) -> Vec<Step> {
    let call = |index: u32, detail: String, observation: String, status: StepStatus| Step {
        step_index: index,
        action_type: hindsight_proto::common::v1::ActionType::ToolCall as i32,
        action_name: "docker".to_owned(),
        action_detail: detail,
        observation,
        status: status as i32,
        ..Step::default()
    };
    vec![
        call(
            at,
            format!("docker pull registry/web # {said}"),
            format!("Error: no space left on device /var/lib/docker, {said}"),
            StepStatus::Error,
        ),
        call(at + 1, "docker image prune --all".to_owned(), "freed 12 GB".to_owned(), StepStatus::Ok),
        call(at + 2, "docker pull registry/web".to_owned(), "pulled web-c1".to_owned(), StepStatus::Ok),
    ]
}

/// Everything that the API says to anyone.
async fn answers(world: &World) -> String {
    let (client, mut all) = (&world.client, String::new());
    let viewers = world.people.iter().map(|p| p.name.clone()).chain([String::new()]);
    for user in viewers {
        for kind in KINDS {
            let request = ListMemoriesRequest {
                kind: kind as i32,
                user: user.clone(),
                page_size: 500,
                ..ListMemoriesRequest::default()
            };
            all += &format!("{:?}\n", client.list_memories(request).await.unwrap());
        }
        for person in &world.people {
            for trace_id in person.runs.iter().cloned() {
                let request = GetTrajectoryRequest { trace_id, user: user.clone() };
                all += &format!("{:?}\n", client.get_trajectory(request).await.map_err(|e| e.code));
            }
            for receipt_id in person.receipts.iter().cloned() {
                let request = ExplainRecallRequest {
                    receipt_id,
                    user: user.clone(),
                    ..ExplainRecallRequest::default()
                };
                all += &format!("{:?}\n", client.explain_recall(request).await.map_err(|e| e.code));
            }
        }
        let request = ListFailuresRequest { user: user.clone(), ..ListFailuresRequest::default() };
        all += &format!("{:?}\n", client.list_failures(request).await.unwrap());
    }
    all += &format!("{:?}\n", client.list_dead_letters(ListDeadLettersRequest::default()).await.unwrap());
    all
}

/// What a user can list of their own.
async fn own(client: &Client, person: &Person) -> BTreeSet<String> {
    let mut own = BTreeSet::new();
    for kind in KINDS {
        let request = ListMemoriesRequest {
            kind: kind as i32,
            user: person.name.clone(),
            page_size: 500,
            ..ListMemoriesRequest::default()
        };
        for memory in client.list_memories(request).await.unwrap().memories {
            let said = format!("{memory:?}");
            if said.contains(&person.token)
                && kind != MemoryKind::Lesson
                && kind != MemoryKind::FailurePattern
            {
                own.insert(said);
            }
        }
    }
    own
}

/// The forms in which a token may stand in a file: as it is, and as base64 cuts it.
fn forms(token: &str) -> Vec<Vec<u8>> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let encoded = |skipped: usize| {
        let bytes = [&vec![0; skipped], token.as_bytes()].concat();
        let bits: Vec<u8> = bytes.iter().flat_map(|b| (0..8).rev().map(move |n| b >> n & 1)).collect();
        let value = |six: &[u8]| six.iter().fold(0_u8, |v, bit| v << 1 | bit);
        let text: Vec<u8> = bits.chunks_exact(6).map(|six| ALPHABET[usize::from(value(six))]).collect();
        // Characters that are made of the token alone.
        text[(skipped * 8).div_ceil(6)..].to_vec()
    };
    (0..3).map(encoded).chain([token.as_bytes().to_vec()]).collect()
}

/// Files below `dir` in which the token stands.
fn files_with(dir: &Path, token: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, token));
            continue;
        }
        let bytes = fs::read(&path).unwrap_or_default();
        if forms(token).iter().any(|form| memmem(&bytes, form)) {
            found.push(path.display().to_string());
        }
    }
    found
}

fn memmem(bytes: &[u8], wanted: &[u8]) -> bool {
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|b| *b == wanted[0]) {
        let here = from + at;
        if bytes[here..].starts_with(wanted) {
            return true;
        }
        from = here + 1;
    }
    false
}

async fn over(client: &Client, begun: Forgetting) -> Forgetting {
    until("the forgetting is over", async || {
        let request = GetForgettingRequest { forgetting_id: begun.id.clone() };
        let f = client.get_forgetting(request).await.unwrap().forgetting.unwrap();
        match f.state() {
            ForgettingState::Done | ForgettingState::Failed => Ok(f),
            state => Err(format!("{state:?}")),
        }
    })
    .await
}

fn assert_proved(f: &Forgetting) {
    assert_eq!(f.state(), ForgettingState::Done, "{f:?}");
    let proof = f.proof.as_ref().unwrap();
    // Of a user every collection is searched, of one memory those that can say something of it.
    let is_user = matches!(f.subject.as_ref().unwrap().subject, Some(Subject::User(_)));
    let searched = if is_user { 11 } else { 4 };
    assert!(proof.remaining.len() >= searched, "{proof:?}");
    assert!(proof.remaining.values().all(|n| *n == 0), "{proof:?}");
    let files = proof.files.unwrap();
    assert!(files.files > 0 && files.bytes > 0 && proof.probes > 0 && files.found == 0, "{proof:?}");
    assert!(proof.out_of_reach.iter().any(|what| what.contains("backups")), "{proof:?}");
}

async fn forget(client: &Client, user: &str, request_id: &str) -> Forgetting {
    let request = ForgetSubjectRequest {
        user: user.to_owned(),
        reason: "the user asked for it".to_owned(),
        request_id: request_id.to_owned(),
        validate_only: false,
    };
    match client.forget_subject(request).await.unwrap().outcome {
        Some(Outcome::Forgetting(f)) => f,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_forgotten_user_is_left_anywhere() {
    let mut rng = StdRng::seed_from_u64(7741);
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]).await;
    let client = Client::remote(server.url(), None).unwrap();
    let mut world = World::make(client.clone(), &mut rng).await;
    let (gone, others) = (world.people[0].token.clone(), [1, 2]);
    assert!(answers(&world).await.contains(&gone), "else this shows nothing");
    assert!(!files_with(dir.path(), &gone).is_empty(), "else this shows nothing");
    let mut before = Vec::new();
    for n in others {
        before.push(own(&client, &world.people[n]).await);
    }
    assert!(before.iter().all(|own| own.len() > 5), "{before:?}");

    let name = world.people[0].name.clone();
    let preview = ForgetSubjectRequest { user: name.clone(), validate_only: true, ..Default::default() };
    let preview = match client.forget_subject(preview).await.unwrap().outcome {
        Some(Outcome::Preview(preview)) => preview,
        other => panic!("{other:?}"),
    };
    assert!(answers(&world).await.contains(&gone), "a preview deletes nothing");

    let begun = forget(&client, &name, "6f1c0c3e-0000-4000-8000-000000000001").await;
    let f = over(&client, begun.clone()).await;
    assert_proved(&f);
    let sum = |removed: &std::collections::HashMap<String, u64>| removed.values().sum::<u64>();
    assert_eq!(sum(&f.removed), sum(&preview.removed), "{:?} and {:?}", f.removed, preview.removed);
    assert_eq!(forget(&client, &name, "6f1c0c3e-0000-4000-8000-000000000001").await, f, "the same request");

    let said = answers(&world).await;
    assert!(!said.contains(&gone), "{}", &said[said.find(&gone).unwrap_or(0).saturating_sub(300)..][..600]);
    assert_eq!(files_with(dir.path(), &gone), Vec::<String>::new());
    for (n, before) in others.into_iter().zip(before) {
        assert_eq!(own(&client, &world.people[n]).await, before, "user {n}");
        let token = world.people[n].token.clone();
        let found = world.people[n].recall(&client).await;
        assert!(found[0].contains(&token), "{found:?}");
    }
    // What others taught as well is there again, in their words.
    until("lessons are learned anew", async || {
        let request = ListMemoriesRequest { kind: MemoryKind::FailurePattern as i32, ..Default::default() };
        let patterns = client.list_memories(request).await.unwrap().memories;
        let known = patterns
            .iter()
            .any(|m| others.iter().any(|n| format!("{m:?}").contains(&world.people[*n].token)));
        if known { Ok(()) } else { Err(format!("{patterns:?}")) }
    })
    .await;

    // Who comes back is remembered anew.
    world.people[0].token = token(&mut rng);
    world.people[0].retain(&client, 9).await;
    assert!(answers(&world).await.contains(&world.people[0].token));
    server.terminate();
    assert!(server.exit().await.success());
    assert_eq!(files_with(dir.path(), &gone), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_before_and_arrives_late_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]).await;
    let client = Client::remote(server.url(), None).unwrap();
    let mut rng = StdRng::seed_from_u64(5521);
    let mut ann = Person {
        name: "ann".to_owned(),
        token: token(&mut rng),
        facts: Vec::new(),
        receipts: Vec::new(),
        runs: Vec::new(),
    };
    ann.retain(&client, 1).await;
    let f = over(&client, forget(&client, "ann", "6f1c0c3e-0000-4000-8000-000000000002").await).await;
    assert_proved(&f);
    // A spooled run of an hour ago, that all may see.
    let past = f.at.unwrap().seconds - 3_600;
    let at = |seconds| Some(prost_types::Timestamp { seconds, nanos: 0 });
    let mut late: Trajectory = trajectory("late", 6, Kind::Judged);
    late.task_description = format!("late: {}", ann.token);
    (late.user, late.started_at, late.ended_at) = ("ann".to_owned(), at(past), at(past + 60));
    late.scope = Some(Scope { level: ScopeLevel::Tenant as i32, id: String::new() });
    let request = SubmitTrajectoryRequest { trajectory: Some(late), ..SubmitTrajectoryRequest::default() };
    client.submit_trajectory(request).await.unwrap();
    // What comes behind it on the same queue is there: the other one was met before.
    let mut marker = trajectory("marker", 6, Kind::Judged);
    marker.user = "bob".to_owned();
    let request =
        SubmitTrajectoryRequest { trajectory: Some(marker), consistency: Consistency::Indexed as i32 };
    client.submit_trajectory(request).await.unwrap();
    let request = GetTrajectoryRequest { trace_id: "late".to_owned(), user: "ann".to_owned() };
    until("nothing of the late run is there", async || match client.get_trajectory(request.clone()).await {
        Err(_) => Ok(()),
        Ok(found) => Err(format!("{found:?}")),
    })
    .await;
    until("its bytes are gone", async || {
        let found = files_with(dir.path(), &ann.token);
        if found.is_empty() { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_fact_is_gone_with_what_its_neighbours_knew_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]).await;
    let client = Client::remote(server.url(), None).unwrap();
    let mut rng = StdRng::seed_from_u64(31);
    let (mut ann, secret) = (
        Person {
            name: "ann".to_owned(),
            token: token(&mut rng),
            facts: Vec::new(),
            receipts: Vec::new(),
            runs: Vec::new(),
        },
        token(&mut rng),
    );
    ann.retain(&client, 1).await;
    let kept = std::mem::replace(&mut ann.token, secret.clone());
    ann.retain(&client, 2).await;
    ann.token = kept.clone();
    ann.retain(&client, 3).await;
    let request = DeleteMemoryRequest {
        kind: MemoryKind::Fact as i32,
        memory_id: ann.facts[1].clone(),
        user: "ann".to_owned(),
        reason: "it was wrong".to_owned(),
        request_id: "6f1c0c3e-0000-4000-8000-000000000003".to_owned(),
    };
    let begun = client.delete_memory(request.clone()).await.unwrap().forgetting.unwrap();
    let facts =
        ListMemoriesRequest { kind: MemoryKind::Fact as i32, user: "ann".to_owned(), ..Default::default() };
    let listed = format!("{:?}", client.list_memories(facts.clone()).await.unwrap());
    assert!(!listed.contains(&ann.facts[1]), "it is not served when the call returns: {listed}");
    assert_proved(&over(&client, begun.clone()).await);
    let listed = client.list_memories(facts).await.unwrap();
    assert_eq!(listed.memories.len(), 2);
    assert!(!format!("{listed:?}").contains(&secret));
    assert!(files_with(dir.path(), &secret).is_empty());
    assert!(!files_with(dir.path(), &kept).is_empty());
    // The same request again is the same deletion; another one finds nothing.
    let again = client.delete_memory(request.clone()).await.unwrap().forgetting.unwrap();
    assert_eq!((again.id, again.state), (begun.id, ForgettingState::Done as i32));
    let other =
        DeleteMemoryRequest { request_id: "6f1c0c3e-0000-4000-8000-000000000004".to_owned(), ..request };
    assert!(client.delete_memory(other).await.is_err());
}
