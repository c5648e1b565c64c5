use std::collections::BTreeMap;

use hindsight_types::{Attachment, MemoryId, TenantId, UserId};
use proptest::prelude::*;

use super::*;
use crate::testing::seconds;

fn turn(at: i64, key: &str, content: &str) -> Fact {
    let tenant = TenantId::new("acme").unwrap();
    let ann = UserId::new("ann").unwrap();
    Fact { speaker: "Ann".to_owned(), ..Fact::new(&tenant, ann, key, content, seconds(at)) }
}

fn around(turns: &[Fact]) -> Vec<&str> {
    turns.iter().map(|t| t.surroundings.as_str()).collect()
}

#[test]
fn a_turn_stands_between_two_before_and_one_after() {
    let mut turns =
        vec![turn(3, "d", "four"), turn(0, "a", "one"), turn(2, "c", "three"), turn(1, "b", "two")];
    turns[3].speaker.clear();
    let (uri, caption) = ("https://example.com/1".to_owned(), "a cup".to_owned());
    turns[2].attachments = vec![Attachment { uri, media_type: String::new(), caption }];
    surround(&mut turns);
    assert_eq!(
        around(&turns),
        ["two", "Ann: one\nAnn: three [a cup]", "Ann: one\ntwo\nAnn: four", "two\nAnn: three [a cup]"]
    );
    turns[1].context = "at breakfast".to_owned();
    surround(&mut turns);
    assert_eq!(turns[1].surroundings, "");
    assert!(turns[0].surroundings.contains("two"), "it still stands beside others");
}

#[test]
fn what_was_said_at_one_time_keeps_the_order_of_its_arrival() {
    let mut turns: Vec<Fact> = ["z", "a", "m"].iter().map(|k| turn(0, k, k)).collect();
    for (turn, nanos) in turns.iter_mut().zip(0..) {
        turn.retained_at = Timestamp::new(9, nanos).unwrap();
    }
    turns.reverse();
    surround(&mut turns);
    assert_eq!(turns.iter().map(|t| t.key.as_str()).collect::<Vec<_>>(), ["z", "a", "m"]);
}

#[test]
fn a_turn_on_one_line_of_bounded_length() {
    let mut turns = vec![turn(0, "a", "a\n\u{202e}b"), turn(1, "b", &"x".repeat(5_000))];
    surround(&mut turns);
    assert_eq!(turns[1].surroundings, "Ann: a b");
    assert_eq!(turns[0].surroundings.chars().count(), TURN_CHARS);
}

/// A store, reduced to what counts: the turns by id, and what lies around a span of time.
#[derive(Default)]
struct Session(BTreeMap<MemoryId, Fact>);

impl Session {
    fn window(&self, from: Timestamp, until: Timestamp) -> Vec<Fact> {
        let mut turns: Vec<Fact> = self.0.values().cloned().collect();
        turns.sort_by(|a, b| a.order().cmp(&b.order()));
        let first = turns.partition_point(|t| t.occurred_at < from).saturating_sub(REACH);
        let end = (turns.partition_point(|t| t.occurred_at <= until) + REACH).min(turns.len());
        turns[first..end].to_vec()
    }

    fn arrive(&mut self, batch: &[Fact]) {
        let former: Vec<Fact> = batch.iter().filter_map(|f| self.0.get(&f.id).cloned()).collect();
        for fact in batch {
            let newer = self.0.get(&fact.id).is_none_or(|f| f.retained_at <= fact.retained_at);
            if newer {
                self.0.insert(fact.id, fact.clone());
            }
        }
        let times = || batch.iter().chain(&former).map(|f| f.occurred_at);
        let (Some(from), Some(until)) = (times().min(), times().max()) else { return };
        for fact in changed(self.window(from, until), from, until) {
            self.0.insert(fact.id, fact);
        }
    }
}

proptest! {
    /// Versions, ties, batches, redelivery and any order: the end is what the whole session gives at once.
    #[test]
    fn the_end_state_knows_no_order(
        said in prop::collection::vec((0_i64..6, 0_usize..8, any::<bool>()), 1..14),
        order in prop::collection::vec((any::<prop::sample::Index>(), 1_usize..4), 0..30),
    ) {
        let facts: Vec<Fact> = said.iter().zip(0..).map(|((at, key, given), arrival)| {
            let mut fact = turn(*at, &format!("k{key}"), &format!("said {arrival}"));
            fact.retained_at = seconds(1_000 + arrival);
            fact.context = if *given { "given".to_owned() } else { String::new() };
            fact
        }).collect();
        let mut session = Session::default();
        for (at, size) in order {
            let at = at.index(facts.len());
            session.arrive(&facts[at..(at + size).min(facts.len())]);
        }
        facts.iter().rev().for_each(|f| session.arrive(std::slice::from_ref(f)));

        let mut newest: BTreeMap<MemoryId, Fact> = BTreeMap::new();
        facts.iter().for_each(|f| { newest.insert(f.id, f.clone()); });
        let mut expected: Vec<Fact> = newest.into_values().collect();
        surround(&mut expected);
        let mut ended: Vec<Fact> = session.0.into_values().collect();
        ended.sort_by(|a, b| a.order().cmp(&b.order()));
        prop_assert_eq!(ended, expected);
    }
}
