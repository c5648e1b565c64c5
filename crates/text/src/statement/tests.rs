use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::token_set;

struct Said {
    tokens: BTreeSet<String>,
    stance: Stance,
    intent: &'static str,
    entities: Vec<String>,
    adds_up: bool,
}

fn said(content: &str, entities: &[&str]) -> Said {
    Said {
        tokens: token_set(content),
        stance: Stance::of(content),
        intent: "",
        entities: entities.iter().map(|e| (*e).to_owned()).collect(),
        adds_up: false,
    }
}

impl Said {
    fn view(&self) -> Statement<'_> {
        Statement {
            key: "",
            tokens: &self.tokens,
            stance: self.stance,
            intent: self.intent,
            entities: &self.entities,
            adds_up: self.adds_up,
        }
    }
}

#[rstest]
#[case("I live in Shanghai", "I moved to Beijing, I no longer live in Shanghai", true)]
#[case("我对花生过敏", "我对花生不过敏了", true)]
#[case("I live in Shanghai", "I live in Shanghai near the old port", false)]
#[case("I live in Shanghai", "Do I not live in Shanghai?", false)]
fn a_statement_takes_another_back_when_it_says_so(
    #[case] old: &str,
    #[case] new: &str,
    #[case] expected: bool,
) {
    let (old, new) = (said(old, &[]), said(new, &[]));
    assert_eq!(new.view().takes_back(&old.view()), expected);
    assert!(!old.view().takes_back(&new.view()));
}

#[test]
fn the_same_entities_need_the_same_intent_or_much_of_the_wording() {
    let old = said("我的上司在深圳工作", &["上司"]);
    assert!(old.view().contradicts(&said("我的上司在上海工作", &["上司"]).view()));
    assert!(!old.view().contradicts(&said("上司的生日是十二月", &["上司"]).view()));
    let send = Said { intent: "delivery", ..said("send order 77 to Paris", &["order-77"]) };
    let to = Said { intent: "Delivery", ..said("it goes to Berlin now", &["Order-77"]) };
    let refund = Said { intent: "refund", ..said("send order 77 to Berlin", &["order-77"]) };
    assert!(send.view().contradicts(&to.view()));
    assert!(!send.view().contradicts(&refund.view()));
}

#[test]
fn what_happened_adds_up() {
    let paid = |content| Said { adds_up: true, ..said(content, &["INV-555"]) };
    let first = paid("I paid 20 euro for invoice INV-555 on Monday");
    assert!(!first.view().contradicts(&paid("I paid 30 euro for invoice INV-555 on Friday").view()));
}

proptest! {
    #[test]
    fn contradiction_is_symmetric(
        a in "(not |no longer |不|I |live |in |Paris |住 |上海 |[a-z?]{1,4} ){0,8}",
        b in "(not |no longer |不|I |live |in |Paris |住 |上海 |[a-z?]{1,4} ){0,8}",
        entity in "[xX]?",
    ) {
        let entities: Vec<&str> = [entity.as_str()].into_iter().filter(|e| !e.is_empty()).collect();
        let (a, b) = (said(&a, &entities), said(&b, &["x"]));
        prop_assert_eq!(a.view().contradicts(&b.view()), b.view().contradicts(&a.view()));
    }
}
