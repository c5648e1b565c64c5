//! Dead letters as an operator handles them.

use hindsight_codec::schema;
use hindsight_ports::{Envelope, Queue, testkit::samples};
use hindsight_proto::operations::v1::{
    DiscardDeadLettersRequest, GetDeadLetterRequest, ListDeadLettersRequest, ListDeadLettersResponse,
    ReplayDeadLettersRequest, WorkQueue, get_dead_letter_response::Content,
};
use hindsight_types::{Event, TenantId, Timestamp};
use prost::Message as _;
use tonic::Code;
use uuid::Uuid;

use crate::support::{House, with_key};

const ADMIN: &str = "acme-admin";

fn message(n: u128, tenant: &str, schema: &str, payload: Vec<u8>) -> Envelope {
    Envelope {
        id: Uuid::from_u128(n),
        schema: schema.to_owned(),
        tenant: TenantId::new(tenant).unwrap(),
        occurred_at: Timestamp::UNIX_EPOCH,
        trace_context: Default::default(),
        payload,
    }
}

fn leaky_event(tenant: &str) -> Event {
    let scope = samples::shared(&samples::tenant(tenant));
    let mut event = samples::step_event(&scope, &samples::trace("t"), 0);
    if let hindsight_types::EventBody::Step(step) = &mut event.body {
        step.observation = "密码 password=hunter2hunter2".to_owned();
    }
    event
}

/// Publishes the messages and sets each aside.
async fn kill(house: &House, queue: Queue, messages: Vec<Envelope>) {
    let count = messages.len();
    house.bus.publish(queue, messages).await.unwrap();
    let mut consumer = house.bus.subscribe(queue, 1).await.unwrap();
    for _ in 0..count {
        let delivery = consumer.next().await.unwrap();
        delivery.settle.dead_letter("broken beyond repair: 无法解析").await.unwrap();
    }
}

async fn house() -> House {
    let house = House::new().await;
    let event = hindsight_codec::event_to_proto(&leaky_event("acme")).encode_to_vec();
    let mut ingest = vec![
        message(1, "acme", schema::EVENT_RECORDED, event),
        message(2, "acme", schema::EVENT_RECORDED, vec![255, 255]),
        message(3, "acme", "hindsight.event.v9.Unheard", Vec::new()),
    ];
    ingest.push(message(4, "rival", schema::EVENT_RECORDED, Vec::new()));
    kill(&house, Queue::Ingest, ingest).await;
    kill(&house, Queue::Evaluate, vec![message(5, "acme", schema::EVALUATION_REQUESTED, Vec::new())]).await;
    house
}

async fn list(house: &House, key: &str, queue: WorkQueue, size: i32) -> Vec<ListDeadLettersResponse> {
    let mut pages = Vec::new();
    let mut token = String::new();
    loop {
        let request = ListDeadLettersRequest { queue: queue.into(), page_size: size, page_token: token };
        let page = house.client().list_dead_letters(with_key(key, request)).await.unwrap().into_inner();
        token = page.next_page_token.clone();
        pages.push(page);
        if token.is_empty() {
            return pages;
        }
    }
}

fn ids(pages: &[ListDeadLettersResponse]) -> Vec<u128> {
    let ids = pages.iter().flat_map(|p| &p.letters);
    let mut ids: Vec<_> = ids.map(|l| l.id.parse::<Uuid>().unwrap().as_u128()).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_sees_the_letters_of_the_own_tenant() {
    let house = house().await;
    for size in [1, 2, 3, 4, 100] {
        let pages = list(&house, ADMIN, WorkQueue::Unspecified, size).await;
        assert_eq!(ids(&pages), [1, 2, 3, 5], "pages of {size}");
        assert!(pages.iter().all(|p| p.letters.len() <= size as usize && !p.truncated));
    }
    assert_eq!(ids(&list(&house, ADMIN, WorkQueue::Evaluate, 0).await), [5]);
    assert_eq!(ids(&list(&house, "rival-admin", WorkQueue::Unspecified, 0).await), [4]);
    let page = &list(&house, ADMIN, WorkQueue::Ingest, 0).await[0];
    let letter = &page.letters[0];
    assert_eq!((letter.reason.as_str(), letter.attempts), ("broken beyond repair: 无法解析", 1));
    assert!(letter.history.is_empty() && letter.queue() == WorkQueue::Ingest);

    let request = ListDeadLettersRequest { page_token: "bm9wZQ".to_owned(), ..Default::default() };
    let refused = house.client().list_dead_letters(with_key(ADMIN, request)).await.unwrap_err();
    assert!(refused.code() == Code::InvalidArgument && refused.message().contains("page_token"));
    let refused = house.client().list_dead_letters(with_key("acme-reader", Default::default())).await;
    assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
    house.close().await;
}

async fn content(house: &House, key: &str, n: u128) -> Result<(Vec<String>, Content), tonic::Status> {
    let request = GetDeadLetterRequest { id: Uuid::from_u128(n).to_string(), ..Default::default() };
    let shown = house.client().get_dead_letter(with_key(key, request)).await?.into_inner();
    Ok((shown.letter.unwrap().history, shown.content.unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_letter_carries_is_shown_without_secrets() {
    let house = house().await;
    let (history, shown) = content(&house, ADMIN, 1).await.unwrap();
    assert_eq!(history, ["broken beyond repair: 无法解析"]);
    assert!(matches!(shown, Content::Event(_)), "{shown:?}");
    assert!(!format!("{shown:?}").contains("hunter2") && format!("{shown:?}").contains("password"));
    for (n, why) in [(2, "decoded"), (3, "v9.Unheard")] {
        let (_, shown) = content(&house, ADMIN, n).await.unwrap();
        assert!(matches!(&shown, Content::Unreadable(reason) if reason.contains(why)), "{shown:?}");
    }
    assert!(matches!(content(&house, ADMIN, 5).await.unwrap().1, Content::Evaluation(_)));
    assert_eq!(content(&house, "rival-admin", 1).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(content(&house, "acme-reader", 1).await.unwrap_err().code(), Code::PermissionDenied);
    house.close().await;
}

async fn replay(house: &House, key: &str, ns: &[u128]) -> u32 {
    let ids = ns.iter().map(|n| Uuid::from_u128(*n).to_string()).collect();
    let request = ReplayDeadLettersRequest { ids, ..Default::default() };
    house.client().replay_dead_letters(with_key(key, request)).await.unwrap().into_inner().replayed
}

async fn discard(house: &House, key: &str, ns: &[u128]) -> Result<u32, tonic::Status> {
    let ids = ns.iter().map(|n| Uuid::from_u128(*n).to_string()).collect();
    let request = DiscardDeadLettersRequest { ids, ..Default::default() };
    Ok(house.client().discard_dead_letters(with_key(key, request)).await?.into_inner().discarded)
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_are_replayed_and_discarded_within_the_tenant() {
    let house = house().await;
    assert_eq!(replay(&house, "rival-admin", &[1, 2, 3, 5]).await, 0, "they are not theirs");
    assert_eq!(discard(&house, "rival-admin", &[1]).await.unwrap(), 0);
    assert_eq!(discard(&house, ADMIN, &[]).await.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(discard(&house, ADMIN, &[2, 2, 99]).await.unwrap(), 1);

    assert_eq!(replay(&house, ADMIN, &[1, 99]).await, 1);
    assert_eq!(replay(&house, ADMIN, &[1]).await, 0, "it is on its queue again");
    let mut consumer = house.bus.subscribe(Queue::Ingest, 10).await.unwrap();
    let delivery = consumer.next().await.unwrap();
    assert_eq!((delivery.envelope.id.as_u128(), delivery.attempt), (1, 1));
    delivery.settle.ack().await.unwrap();

    assert_eq!(replay(&house, ADMIN, &[]).await, 2, "all that are left of the tenant, in every queue");
    assert_eq!(consumer.next().await.unwrap().envelope.id.as_u128(), 3);
    assert_eq!(ids(&list(&house, ADMIN, WorkQueue::Unspecified, 0).await), []);
    assert_eq!(ids(&list(&house, "rival-admin", WorkQueue::Unspecified, 0).await), [4]);
    house.close().await;
}
