use std::sync::Arc;

use hindsight_types::{OpenTask, Scope, TenantId, Timestamp, TraceId, Visibility};

use crate::{
    MemoryStore, PageRequest,
    testkit::samples::{tenant, trace, user},
};

fn open(tenant: &TenantId, name: &str, touched: i64) -> OpenTask {
    let scope = Scope::new(tenant.clone(), Visibility::User(user("anna")));
    OpenTask { trace_id: trace(name), scope, touched_at: Timestamp::from_second(touched).unwrap() }
}

/// The idle tasks of one tenant, whatever else is in the store.
async fn idle(store: &dyn MemoryStore, tenant: &TenantId, before: i64) -> Vec<(TraceId, i64)> {
    let before = Timestamp::from_second(before).unwrap();
    let (mut all, mut token) = (Vec::new(), String::new());
    loop {
        let page = store.idle_tasks(before, &PageRequest { size: 2, token }).await.unwrap();
        assert!(page.items.len() <= 2);
        let own = page.items.into_iter().filter(|t| t.scope.tenant == *tenant);
        all.extend(own.map(|t| (t.trace_id, t.touched_at.as_second())));
        token = page.next_token;
        if token.is_empty() {
            all.sort();
            return all;
        }
    }
}

pub async fn open_tasks_are_found_when_idle(store: Arc<dyn MemoryStore>) {
    let (a, b) = (tenant("open-a"), tenant("open-b"));
    let tasks: Vec<_> = (1..=5).map(|n| open(&a, &format!("t{n}"), 10 * n)).collect();
    store.mark_open(&tasks).await.unwrap();
    store.mark_open(&[open(&b, "t1", 10)]).await.unwrap();
    assert_eq!(idle(&*store, &a, 30).await, [(trace("t1"), 10), (trace("t2"), 20)]);
    assert_eq!(idle(&*store, &b, 30).await, [(trace("t1"), 10)], "another tenant's task of the same name");

    store.mark_open(&[open(&a, "t1", 40)]).await.unwrap();
    assert_eq!(idle(&*store, &a, 30).await, [(trace("t2"), 20)], "touched again");

    let gone = [(a.clone(), trace("t2")), (a.clone(), trace("never there"))];
    store.clear_open(&gone).await.unwrap();
    assert_eq!(idle(&*store, &a, 30).await, []);
    assert_eq!(idle(&*store, &b, 30).await.len(), 1);
    store.mark_open(&[]).await.unwrap();
    store.clear_open(&[]).await.unwrap();
}
