//! Two recall processes keep the facts of a user in memory, and never show an old one.

use hindsight_client::Client;
use hindsight_cluster::{Cluster, Node, Role, Shape};
use hindsight_e2e::until;
use hindsight_proto::{
    collector::v1::{Consistency, RetainRequest},
    common::v1::MemoryKind,
    recall::v1::RecallRequest,
};

const USER: &str = "安";
const LOOKUPS: &str = "hindsight_recall_cache_lookups_total";

/// The drink of the user is now this one; answers when it is stored.
async fn retain(collector: &Client, drink: &str) {
    let request = RetainRequest {
        user: USER.to_owned(),
        key: "drink".to_owned(),
        content: format!("最喜欢的饮料是 {drink}, my favourite drink is {drink}"),
        consistency: Consistency::Indexed as i32,
        force: true,
        ..RetainRequest::default()
    };
    until("the fact is stored", async || {
        collector.retain(request.clone()).await.map(drop).map_err(|e| e.to_string())
    })
    .await;
}

async fn recall(node: &Node) -> Result<String, String> {
    let request = RecallRequest {
        query: "最喜欢的饮料 favourite drink".to_owned(),
        user: USER.to_owned(),
        kinds: vec![MemoryKind::Fact as i32],
        ..RecallRequest::default()
    };
    Ok(node.client().recall(request).await.map_err(|e| e.to_string())?.block)
}

/// Whether the facts that a recall brings were in memory.
async fn is_warm(node: &Node) -> Result<bool, String> {
    let hits = async || node.metric(LOOKUPS, &["cache=\"facts\"", "result=\"hit\""]).await;
    let before = hits().await?;
    recall(node).await?;
    Ok(hits().await? > before)
}

async fn warm(node: &Node) {
    until("the facts are in memory", async || match is_warm(node).await? {
        true => Ok(()),
        false => Err("they are not".to_owned()),
    })
    .await;
}

async fn shows(node: &Node, drink: &str) {
    until("the change is seen", async || {
        let block = recall(node).await?;
        if block.contains(drink) { Ok(()) } else { Err(block) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn caches_follow_every_change_and_are_dropped_with_the_broker() {
    // Only what is told of a change makes a fact old.
    let env = vec![("HINDSIGHT__RECALL__CACHE__FACTS_TTL".to_owned(), "1h".to_owned())];
    let shape = Shape { collectors: 1, recalls: 2, env, ..Shape::default() };
    let Some(mut cluster) = Cluster::start(&shape).await else { return };
    let collector = cluster.client(Role::Collector);
    retain(&collector, "tea-0").await;
    for n in 1..4 {
        for node in recalls(&cluster) {
            warm(node).await;
        }
        let drink = format!("tea-{n}");
        retain(&collector, &drink).await;
        for node in recalls(&cluster) {
            shows(node, &drink).await;
        }
    }

    for node in recalls(&cluster) {
        warm(node).await;
    }
    cluster.stop_broker();
    for node in recalls(&cluster) {
        until("nothing is kept without the broker", async || match is_warm(node).await? {
            false => Ok(()),
            true => Err("facts are still in memory".to_owned()),
        })
        .await;
        assert!(recall(node).await.is_ok_and(|block| block.contains("tea-3")));
    }
    cluster.run_broker();
    retain(&collector, "coffee").await;
    for node in recalls(&cluster) {
        shows(node, "coffee").await;
        warm(node).await;
        assert!(recall(node).await.is_ok_and(|block| block.contains("coffee")), "not as it was before");
    }
}

fn recalls(cluster: &Cluster) -> impl Iterator<Item = &Node> {
    cluster.nodes.iter().filter(|node| node.role == Role::Recall)
}
