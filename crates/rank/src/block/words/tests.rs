use super::*;

#[test]
fn the_language_is_that_of_the_query() {
    assert_eq!(Language::of("容器一直重启怎么办"), Language::Chinese);
    assert_eq!(Language::of("why does the container restart"), Language::English);
    assert_eq!(Language::of(""), Language::English);
}

#[test]
fn ages_are_in_the_unit_that_fits() {
    let ages = |l: Language| [0.2, 1.0, 3.7, 61.0, 740.0].map(|days| l.age(days));
    assert_eq!(ages(Language::English), ["today", "1 day ago", "3 days ago", "2 months ago", "2 years ago"]);
    assert_eq!(ages(Language::Chinese), ["今天", "1 天前", "3 天前", "2 个月前", "2 年前"]);
}

#[test]
fn confidence_has_words() {
    let words = |l: Language| [1.0, 0.8, 0.67, 0.5, 0.1, f32::NAN].map(|c| l.sure(c));
    let english = ["very sure", "very sure", "fairly sure", "not very sure", "doubtful", "doubtful"];
    assert_eq!(words(Language::English), english);
    assert_eq!(words(Language::Chinese), ["很可信", "很可信", "较可信", "不太可信", "存疑", "存疑"]);
}

#[test]
fn a_reason_tells_what_there_is() {
    let reason = |rejected, because| Language::English.reason(rejected, because);
    assert_eq!(reason("", ""), "");
    assert_eq!(reason("a restart", ""), "instead of a restart");
    assert_eq!(reason("a restart", "137 is a kill"), "instead of a restart, because 137 is a kill");
    assert_eq!(Language::Chinese.reason("重启", "137 是被杀"), "而不是 重启，因为 137 是被杀");
}
