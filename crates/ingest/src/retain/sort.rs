use std::sync::LazyLock;

use hindsight_types::FactType;
use regex::RegexSet;

/// In this order: who says that they prefer refunds to their card states a preference, not an order.
const RULES: [(FactType, &str); 5] = [
    (
        FactType::Preference,
        r"\b(i|we) (really |also |do |still |always |never )?(like|love|prefer|enjoy|adore|hate|dislike|avoid|can't stand)\b|\b(don't|doesn't|do not|does not) (like|eat|drink|want)\b|\bprefers?\b|\bfavou?rites?\b|\ballerg(ic|y|ies)\b|\b(vegetarian|vegan)\b|\bi'd rather\b|喜欢|最爱|爱吃|爱喝|偏好|讨厌|不吃|不喝|过敏|忌口|更愿意|习惯",
    ),
    (
        FactType::Identity,
        r"\bmy name is\b|\bcall me\b|\bi('m| am) (called|from|married|single|\d+ years)\b|\bi (live|grew up) in\b|\bi work (as|at|for|in)\b|\bi was born\b|\bmy (birthday|phone|email|e-mail|address|job|wife|husband|partner|mother|mom|mum|father|dad|son|daughter|sister|brother|boss)\b|我叫|我的名字|我是(一|做|个|名)|我(家)?住|我在.{1,16}(工作|上班|上学|读书)|我(的)?(生日|电话|手机|邮箱|地址|职业|妻子|老婆|丈夫|老公|妈妈|母亲|爸爸|父亲|儿子|女儿|姐姐|妹妹|哥哥|弟弟|上司|老板|同事)",
    ),
    (
        FactType::Promise,
        r"\b(i|we)('ll| will| shall| promise)\b|\bpromised?\b|\bremind me\b|\bdeadline\b|答应|保证|承诺|我会|我们会|提醒我|一定会|截止",
    ),
    (
        FactType::Order,
        r"\b(re)?orders?\b|\bordered\b|\binvoices?\b|\brefund(s|ed)?\b|\bbook(ed|ing)\b|\breservations?\b|\bshipments?\b|\bdeliver(y|ies)\b|\bpurchased?\b|\bbought\b|\bsubscriptions?\b|\btickets?\b|订单|下单|发票|退款|退货|预订|预定|订了|买了|快递|物流|发货|机票|车票|预约",
    ),
    (
        FactType::Event,
        r"\b(yesterday|today|tonight|tomorrow)\b|\b(last|next|this) (week|weekend|month|year|night|morning|spring|summer|autumn|fall|winter|(mon|tues|wednes|thurs|fri|satur|sun)day)\b|\bon (mon|tues|wednes|thurs|fri|satur|sun)day\b|\b\d{1,2}(:\d\d)? ?[ap]m\b|\b\d{4}-\d\d-\d\d\b|\b(\d+|two|three|few) (days|weeks|months|years) ago\b|\b(meeting|wedding|appointment|exam|party|trip)\b|昨天|今天|明天|后天|前天|今晚|昨晚|上周|下周|这周|上个月|下个月|去年|明年|周[一二三四五六日末]|星期[一二三四五六日天]|\d+月\d+[日号]|\d+点|会议|开会|婚礼|旅行|考试|聚会",
    ),
];

static PATTERNS: LazyLock<RegexSet> =
    LazyLock::new(|| match RegexSet::new(RULES.map(|(_, pattern)| format!("(?i){pattern}"))) {
        Ok(set) => set,
        Err(e) => unreachable!("constant patterns: {e}"),
    });

/// What sort of thing a statement is; `Other` where no rule speaks. A question states nothing.
pub fn sort(text: &str) -> FactType {
    if text.trim_end().ends_with(['?', '？']) {
        return FactType::Other;
    }
    let text = text.replace('’', "'");
    PATTERNS.matches(&text).iter().next().map_or(FactType::Other, |first| RULES[first].0)
}

#[cfg(test)]
mod tests {
    use FactType::{Event, Identity, Order, Other, Preference, Promise};

    use super::*;

    #[test]
    fn statements_are_told_apart_by_their_words() {
        for (text, expected) in [
            ("Prefers refunds to the original card", Preference),
            ("I’d rather sit by the window", Preference),
            ("我对花生过敏，订餐时请避开", Preference),
            ("My name is Li Lei", Identity),
            ("我在腾讯工作", Identity),
            ("I'll send the report on Monday", Promise),
            ("提醒我明天带伞", Promise),
            ("Order W2378156 arrived broken", Order),
            ("发票 INV-78901 寄到北京", Order),
            ("We went hiking last weekend", Event),
            ("下周三开会", Event),
            ("The sky is blue", Other),
            ("天空是蓝的", Other),
            ("Do you like tea?", Other),
            ("你喜欢喝茶吗？", Other),
            ("", Other),
        ] {
            assert_eq!(sort(text), expected, "{text}");
        }
    }
}
