//! Receipts that are older than they are kept.

use hindsight_ports::{
    MemoryStore as _, StoreError,
    testkit::{
        faulty_store::{Calls, Fault, StoreCall, When},
        samples,
    },
};
use hindsight_runtime::Role as _;
use hindsight_types::{Receipt, Timestamp, Viewer};

use crate::support::{House, run, until};

/// One of `tenant`, from `second` on the clock of the house.
async fn receipt(house: &House, tenant: &str, second: i64) -> Receipt {
    let at = Timestamp::from_second(second).unwrap();
    let receipt = Receipt { at, ..samples::receipt(&samples::shared(&samples::tenant(tenant))) };
    house.store.put_receipt(&receipt).await.unwrap();
    receipt
}

async fn is_there(house: &House, receipt: &Receipt) -> bool {
    let viewer = Viewer::of_scope(&receipt.scope);
    house.store.receipt(&viewer, receipt.id).await.unwrap().is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn old_receipts_of_every_tenant_go_and_the_others_stay() {
    let house = House::new().await;
    let old = [receipt(&house, "acme", 10).await, receipt(&house, "rival", 99).await];
    let young = receipt(&house, "acme", 100).await;
    house.clock.set(1_100);
    let compactor = run(house.compactor());
    until("the old ones are gone", || async {
        let gone = !is_there(&house, &old[0]).await && !is_there(&house, &old[1]).await;
        gone.then_some(())
    })
    .await;
    assert!(is_there(&house, &young).await);
    house.clock.set(1_101);
    until("time passes", || async { (!is_there(&house, &young).await).then_some(()) }).await;
    compactor.stop().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_deleted_now_is_deleted_later_and_the_trouble_is_told() {
    let house = House::new().await;
    let old = receipt(&house, "acme", 10).await;
    let away = StoreError::Unavailable("the store is away".to_owned());
    house.store.inject(Calls::Only(StoreCall::ExpireReceipts), When::Always, Fault::Refuse(away));
    house.clock.set(5_000);
    let compactor = house.compactor();
    let running = run(compactor.clone());
    until("the trouble is told", || async {
        compactor.degraded().await.filter(|trouble| trouble.contains("the store is away"))
    })
    .await;
    assert!(is_there(&house, &old).await);
    house.store.heal();
    until("it is gone", || async { (!is_there(&house, &old).await).then_some(()) }).await;
    running.stop().await;
    house.close().await;
}
