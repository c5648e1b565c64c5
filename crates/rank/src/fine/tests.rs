use hindsight_types::*;
use proptest::prelude::*;

use super::*;
use crate::{
    Ranking,
    testkit::{DENSE, Proposed, day, environment, experience, fact, hit, near, pool, query, request},
};

fn told(key: &str, content: &str) -> Memory {
    Memory::Fact(fact(key, content))
}

/// Every candidate that was read, by its key, with its factors.
fn scored(question: &str, proposed: &[Proposed], settings: &Settings) -> Vec<(String, ScoreFactors)> {
    let (pool, fetched) = pool(&query(question), proposed, settings);
    let here = environment(&[]);
    let key = |m: &Memory| match m {
        Memory::Fact(f) => f.key.clone(),
        other => other.id().to_string(),
    };
    let mut all: Vec<_> = candidates(&pool, fetched, &request(question, &here))
        .into_iter()
        .map(|c| (key(&c.memory), c.factors))
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn similarities(question: &str, proposed: &[Proposed]) -> Vec<f32> {
    scored(question, proposed, &Settings::default()).into_iter().map(|(_, f)| f.similarity).collect()
}

fn floor() -> f32 {
    Settings::default().floor
}

#[test]
fn holding_the_whole_question_is_near_and_sharing_one_common_word_is_not() {
    let question = "api container restart loop after deploy";
    let s = similarities(
        question,
        &[
            near(told("1", "after the deploy the api container is in a restart loop"), question),
            near(told("2", "the api key of the billing account"), question),
            near(told("3", "the api documentation moved"), question),
        ],
    );
    assert!(s[0] > 0.85, "{s:?}");
    assert!(s[1] < s[0] / 2.0 && s[2] < s[0] / 2.0, "{s:?}");
    let alone = similarities(question, &[near(told("2", "the api key of the billing account"), question)]);
    assert!(alone[0] < floor(), "{alone:?}");
}

#[test]
fn the_best_of_the_irrelevant_stays_irrelevant() {
    let question = "how long does sourdough bread bake at home";
    let s = similarities(
        question,
        &[hit(told("1", "/home is full on db-01"), 0.15), hit(told("2", "disk alarm"), 0.12)],
    );
    assert!(s.into_iter().all(|s| s < floor()));
}

#[test]
fn words_or_meaning_alone_are_enough_to_be_near() {
    let question = "数据库磁盘满了怎么办";
    let by_words = similarities(question, &[hit(told("1", "数据库的磁盘写满，清理日志后恢复"), 0.0)]);
    assert!(by_words[0] > floor(), "{by_words:?}");
    let by_meaning = similarities(question, &[hit(told("1", "storage ran out on the server"), DENSE.full)]);
    assert!(by_meaning[0] > floor(), "{by_meaning:?}");
    let by_nothing = similarities(question, &[hit(told("1", "用户重复扣款"), 0.0)]);
    assert_eq!(by_nothing[0], 0.0);
}

#[test]
fn a_long_question_is_not_held_against_a_short_answer() {
    let filler: Vec<String> = (0..80).map(|i| format!("filler{i}")).collect();
    let question = format!("{} the staging certificate of the payment gateway expired", filler.join(" "));
    let answer = told("1", "certificate of the payment gateway expired on staging: renew it");
    assert!(similarities(&question, &[near(answer, &question)])[0] > 0.2);
}

#[test]
fn words_that_only_ask_need_no_answer() {
    let answer = || vec![hit(told("1", "表姐的学历是硕士"), 0.3)];
    let (plain, asked) =
        (similarities("表姐学历", &answer()), similarities("表姐到底是啥学历来着", &answer()));
    assert!((plain[0] - asked[0]).abs() < 1e-5);
    // A question of nothing else still has something to look for.
    assert!(similarities("how many", &[hit(told("1", "who knows how many"), 0.3)])[0] > floor());
}

#[test]
fn who_is_named_in_the_question_spoke_or_is_spoken_of() {
    let question = "What did Caroline paint?";
    let said = |key: &str, speaker: &str| {
        let mut f = fact(key, "I did paint a lake");
        f.speaker = speaker.to_owned();
        f.context = "Caroline: hello, Melanie".to_owned();
        near(Memory::Fact(f), question)
    };
    let all = scored(question, &[said("1", "Caroline"), said("2", "Melanie")], &Settings::default());
    assert_eq!((all[0].1.parts.entities, all[1].1.parts.entities), (1.0, 0.0));
    assert!(all[0].1.similarity > all[1].1.similarity);
}

#[test]
fn a_time_that_is_asked_for_counts_like_a_word() {
    let question = "what did I do last week";
    let at = |key: &str, days: i64| {
        let mut f = fact(key, "went to the lake");
        f.occurred_at = day(100 - days);
        hit(Memory::Fact(f), 0.0)
    };
    let all = scored(question, &[at("1", 8), at("2", 60)], &Settings::default());
    assert_eq!((all[0].1.parts.period, all[1].1.parts.period), (1.0, 0.0));
    assert!(all[0].1.similarity >= floor(), "{all:?}");
    assert!(all[0].1.similarity > all[1].1.similarity);
}

#[test]
fn a_session_supports_what_was_said_in_it() {
    let question = "camping trip with the kids in the mountains";
    let said = |key: &str, content: &str, session: &str| {
        let mut f = fact(key, content);
        f.session = Some(SessionId::new(session).unwrap());
        near(Memory::Fact(f), question)
    };
    let all = [
        said("1", "the camping trip with the kids in the mountains was great", "a"),
        said("2", "the kids saw a bear", "a"),
        said("3", "the kids saw a whale", "b"),
    ];
    let all = scored(question, &all, &Settings::default());
    assert!(all[1].1.similarity > all[2].1.similarity);
    assert!(all[1].1.parts.session > all[2].1.parts.session);
}

#[test]
fn a_reranker_counts_for_what_it_speaks_about() {
    let question = "disk full";
    let proposed = [near(told("1", "the disk is full"), question), near(told("2", "disk bought"), question)];
    let (mut pool, fetched) = pool(&query(question), &proposed, &Settings::default());
    pool.rerank([(proposed[1].memory.id(), 1.0), (proposed[0].memory.id(), f32::NAN)]);
    let here = environment(&[]);
    let Ranking { items, .. } = pool.rank(fetched, &request(question, &here));
    let of = |at: usize| items.iter().find(|i| i.memory.id() == proposed[at].memory.id()).unwrap();
    assert_eq!(of(0).factors.parts.rerank, None);
    assert_eq!(of(1).factors.parts.rerank, Some(1.0));
    assert!(of(1).factors.similarity > 0.7);
}

#[test]
fn what_no_arm_proposed_is_left_out() {
    let (pool, mut fetched) = pool(&query("disk"), &[near(told("1", "disk"), "disk")], &Settings::default());
    let stranger = Memory::Experience(Box::new(experience("t", "disk", OutcomeStatus::Success)));
    fetched.push(Fetched { id: CandidateId(stranger.id().0), memory: stranger.clone() });
    let here = environment(&[]);
    let ranking = pool.rank(fetched, &request("disk", &here));
    assert_eq!(ranking.items.len() + ranking.withheld.len(), 1);
}

fn any_fact() -> impl Strategy<Value = Proposed> {
    let word = prop::sample::select(vec![
        "api",
        "container",
        "restarting",
        "last",
        "week",
        "磁盘",
        "7",
        "keeps",
        "Caroline",
        "May",
        "昨天",
    ]);
    let text = prop::collection::vec(word, 0..8).prop_map(|w| w.join(" "));
    (0..40u32, text, -1.0..1.0f32, -10..200i64, 0..3u8).prop_map(|(n, text, cosine, age, session)| {
        let mut f = fact(&n.to_string(), &text);
        f.occurred_at = day(100 - age);
        f.speaker = if session == 1 { "Caroline" } else { "" }.to_owned();
        f.session = (session > 0).then(|| SessionId::new(format!("s{session}")).unwrap());
        hit(Memory::Fact(f), cosine)
    })
}

fn distinct(proposed: Vec<Proposed>) -> Vec<Proposed> {
    let mut seen = std::collections::BTreeSet::new();
    proposed.into_iter().filter(|p| seen.insert(p.memory.id())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_part_is_between_zero_and_one(
        question in prop_oneof![".{0,40}", "(api|container|Caroline|last week|昨天|磁盘| ){0,8}"],
        proposed in prop::collection::vec(any_fact(), 0..12),
    ) {
        for (_, f) in scored(&question, &distinct(proposed), &Settings::default()) {
            let p = f.parts;
            for value in [f.similarity, p.words, p.meaning, p.entities, p.period, p.session, f.total()] {
                prop_assert!((0.0..=1.0).contains(&value), "{f:?}");
            }
        }
    }

    /// One that holds no word of the question, is of another time, by another speaker and opposite in meaning.
    #[test]
    fn an_irrelevant_candidate_lifts_nothing(
        question in "(api|container|Caroline|last week|昨天|磁盘|keeps| ){1,8}",
        proposed in prop::collection::vec(any_fact(), 0..10),
        cosine in -1.0..0.1f32,
    ) {
        let proposed = distinct(proposed);
        let mut stranger = fact("stranger", "zebra crossing");
        stranger.occurred_at = day(-5_000);
        let more: Vec<Proposed> =
            proposed.iter().cloned().chain([hit(Memory::Fact(stranger), cosine)]).collect();
        let settings = Settings::default();
        let before = scored(&question, &proposed, &settings);
        let after = scored(&question, &more, &settings);
        for (key, factors) in after.iter().filter(|(key, _)| key != "stranger") {
            let (_, was) = before.iter().find(|(k, _)| k == key).unwrap();
            prop_assert!(factors.similarity < was.similarity + 1e-4, "{was:?} {factors:?}");
        }
        let stranger = after.iter().find(|(key, _)| key == "stranger").unwrap();
        prop_assert!(stranger.1.similarity < settings.tail_floor, "{stranger:?}");
    }
}
