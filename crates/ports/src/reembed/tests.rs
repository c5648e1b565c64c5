use super::*;

fn id(model: &str) -> EmbedderId {
    EmbedderId { model: model.to_owned(), dimension: 8 }
}

fn build(total: u64, done: u64, skipped: u64) -> Rebuild {
    let at = |second| Timestamp::from_second(second).unwrap();
    Rebuild {
        embedder: id("new"),
        started_at: at(0),
        updated_at: at(110),
        resumed_at: at(100),
        resumed_done: 40,
        total,
        done,
        skipped,
    }
}

fn vectors(configured: &str, building: Option<Rebuild>) -> StoredVectors {
    StoredVectors { configured: id(configured), serving: id("old"), building }
}

#[test]
fn progress_is_whole_only_at_the_end() {
    assert_eq!(build(200, 199, 0).percent(), 99);
    assert_eq!(build(200, 190, 10).percent(), 100);
    assert_eq!(build(0, 0, 0).percent(), 0, "nothing is counted yet");
    assert_eq!(build(10, 12, 0).percent(), 100, "memories that came since were counted");
}

#[test]
fn the_time_left_follows_the_present_speed() {
    // 20 in 10 seconds, 130 left.
    assert_eq!(build(200, 60, 10).seconds_left(), Some(65));
    assert_eq!(build(200, 40, 0).seconds_left(), None);
}

#[test]
fn what_a_search_misses_is_said() {
    assert_eq!(vectors("old", Some(build(10, 1, 0))).trouble(), None, "all of the old ones are there");
    let building = vectors("new", Some(build(100, 43, 0)));
    assert_eq!(building.trouble().as_deref(), Some("embedder changing: 43 % re-encoded"));
    assert!(building.are_used());
    let stranger = vectors("other", Some(build(100, 43, 0)));
    assert!(!stranger.are_used());
    assert!(stranger.trouble().unwrap().contains("configured with other (8 dimensions)"));
}
