/// A small number in digits, English or Chinese. `a few` is three, `half` none of ours.
pub(super) fn number(text: &str) -> Option<i32> {
    let text = text.trim().to_lowercase();
    if let Ok(n) = text.parse::<i32>() {
        return (0..=10_000).contains(&n).then_some(n);
    }
    let english =
        ["a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    if let Some(at) = english.iter().position(|word| *word == text) {
        return i32::try_from(at + 1).ok();
    }
    match text.as_str() {
        "an" | "one" => Some(1),
        "couple" | "couple of" | "a couple of" | "a couple" => Some(2),
        "few" | "a few" | "几" | "several" => Some(3),
        _ => chinese(&text),
    }
}

/// `五`, `十二`, `二十`, `二十三`, `两`.
fn chinese(text: &str) -> Option<i32> {
    match text.split_once('十') {
        Some((tens, ones)) => {
            let tens = if tens.is_empty() { 1 } else { digit(tens)? };
            let ones = if ones.is_empty() { 0 } else { digit(ones)? };
            Some(tens * 10 + ones)
        }
        None => digit(text),
    }
}

fn digit(text: &str) -> Option<i32> {
    let mut chars = text.chars();
    let digit = chars.next().and_then(digit_of)?;
    chars.next().is_none().then_some(digit)
}

fn digit_of(c: char) -> Option<i32> {
    let at = "〇一二三四五六七八九".chars().position(|d| d == c);
    let special = match c {
        '零' => Some(0),
        '两' => Some(2),
        _ => None,
    };
    special.or(at.and_then(|at| i32::try_from(at).ok()))
}

/// `2023`, `二〇二三`; years that people speak of.
pub(super) fn year(text: &str) -> Option<i16> {
    let mut digits =
        text.chars().map(|c| c.to_digit(10).and_then(|d| i32::try_from(d).ok()).or_else(|| digit_of(c)));
    let year = digits.try_fold(0_i32, |sum, d| d.map(|d| (sum * 10 + d).min(99_999)))?;
    i16::try_from(year).ok().filter(|year| (1900..=2200).contains(year))
}
