use proptest::prelude::*;

use super::*;

fn id(model: &str) -> EmbedderId {
    EmbedderId { model: model.to_owned(), dimension: 8 }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn names(state: &State) -> (Option<&str>, Option<&str>) {
    let name = |model| state.usable(&id(model)).map(|named| named.name.as_str());
    (name("old"), name("new"))
}

#[test]
fn the_first_embedder_serves() {
    let state = State::new(&id("old"));
    assert_eq!(names(&state), (Some("dense"), None));
    assert_eq!(state.turn(&id("old"), 1, at(0)), None, "nothing is to be decided");
}

#[test]
fn another_embedder_is_built_beside_it_and_takes_its_place() {
    let state = State::new(&id("old"));
    let mut state = state.turn(&id("new"), 1, at(5)).unwrap();
    assert_eq!(names(&state), (Some("dense"), None), "its name is not there yet");
    assert_eq!(state.turn(&id("new"), 2, at(6)), None, "it goes on");
    let building = state.building.as_mut().unwrap();
    building.ready = true;
    let built = building.clone();
    assert_eq!(names(&state), (Some("dense"), Some("dense_2")));
    let state = state.switched(&built);
    assert_eq!(names(&state), (None, Some("dense_2")));
    assert_eq!((state.building, state.retired), (None, vec!["dense".to_owned()]));
}

#[test]
fn going_back_gives_up_what_is_built() {
    let building = State::new(&id("old")).turn(&id("new"), 1, at(0)).unwrap();
    let back = building.turn(&id("old"), 2, at(1)).unwrap();
    assert_eq!((back.building.as_ref(), &back.retired), (None, &vec!["dense_2".to_owned()]));
    let again = back.turn(&id("new"), 3, at(2)).unwrap();
    assert_eq!(again.building.unwrap().named.name, "dense_4", "a name is never used twice");
}

#[test]
fn a_third_embedder_takes_the_place_of_the_second() {
    let building = State::new(&id("old")).turn(&id("new"), 1, at(0)).unwrap();
    let third = building.turn(&id("third"), 2, at(1)).unwrap();
    assert_eq!(third.building.unwrap().named.embedder, id("third"));
    assert_eq!(third.retired, ["dense_2"]);
}

#[test]
fn what_another_process_changed_since_is_not_undone() {
    let building = State::new(&id("old")).turn(&id("new"), 1, at(0)).unwrap();
    assert_eq!(building.turn(&id("old"), 1, at(1)), None, "this process was there before");
    assert!(building.turn(&id("old"), 2, at(1)).is_some(), "this one was configured after");
}

#[test]
fn a_record_of_the_first_schema_is_read() {
    let payload = HashMap::from([
        ("collection".to_owned(), "trajectories".into()),
        ("model".to_owned(), "old".into()),
        ("dimension".to_owned(), 8.into()),
        ("schema".to_owned(), 1.into()),
    ]);
    let state = payload::decode(&payload).unwrap();
    assert_eq!(state, State { revision: 0, ..State::new(&id("old")) });
}

#[test]
fn a_record_of_a_later_schema_is_refused() {
    let mut payload = payload::encode(&State::new(&id("old"))).unwrap();
    payload.insert("schema".to_owned(), 3.into());
    let refused = payload::decode(&payload);
    assert!(matches!(&refused, Err(StoreError::Rejected(why)) if why.contains("newer")), "{refused:?}");
}

const MOST: u64 = 1 << 40;

fn state() -> impl Strategy<Value = State> {
    let named = || {
        ("[a-z_0-9]{1,9}", "\\PC{1,20}", 1..5_000_usize)
            .prop_map(|(name, model, dimension)| Named { name, embedder: EmbedderId { model, dimension } })
    };
    let counts = (0..MOST, 0..MOST, 0..MOST, 0..MOST);
    let times = (0..4_000_000_000_i64, 0..4_000_000_000_i64, 0..4_000_000_000_i64);
    let building =
        (named(), any::<bool>(), times, counts).prop_map(|(named, ready, times, counts)| Building {
            named,
            ready,
            started_at: at(times.0),
            updated_at: at(times.1),
            resumed_at: at(times.2),
            resumed_done: counts.0,
            total: counts.1,
            done: counts.2,
            skipped: counts.3,
        });
    let retired = proptest::collection::vec("[a-z_0-9]{1,9}", 0..3);
    (named(), proptest::option::of(building), retired, 0..i64::MAX).prop_map(
        |(serving, building, retired, revision)| State {
            revision,
            generation: 3,
            serving,
            building,
            retired,
        },
    )
}

proptest! {
    #[test]
    fn a_state_comes_back_as_it_was(state in state()) {
        prop_assert_eq!(payload::decode(&payload::encode(&state).unwrap()).unwrap(), state);
    }
}
