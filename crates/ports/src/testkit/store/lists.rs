use std::sync::Arc;

use hindsight_types::{Memory, MemoryId, MemoryKind, Viewer};

use crate::{
    MemoryStore, PageRequest, StoreError,
    testkit::samples::{encoded, fact, shared, step_memory, tenant, trace, user},
};

/// All pages of size `size`, and how many there were.
async fn walk(
    store: &dyn MemoryStore,
    viewer: &Viewer,
    kind: MemoryKind,
    size: usize,
) -> (Vec<MemoryId>, usize) {
    let (mut ids, mut pages, mut token) = (Vec::new(), 0, String::new());
    loop {
        let page = store.list(viewer, kind, &PageRequest { size, token }).await.unwrap();
        assert!(page.items.len() <= size, "a page of {} was asked, {} came", size, page.items.len());
        ids.extend(page.items.iter().map(Memory::id));
        pages += 1;
        token = page.next_token;
        if token.is_empty() {
            return (ids, pages);
        }
        assert!(pages < 1_000, "the list does not end");
    }
}

async fn facts(store: &dyn MemoryStore, viewer: &Viewer, times: impl Iterator<Item = i64>) -> Vec<Memory> {
    let name = viewer.user.as_ref().unwrap().as_str();
    let facts: Vec<Memory> = times
        .enumerate()
        .map(|(i, at)| Memory::Fact(fact(&viewer.tenant, name, &format!("{i} at {at}"), at)))
        .collect();
    let batch: Vec<_> = facts.iter().cloned().map(|m| encoded(m, 0, &[1])).collect();
    store.upsert(&batch).await.unwrap();
    facts
}

fn anna(name: &str) -> Viewer {
    Viewer::of_tenant(tenant(name)).with_user(Some(user("anna")))
}

pub async fn lists_are_newest_first(store: Arc<dyn MemoryStore>) {
    let viewer = anna("lists-order");
    assert_eq!(walk(&*store, &viewer, MemoryKind::Fact, 3).await, (vec![], 1));
    let facts = facts(&*store, &viewer, [3, 1, 4, 2, 5, -7].into_iter()).await;
    let expected: Vec<MemoryId> = [4, 2, 0, 3, 1, 5].map(|i| facts[i].id()).to_vec();
    for size in [1, 2, 4, 6, 100] {
        assert_eq!(walk(&*store, &viewer, MemoryKind::Fact, size).await.0, expected, "pages of {size}");
    }
    let page = store.list(&viewer, MemoryKind::Fact, &PageRequest::default()).await.unwrap();
    assert_eq!(page.items.len(), 6, "a size of zero is the default size");
}

pub async fn pages_cover_equal_times(store: Arc<dyn MemoryStore>) {
    let viewer = anna("lists-ties");
    // Runs of equal times of every length from 1 to 8.
    let times: Vec<i64> = (1..=8).flat_map(|n| std::iter::repeat_n(n, n as usize)).collect();
    let facts = facts(&*store, &viewer, times.iter().copied()).await;
    let mut all: Vec<MemoryId> = facts.iter().map(Memory::id).collect();
    all.sort_unstable();
    let whole = walk(&*store, &viewer, MemoryKind::Fact, 100).await.0;
    for size in [1, 2, 3, 5, 7, 8, 36] {
        let (ids, pages) = walk(&*store, &viewer, MemoryKind::Fact, size).await;
        assert_eq!(ids, whole, "pages of {size} list the same in the same order");
        assert!(pages <= 36 / size + 1, "{pages} pages of {size}");
    }
    let mut listed = whole;
    listed.sort_unstable();
    assert_eq!(listed, all, "each once");
}

/// What was there when the walk began is listed once, whatever is written meanwhile.
pub async fn pages_survive_writes(store: Arc<dyn MemoryStore>) {
    let viewer = anna("lists-writes");
    let there = facts(&*store, &viewer, [5, 5, 5, 4, 4, 3].into_iter()).await;
    let (mut listed, mut token) = (Vec::new(), String::new());
    for round in 0.. {
        let page = store.list(&viewer, MemoryKind::Fact, &PageRequest { size: 2, token }).await.unwrap();
        listed.extend(page.items.iter().map(Memory::id));
        token = page.next_token;
        if token.is_empty() {
            break;
        }
        facts(&*store, &viewer, [10 + round].into_iter()).await;
    }
    assert_eq!(listed.len(), 6);
    assert!(there.iter().all(|m| listed.contains(&m.id())));
}

pub async fn tokens_fit_one_list_only(store: Arc<dyn MemoryStore>) {
    let viewer = anna("lists-tokens");
    facts(&*store, &viewer, 0..3).await;
    let steps: Vec<_> = (0..3)
        .map(|i| encoded(step_memory(&shared(&viewer.tenant), &trace("t"), i, "ls"), 0, &[1]))
        .collect();
    store.upsert(&steps).await.unwrap();
    let first = PageRequest { size: 1, token: String::new() };
    let token = store.list(&viewer, MemoryKind::Fact, &first).await.unwrap().next_token;
    let refused = async |viewer: &Viewer, kind, token: String| {
        let page = store.list(viewer, kind, &PageRequest { size: 1, token }).await;
        assert!(matches!(page, Err(StoreError::Rejected(_))), "{page:?}");
    };
    refused(&viewer, MemoryKind::Step, token.clone()).await;
    refused(&viewer.clone().with_user(Some(user("ben"))), MemoryKind::Fact, token.clone()).await;
    refused(&anna("lists-tokens-other"), MemoryKind::Fact, token.clone()).await;
    for bad in ["x".to_owned(), "../../etc/passwd".to_owned(), "茶".repeat(99), format!("{token}AA")] {
        refused(&viewer, MemoryKind::Fact, bad).await;
    }
}
