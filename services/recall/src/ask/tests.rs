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
        r.environment = Some(common::Environment { tags: vec!["t".repeat(200)], ..Default::default() });
    });
    let fields: Vec<String> = wrong.unwrap_err().fields.into_iter().map(|f| f.field).collect();
    assert_eq!(fields, ["query", "user", "environment.tags[0]", "kinds[0].kind", "limit", "token_budget"]);
}

#[test]
fn facts_without_a_user_are_refused() {
    let wrong = ask(|r| r.kinds = vec![common::MemoryKind::Fact as i32]).unwrap_err();
    assert_eq!(wrong.fields[0].field, "user");
}
