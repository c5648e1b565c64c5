use proptest::prelude::*;

use super::*;

fn cosine(a: &str, b: &str) -> f32 {
    vector(a).iter().zip(vector(b)).map(|(x, y)| x * y).sum()
}

#[test]
fn likeness_follows_shared_words_spelling_and_identifiers() {
    let query = "payment container keeps restarting";
    assert!(cosine(query, "the payment container restarts again and again") > 0.5);
    assert!(cosine(query, "disk of the database server is full").abs() < 0.2);
    let misspelt = cosine("kubernetes deployment", "kuberntes deploiment");
    assert!(misspelt > 0.2, "{misspelt}");
    assert!(
        cosine("error in INV-78901", "INV-78901 was paid twice") > cosine("error in INV-78901", "an error")
    );
}

#[test]
fn chinese_is_told_apart() {
    let query = "支付服务容器一直重启";
    assert!(cosine(query, "容器反复重启，支付失败") > 0.3);
    assert!(cosine(query, "用户被重复扣款，申请退款").abs() < 0.2);
}

#[test]
fn texts_without_words_are_themselves() {
    assert_eq!(cosine("", ""), 1.0);
    assert_eq!(cosine("的", "的"), 1.0);
    assert!(cosine("", "of the").abs() < 1e-6);
    assert_eq!(vector("  "), vector(""));
}

#[test]
fn word_order_matters_a_little() {
    let same = cosine("rollback the failed deploy", "rollback the failed deploy");
    let other = cosine("rollback the failed deploy", "deploy failed the rollback");
    assert!(other < same && other > 0.7);
}

/// Vectors are stored: a change here needs a new model id.
#[test]
fn vectors_stay_as_they_are() {
    let mut places: Vec<(usize, f32)> = vector("restart pod-7 重启").into_iter().enumerate().collect();
    places.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    for (place, expected) in
        places.into_iter().zip([(346, -0.558_021_7), (51, -0.432_466_83), (27, -0.348_763_6)])
    {
        assert_eq!(place.0, expected.0);
        assert!((place.1 - expected.1).abs() < 1e-6);
    }
}

proptest! {
    #[test]
    fn any_text_has_a_unit_vector(text in any::<String>()) {
        let vector = vector(&text);
        prop_assert_eq!(vector.len(), DIMENSION);
        let length: f32 = vector.iter().map(|x| x * x).sum();
        prop_assert!((length - 1.0).abs() < 1e-4, "{}", length);
    }
}
