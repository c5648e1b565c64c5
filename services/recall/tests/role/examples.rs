//! The runs that ship with the project, asked about in words of our own: what helps comes first, and what
//! has nothing to do with them brings nothing.

use std::{fs::File, io::BufReader, path::Path};

use hindsight_import::{Importer, Options};
use hindsight_judge::{distil::distil, evaluate};
use hindsight_proto::{
    common::v1::{MemoryKind, memory::Kind},
    recall::v1::{RecallRequest, RecallResponse},
};
use hindsight_types::{Experience, Memory, MemoryId, Trajectory};

use crate::common::{World, ask, tenant, time};

fn judged(mut run: Trajectory) -> Vec<Memory> {
    hindsight_ingest::assemble::complete(&mut run);
    let evaluation = evaluate(&run, time(0));
    let distilled = distil(&run, &evaluation, time(0));
    let mut memories: Vec<Memory> = distilled.lessons.into_iter().map(Memory::Lesson).collect();
    memories.extend(distilled.failure_patterns.into_iter().map(Memory::FailurePattern));
    let id = MemoryId::experience(&run.scope.tenant, &run.trace_id);
    let entities = hindsight_ingest::entities::extract(&run.task_description);
    let run = Experience { id, trajectory: run, evaluation, entities, supported: 0, refuted: 0 };
    memories.push(Memory::Experience(Box::new(run)));
    memories
}

async fn world() -> World {
    let world = World::new().await;
    let runs = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("../../examples/runs");
    for file in ["billing", "containers", "deployments", "disk", "network"] {
        let file = File::open(runs.join(format!("{file}.jsonl"))).unwrap();
        let options = Options::new(tenant("acme"), time(-1));
        for run in Importer::new(BufReader::new(file), &options).unwrap() {
            world.remember(judged(run.unwrap())).await;
        }
    }
    world
}

/// The task of the first experience.
fn first_task(answer: &RecallResponse) -> &str {
    let tasks = answer.items.iter().filter_map(|item| match item.memory.as_ref()?.kind.as_ref()? {
        Kind::Experience(e) => Some(e.trajectory.as_ref()?.task_description.as_str()),
        _ => None,
    });
    tasks.into_iter().next().unwrap_or_default()
}

#[tokio::test]
async fn what_helps_comes_first() {
    let world = world().await;
    for (query, expected) in [
        ("the test environment is down", "test environment is down"),
        ("checkout-api container is restarting over and over", "checkout-api"),
        ("customer charged twice for an invoice", "charged twice"),
        ("mysql disk is almost full on a database host", "db-03"),
        ("certificate warning on our shop", "certificate warning"),
        ("rollout of catalog to staging is stuck", "catalog"),
        ("search-indexer CrashLoopBackOff", "search-indexer"),
        ("根分区快满了，磁盘告警", "磁盘告警"),
        ("用户说被重复扣费了", "重复扣费"),
        ("支付网关容器一直重启", "支付网关"),
        ("域名解析失败", "域名解析失败"),
    ] {
        let request = RecallRequest { kinds: vec![MemoryKind::Experience as i32], ..ask(query) };
        let answer = world.recall(request).await.unwrap();
        assert!(first_task(&answer).contains(expected), "{query}:\n{}{}", answer.block, answer.empty_reason);
    }
}

#[tokio::test]
async fn what_has_nothing_to_do_with_them_brings_nothing() {
    let world = world().await;
    for query in [
        "how long does sourdough bread bake at home",
        "write a birthday poem for my grandmother",
        "what is the capital of Australia",
        "translate this paragraph into French",
        "recommend a good pasta recipe for tonight",
        "plan a three day trip to the mountains",
        "红烧肉怎么做才好吃",
        "帮我写一首关于秋天的诗",
        "明天北京的天气怎么样",
    ] {
        let answer = world.recall(ask(query)).await.unwrap();
        assert!(answer.items.is_empty(), "{query}:\n{}", answer.block);
        assert!(!answer.degraded && !answer.empty_reason.is_empty());
    }
}
