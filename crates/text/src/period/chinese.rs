use std::sync::LazyLock;

use jiff::civil::Weekday;
use regex::{Captures, Regex};

use super::{
    Form, Stretch,
    calendar::{self, Calendar, Unit},
    number::{number, year},
};

const NUMBER: &str = r"(?P<number>\d{1,4}|[一二两三四五六七八九十]{1,3}|几)";
/// A year by its number or as seen from now.
pub(super) const YEAR: &str = r"(?:(?P<year>(?:19|20|21)\d\d|[一二]?[〇零一二三四五六七八九]{3,4})年|(?P<from_now>今年|去年|前年|明年|后年))";
pub(super) const MONTH: &str = r"(?P<month>1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])月";
pub(super) const DAY: &str = r"(?P<day>[0-3]?\d|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])[日号]";
const UNIT: &str = r"(?:个)?(?P<unit>小时|钟头|天|日|周|星期|礼拜|月|季度|年)";
const WHICH: &str = r"(?P<which>上上|上|这|本|下下|下)(?:一)?(?:个)?";
const WEEK: &str = r"(?:周|星期|礼拜)";
const FEAST: &str = "国庆|元旦|五一|劳动节|圣诞|情人节|双十一|儿童节";
const PART: &str = r"(?P<part>早上|早晨|上午|中午|下午|傍晚|晚上|夜里|凌晨)?";

pub(super) static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    vec![
        form(&format!("{YEAR}(?:的)?(?:{MONTH}(?:份)?(?:{DAY})?)?"), date),
        form(&format!("{YEAR}(?:的)?(?P<half>上|下)半年"), half_year),
        form("(?P<half>上|下)半年", half_year),
        form(&format!("{YEAR}?(?:的)?(?P<season>春|夏|秋|冬)(?:天|季)"), season),
        form(&format!("{YEAR}?(?:的)?(?P<feast>{FEAST})"), feast),
        form(&format!("{MONTH}(?:份|{DAY})"), date),
        form(MONTH, date),
        form(&format!("(?P<relative>大前天|前天|昨天|昨日|今天|今日|明天|后天){PART}"), day),
        form("(?P<relative>昨|今|明|当)(?P<part>晚|早|夜|晨)", day),
        form(&format!("{WHICH}{WEEK}(?P<weekday>[一二三四五六日天末])"), which_weekday),
        form(&format!("{WEEK}(?P<weekday>[一二三四五六日天末])"), latest_weekday),
        form("周末", |_, c| c.weekend(-1)),
        form(&format!("{WHICH}(?P<unit>周|星期|礼拜|月|季度)"), |m, c| {
            c.unit(unit(m)?, offset(&m["which"]))
        }),
        form(&format!("(?:过去|最近|近|前|这)(?:的)?{NUMBER}{UNIT}"), |m, c| {
            c.past(number(&m["number"])?, unit(m)?)
        }),
        form(&format!("{NUMBER}{UNIT}(?:之前|以前|前)"), |m, c| c.ago(number(&m["number"])?, unit(m)?)),
        form("半年(?:之前|以前|前)", |_, c| c.ago(6, Unit::Month)),
        form("(?:过去|最近|近|这)半年", |_, c| c.past(6, Unit::Month)),
        form("(?:最近|近来|前几天|前些天|这几天|前阵子|这阵子)", |_, c| {
            c.past(14, Unit::Day)
        }),
    ]
});

/// What looks like a time: `一周五天`, `两周五次`, the band `五月天`, `国庆前两周`. Group 1 is none.
static COUNTS: LazyLock<[Regex; 4]> = LazyLock::new(|| {
    [
        format!("{WEEK}([一二三四五六两]天)(?:[^气空]|$)"),
        format!(r"(?:(?:^|[^\d./:-])\d{{1,2}}|[两二三四五六七八九十几]|(?:^|[^上下这本])一)个?{WEEK}([一二三四五六日天末])"),
        "(五月天)(?:[^气空]|$)".to_owned(),
        format!("((?:{FEAST})节?(?:之前|以前|前|之后|以后|后)的?{NUMBER}{UNIT})"),
    ]
    .map(|pattern| match Regex::new(&pattern) {
        Ok(regex) => regex,
        Err(e) => unreachable!("constant pattern: {e}"),
    })
});

/// The text, of the same length in bytes, with blanks for what counts or names and only looks like a time.
pub(super) fn without_counts(text: &str) -> String {
    let mut blank = text.to_owned();
    for pattern in COUNTS.iter() {
        for found in pattern.captures_iter(text).filter_map(|caps| caps.get(1)) {
            blank.replace_range(found.range(), &" ".repeat(found.len()));
        }
    }
    blank
}

fn form(pattern: &str, meaning: fn(&Captures<'_>, &Calendar) -> Option<Stretch>) -> Form {
    match Regex::new(pattern) {
        Ok(regex) => (regex, meaning),
        Err(e) => unreachable!("constant pattern: {e}"),
    }
}

/// Absent: no year is named.
fn named_year(caps: &Captures<'_>, calendar: &Calendar) -> Option<i16> {
    let from_now = caps.name("from_now").map(|y| match y.as_str() {
        "前年" => -2,
        "去年" => -1,
        "明年" => 1,
        "后年" => 2,
        _ => 0,
    });
    from_now
        .and_then(|offset| calendar.year_from_now(offset))
        .or_else(|| caps.name("year").and_then(|y| year(y.as_str())))
}

fn small(caps: &Captures<'_>, name: &str) -> Option<i8> {
    caps.name(name).and_then(|n| number(n.as_str())).and_then(|n| i8::try_from(n).ok())
}

fn date(caps: &Captures<'_>, calendar: &Calendar) -> Option<Stretch> {
    let year = named_year(caps, calendar);
    match (small(caps, "month"), small(caps, "day")) {
        (Some(month), Some(day)) => calendar.date(month, day, 1, year),
        (Some(month), None) => calendar.month(month, year),
        (None, _) => calendar::year(year?),
    }
}

fn half_year(caps: &Captures<'_>, calendar: &Calendar) -> Option<Stretch> {
    let year = named_year(caps, calendar).or_else(|| calendar.year_from_now(0))?;
    let (from, until) = calendar::year(year)?;
    let (middle, _) = calendar.month(7, Some(year))?;
    Some(if &caps["half"] == "上" { (from, middle) } else { (middle, until) })
}

fn season(caps: &Captures<'_>, calendar: &Calendar) -> Option<Stretch> {
    let season = "春夏秋冬".chars().position(|s| caps["season"].starts_with(s))?;
    calendar.season(i8::try_from(season).ok()?, named_year(caps, calendar))
}

fn feast(caps: &Captures<'_>, calendar: &Calendar) -> Option<Stretch> {
    let (month, day, length) = match &caps["feast"] {
        "国庆" => (10, 1, 7),
        "五一" | "劳动节" => (5, 1, 5),
        "圣诞" => (12, 24, 2),
        "情人节" => (2, 14, 1),
        "双十一" => (11, 11, 1),
        "儿童节" => (6, 1, 1),
        _ => (1, 1, 1),
    };
    calendar.date(month, day, length, named_year(caps, calendar))
}

fn day(caps: &Captures<'_>, calendar: &Calendar) -> Option<Stretch> {
    let offset = match &caps["relative"] {
        "大前天" => -3,
        "前天" => -2,
        "昨天" | "昨日" | "昨" => -1,
        "明天" | "明" => 1,
        "后天" => 2,
        _ => 0,
    };
    match caps.name("part").map_or("", |p| p.as_str()) {
        "" => calendar.day(offset),
        "早上" | "早晨" | "上午" | "早" | "晨" => calendar.hours(offset, 4, 12),
        "凌晨" => calendar.hours(offset, 0, 6),
        "中午" => calendar.hours(offset, 11, 14),
        "下午" => calendar.hours(offset, 12, 18),
        _ => calendar.hours(offset, 17, 30),
    }
}

fn offset(which: &str) -> i32 {
    match which {
        "上上" => -2,
        "上" => -1,
        "下" => 1,
        "下下" => 2,
        _ => 0,
    }
}

fn unit(caps: &Captures<'_>) -> Option<Unit> {
    match &caps["unit"] {
        "小时" | "钟头" => Some(Unit::Hour),
        "天" | "日" => Some(Unit::Day),
        "周" | "星期" | "礼拜" => Some(Unit::Week),
        "月" => Some(Unit::Month),
        "季度" => Some(Unit::Quarter),
        "年" => Some(Unit::Year),
        _ => None,
    }
}

/// Absent: the weekend.
fn weekday(caps: &Captures<'_>) -> Option<Weekday> {
    let day = caps["weekday"].replace('天', "日");
    let at = "一二三四五六日".chars().position(|d| day.starts_with(d))?;
    Weekday::from_monday_zero_offset(i8::try_from(at).ok()?).ok()
}

fn which_weekday(caps: &Captures<'_>, calendar: &Calendar) -> Option<Stretch> {
    let offset = offset(&caps["which"]);
    weekday(caps).map_or_else(|| calendar.weekend(offset), |day| calendar.weekday_of(day, offset))
}

fn latest_weekday(caps: &Captures<'_>, calendar: &Calendar) -> Option<Stretch> {
    calendar.latest_weekday(weekday(caps)?)
}
