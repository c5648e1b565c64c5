use super::*;

fn ask(change: impl Fn(&mut RecallRequest)) -> Result<Ask, Invalid> {
    let mut request = RecallRequest { query: "磁盘满了".to_owned(), ..RecallRequest::default() };
    change(&mut request);
    Ask::new(TenantId::new("acme").unwrap(), request)
}

#[test]
fn defaults_leave_facts_out_until_a_user_is_named() {
    let plain = ask(|_| ()).unwrap();
    assert_eq!((plain.limit, plain.token_budget, plain.strict), (3, 1_500, false));
    assert!(!plain.kinds.contains(&MemoryKind::Fact));
    assert_eq!(plain.scope().visibility, Visibility::Tenant);
    let named = ask(|r| r.user = "ann".to_owned()).unwrap();
    assert!(named.kinds.contains(&MemoryKind::Fact));
    assert_eq!(named.scope().visibility, Visibility::User(UserId::new("ann").unwrap()));
}

#[test]
fn everything_wrong_is_named_at_once() {
    let wrong = ask(|r| {
        r.query = "  ".to_owned();
        r.user = "a\nb".to_owned();
        r.kinds = vec![99];
        (r.limit, r.token_budget) = (11, 9_000);
        r.recent = vec!["x".to_owned(); 21];
        r.asked_at = Some(prost_types::Timestamp { seconds: 0, nanos: -1 });
        (r.time_zone, r.language, r.format) = ("Mars/Base".to_owned(), "fr".to_owned(), 9);
        r.environment = Some(common::Environment { tags: vec!["t".repeat(200)], ..Default::default() });
    });
    let fields: Vec<String> = wrong.unwrap_err().fields.into_iter().map(|f| f.field).collect();
    assert_eq!(
        fields,
        [
            "query",
            "user",
            "environment.tags[0]",
            "kinds[0].kind",
            "limit",
            "token_budget",
            "recent",
            "asked_at",
            "time_zone",
            "format",
            "language"
        ]
    );
}

#[test]
fn facts_without_a_user_are_refused() {
    let wrong = ask(|r| r.kinds = vec![common::MemoryKind::Fact as i32]).unwrap_err();
    assert_eq!(wrong.fields[0].field, "user");
}

#[test]
fn times_are_read_where_the_caller_is() {
    let at = |zone: &str| {
        let seconds = 1_790_000_000; // 2026-09-21 13:33 UTC, 21:33 in Shanghai
        let ask = ask(|r| {
            r.query = "what did I say yesterday".to_owned();
            r.time_zone = zone.to_owned();
            r.asked_at = Some(prost_types::Timestamp { seconds, nanos: 0 });
        });
        ask.unwrap().query(Timestamp::UNIX_EPOCH).period().unwrap()
    };
    let hours = |zone: &str| (at("").from.as_second() - at(zone).from.as_second()) / 3_600;
    assert_eq!((hours("UTC"), hours("Asia/Shanghai"), hours("America/New_York")), (0, 8, -4));
}

#[test]
fn what_was_said_before_is_bounded() {
    let long = ask(|r| r.recent = vec!["好".repeat(20_000); 2]).unwrap_err();
    assert_eq!(long.fields[0].field, "recent");
    assert!(ask(|r| r.recent = vec!["好".repeat(1_000); 20]).is_ok());
}
