use jiff::{Timestamp, ZonedDateTime, civil::date, tz::TimeZone};
use proptest::prelude::*;
use rstest::rstest;

use super::*;

/// A Wednesday.
fn now() -> ZonedDateTime {
    date(2024, 5, 15).at(15, 30, 0, 0).to_zoned_datetime(TimeZone::get("Asia/Shanghai").unwrap()).unwrap()
}

fn read(text: &str) -> Option<(String, String)> {
    let found = period(text, &now())?;
    let show = |t: Timestamp| {
        let zoned = t.to_zoned_datetime(now().time_zone().clone());
        let midnight = zoned.hour() == 0 && zoned.minute() == 0;
        zoned.strftime(if midnight { "%Y-%m-%d" } else { "%Y-%m-%d %H:%M" }).to_string()
    };
    Some((show(found.from), show(found.until)))
}

#[rstest]
#[case("what did I say last week?", "2024-05-06", "2024-05-13")]
#[case("What happened in May 2023", "2023-05-01", "2023-06-01")]
#[case("in July", "2023-07-01", "2023-08-01")]
#[case("last May", "2023-05-01", "2023-06-01")]
#[case("the trip on 8 May, 2023", "2023-05-08", "2023-05-09")]
#[case("on October 3rd", "2023-10-03", "2023-10-04")]
#[case("2024-02-29 notes", "2024-02-29", "2024-03-01")]
#[case("yesterday", "2024-05-14", "2024-05-15")]
#[case("the deploy of last night", "2024-05-14 17:00", "2024-05-15 06:00")]
#[case("over the past 3 days", "2024-05-12", "2024-05-15 15:30")]
#[case("three weeks ago", "2024-04-21", "2024-04-28")]
#[case("a year ago", "2023-01-01", "2024-01-01")]
#[case("on Monday", "2024-05-13", "2024-05-14")]
#[case("last Wednesday", "2024-05-08", "2024-05-09")]
#[case("next Friday", "2024-05-17", "2024-05-18")]
#[case("last summer", "2023-06-01", "2023-09-01")]
#[case("in the winter of 2022", "2022-12-01", "2023-03-01")]
#[case("in 2022", "2022-01-01", "2023-01-01")]
#[case("last weekend", "2024-05-11", "2024-05-13")]
#[case("since Monday", "2024-05-13", "2024-05-15 15:30")]
#[case("before May 2023", "1900-01-01", "2023-05-01")]
#[case("at christmas", "2023-12-24", "2023-12-27")]
#[case("last quarter", "2024-01-01", "2024-04-01")]
#[case("上个月的账单", "2024-04-01", "2024-05-01")]
#[case("我三天前说了什么", "2024-05-12", "2024-05-13")]
#[case("去年五月", "2023-05-01", "2023-06-01")]
#[case("去年五月三号", "2023-05-03", "2023-05-04")]
#[case("2023年5月8日", "2023-05-08", "2023-05-09")]
#[case("二〇二三年十二月", "2023-12-01", "2024-01-01")]
#[case("昨晚的故障", "2024-05-14 17:00", "2024-05-15 06:00")]
#[case("前天下午", "2024-05-13 12:00", "2024-05-13 18:00")]
#[case("上周五谁来了", "2024-05-10", "2024-05-11")]
#[case("上上个星期", "2024-04-29", "2024-05-06")]
#[case("本周末", "2024-05-18", "2024-05-20")]
#[case("国庆去了哪里", "2023-10-01", "2023-10-08")]
#[case("去年夏天", "2023-06-01", "2023-09-01")]
#[case("最近两周", "2024-05-01", "2024-05-15 15:30")]
#[case("上周以来", "2024-05-06", "2024-05-15 15:30")]
#[case("十一月份", "2023-11-01", "2023-12-01")]
#[case("前年下半年", "2022-07-01", "2023-01-01")]
#[case("３天前", "2024-05-12", "2024-05-13")]
#[case("between March and May 2024", "2024-03-01", "2024-06-01")]
#[case("what I did from March to May 2024", "2024-03-01", "2024-06-01")]
#[case("in March and April 2023", "2023-03-01", "2023-05-01")]
#[case("from November 2023 to February", "2023-11-01", "2024-03-01")]
#[case("from November to February 2024", "2023-11-01", "2024-03-01")]
#[case("from April to July", "2023-04-01", "2023-08-01")]
#[case("from May 3 to May 5, 2024", "2024-05-03", "2024-05-06")]
#[case("between 2019 and 2021", "2019-01-01", "2022-01-01")]
#[case("from 2024-03-01 to 2024-03-05", "2024-03-01", "2024-03-06")]
#[case("2023年5月到7月", "2023-05-01", "2023-08-01")]
#[case("从去年十一月至今年二月", "2023-11-01", "2024-03-01")]
#[case("5月3日到5日", "2024-05-03", "2024-05-06")]
#[case("十一月到二月", "2023-11-01", "2024-03-01")]
#[case("2019年到2021年", "2019-01-01", "2022-01-01")]
#[case("上周五天气怎么样", "2024-05-10", "2024-05-11")]
#[case("上一周五", "2024-05-10", "2024-05-11")]
#[case("五月天气如何", "2024-05-01", "2024-06-01")]
#[case("2023年五月天的演唱会", "2023-01-01", "2024-01-01")]
#[case("上周五天都在下雨", "2024-05-06", "2024-05-13")]
#[case("the day before yesterday", "2024-05-13", "2024-05-14")]
fn a_time_within_a_sentence_is_a_stretch(#[case] text: &str, #[case] from: &str, #[case] until: &str) {
    assert_eq!(read(text), Some((from.to_owned(), until.to_owned())), "{text}");
}

#[rstest]
#[case("may I ask who marched in")]
#[case("the decimal number 2023")]
#[case("will you fall for the second time")]
#[case("port 8080 answers 404")]
#[case("周先生的电话")]
#[case("我一周五天去健身房")]
#[case("每周五天上班")]
#[case("一周五次")]
#[case("我喜欢五月天")]
#[case("圣诞节前两周")]
#[case("two weeks before Christmas")]
#[case("the week before Christmas")]
#[case("three days after 3 May 2023")]
#[case("from here to there and on to march")]
#[case("他上个班")]
#[case("")]
fn no_time_is_seen_where_there_is_none(#[case] text: &str) {
    assert_eq!(read(text), None, "{text}");
}

#[test]
fn the_time_zone_decides_where_a_day_begins() {
    let shanghai = period("today", &now()).unwrap();
    let utc = period("today", &now().with_time_zone(TimeZone::UTC)).unwrap();
    assert_eq!(shanghai.from.to_string(), "2024-05-14T16:00:00Z");
    assert_eq!(utc.from.to_string(), "2024-05-15T00:00:00Z");
}

#[test]
fn of_several_the_most_precise_is_meant_and_its_words_are_told() {
    let found = period("this week or on 3 May 2024, I think", &now()).unwrap();
    assert_eq!(found.words, "3 May 2024");
}

proptest! {
    #[test]
    fn any_text_at_any_time_gives_a_stretch_or_nothing(
        text in prop_oneof![
            "\\PC{0,60}",
            "(last|next|in|before|since|from|to|and|between|到|至|-|天|五|9999|two|31|ago|上|下|个|去年|三|十二|月|周|日|号|前|年|months?|years?|May|Friday| ){0,12}",
            "[0-9]{1,4}[-/.年][0-9]{1,2}[-/.月][0-9]{1,2}[日号]?",
            "[0-9]{1,4} (hours|days|weeks|months|quarters|years) ago",
        ],
        second in Timestamp::MIN.as_second()..Timestamp::MAX.as_second(),
    ) {
        let zone = TimeZone::get("Asia/Shanghai").unwrap();
        let now = Timestamp::from_second(second).unwrap().to_zoned_datetime(zone);
        if let Some(found) = period(&text, &now) {
            prop_assert!(found.from < found.until);
            prop_assert!(!found.words.is_empty());
        }
    }
}
