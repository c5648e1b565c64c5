//! What users say, over RabbitMQ, with two collectors that share the work.

use hindsight_client::Client;
use hindsight_cluster::{Cluster, Role, Shape};
use hindsight_e2e::until;
use hindsight_proto::{
    collector::v1::{Consistency, RetainBatchRequest, RetainRequest},
    common::v1::{Fact, MemoryKind, memory::Kind},
    memory::v1::ListMemoriesRequest,
    recall::v1::RecallRequest,
};
use hindsight_types::Timestamp;

/// Turns of a talk, with what each is asked for.
const TALK: [(&str, &str); 6] = [
    ("Shall we visit the lighthouse museum?", "lighthouse museum"),
    ("好的，周六上午十点在码头见", "周六 码头 见"),
    ("I bring sandwiches with goat cheese", "sandwiches with goat cheese"),
    ("我对花生过敏，请不要带花生酱", "花生 过敏"),
    ("Then I take hummus instead of peanut butter", "hummus instead of peanut butter"),
    ("回程的船票是 T-20417", "船票 T-20417"),
];

fn turn(user: &str, n: usize) -> RetainRequest {
    let second = 1_780_000_000 + 60 * i64::try_from(n).unwrap_or_default();
    RetainRequest {
        user: user.to_owned(),
        key: format!("turn {n}"),
        session: "talk".to_owned(),
        speaker: if n.is_multiple_of(2) { "Ann" } else { "李雷" }.to_owned(),
        content: TALK[n].0.to_owned(),
        occurred_at: Timestamp::from_second(second).ok().map(hindsight_codec::time_to_proto),
        consistency: Consistency::Indexed as i32,
        ..RetainRequest::default()
    }
}

/// What the turns end beside.
fn beside(n: usize) -> String {
    let near =
        [n.checked_sub(2), n.checked_sub(1), Some(n + 1)].into_iter().flatten().filter(|i| *i < TALK.len());
    let line = |i: usize| format!("{}: {}", turn("", i).speaker, TALK[i].0);
    near.map(line).collect::<Vec<_>>().join("\n")
}

/// The keys of what a recall brings. It is asked once: what is INDEXED is there.
async fn recalled(recall: &Client, user: &str, query: &str) -> Vec<String> {
    let request = RecallRequest {
        query: query.to_owned(),
        user: user.to_owned(),
        kinds: vec![MemoryKind::Fact as i32],
        strict: true,
        ..RecallRequest::default()
    };
    let answer = recall.recall(request).await.unwrap_or_else(|e| panic!("{e}"));
    let kinds = answer.items.into_iter().filter_map(|item| item.memory?.kind);
    kinds.filter_map(|kind| if let Kind::Fact(f) = kind { Some(f.key) } else { None }).collect()
}

async fn facts(recall: &Client, user: &str) -> Vec<Fact> {
    let (kind, user) = (MemoryKind::Fact as i32, user.to_owned());
    let request = ListMemoriesRequest { kind, user, ..ListMemoriesRequest::default() };
    let answer = recall.list_memories(request).await.unwrap_or_else(|e| panic!("{e}"));
    let mut facts: Vec<Fact> = answer
        .memories
        .into_iter()
        .filter_map(|m| if let Some(Kind::Fact(f)) = m.kind { Some(f) } else { None })
        .collect();
    facts.sort_by(|a, b| a.key.cmp(&b.key));
    facts
}

async fn stand_beside_each_other(recall: &Client, user: &str) {
    let facts = facts(recall, user).await;
    assert_eq!(facts.len(), TALK.len());
    for (n, fact) in facts.iter().enumerate() {
        assert_eq!((fact.content.as_str(), &fact.surroundings), (TALK[n].0, &beside(n)), "{}", fact.key);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_indexed_is_found_in_the_turns_of_its_session() {
    let shape = Shape { collectors: 2, recalls: 1, ..Shape::default() };
    let Some(mut cluster) = Cluster::start(&shape).await else { return };
    let (collectors, recall) = (cluster.clients(Role::Collector), cluster.client(Role::Recall));

    let batch = RetainBatchRequest { facts: (0..TALK.len()).map(|n| turn("batch", n)).collect() };
    let kept = collectors[0].retain_batch(batch).await.unwrap_or_else(|e| panic!("{e}"));
    assert!(kept.results.iter().all(|r| r.retained), "{kept:?}");
    for (n, (_, query)) in TALK.iter().enumerate() {
        let found = recalled(&recall, "batch", query).await;
        assert!(found.contains(&format!("turn {n}")), "{query}: {found:?}");
    }
    stand_beside_each_other(&recall, "batch").await;

    // Out of order, again, and through both.
    for (i, n) in [4, 1, 5, 1, 0, 3, 2, 4].into_iter().enumerate() {
        let user = "shuffled";
        collectors[i % 2].retain(turn(user, n)).await.unwrap_or_else(|e| panic!("{e}"));
        let found = recalled(&recall, user, TALK[n].1).await;
        assert!(found.contains(&format!("turn {n}")), "{}: {found:?}", TALK[n].1);
    }
    stand_beside_each_other(&recall, "shuffled").await;

    // All at once, of which each waits for itself alone.
    let at_once = (0..TALK.len()).map(|n| {
        let collector = collectors[n % 2].clone();
        tokio::spawn(async move { collector.retain(turn("at once", n)).await })
    });
    for call in at_once.collect::<Vec<_>>() {
        call.await.unwrap_or_else(|e| panic!("{e}")).unwrap_or_else(|e| panic!("{e}"));
    }
    until("the turns stand beside each other", async || {
        let facts = facts(&recall, "at once").await;
        let wrong = facts.iter().enumerate().find(|(n, f)| f.surroundings != beside(*n));
        wrong.map_or(Ok(()), |(_, fact)| Err(format!("{fact:?}")))
    })
    .await;
    stand_beside_each_other(&recall, "at once").await;
}
