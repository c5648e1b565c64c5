//! Adds a content item to the result of a call and leaves every other byte as it is.

use serde::de::IgnoredAny;

/// `message` with `item` at the end of its `result.content`. `None`: it has none, or is no JSON object.
pub(crate) fn append(message: &[u8], item: &str) -> Option<Vec<u8>> {
    // What is sound JSON can be walked without looking at everything again.
    serde_json::from_slice::<IgnoredAny>(message).ok()?;
    let result = member(message, start(message, 0), b"\"result\"")?;
    let content = member(message, result, b"\"content\"")?;
    if message.get(content) != Some(&b'[') {
        return None;
    }
    let close = end(message, content) - 1;
    let before = message[content + 1..close].iter().all(u8::is_ascii_whitespace);
    let mut spliced = Vec::with_capacity(message.len() + item.len() + 1);
    spliced.extend_from_slice(&message[..close]);
    if !before {
        spliced.push(b',');
    }
    spliced.extend_from_slice(item.as_bytes());
    spliced.extend_from_slice(&message[close..]);
    Some(spliced)
}

/// Where the value of a member of the object at `object` begins; the last one of that name, as parsers read it.
fn member(json: &[u8], object: usize, quoted: &[u8]) -> Option<usize> {
    if json.get(object) != Some(&b'{') {
        return None;
    }
    let (mut at, mut found) = (start(json, object + 1), None);
    while json.get(at) == Some(&b'"') {
        let name = end(json, at);
        let value = start(json, start(json, name) + 1);
        if &json[at..name] == quoted {
            found = Some(value);
        }
        at = start(json, end(json, value));
        if json.get(at) == Some(&b',') {
            at = start(json, at + 1);
        }
    }
    found
}

/// The first byte from `at` on that is not space.
fn start(json: &[u8], at: usize) -> usize {
    at + json[at.min(json.len())..].iter().take_while(|b| b.is_ascii_whitespace()).count()
}

/// Behind the value that begins at `at`.
fn end(json: &[u8], at: usize) -> usize {
    let mut depth = 0;
    let mut i = at;
    while let Some(byte) = json.get(i) {
        match byte {
            b'"' => i = string_end(json, i),
            b'{' | b'[' => {
                depth += 1;
                i += 1;
                continue;
            }
            b'}' | b']' | b',' if depth == 0 => return i,
            b'}' | b']' => {
                depth -= 1;
                i += 1;
            }
            b if depth == 0 && b.is_ascii_whitespace() => return i,
            _ => {
                i += 1;
                continue;
            }
        }
        if depth == 0 {
            return i;
        }
    }
    i
}

/// Behind the string that begins at `at`.
fn string_end(json: &[u8], at: usize) -> usize {
    let mut i = at + 1;
    while let Some(byte) = json.get(i) {
        match byte {
            b'"' => return i + 1,
            b'\\' => i += 2,
            _ => i += 1,
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const ITEM: &str = r#"{"type":"text","text":"careful"}"#;

    fn text(message: &str) -> Option<String> {
        append(message.as_bytes(), ITEM).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn the_item_comes_last_and_all_else_stays() {
        let spliced =
            text("{ \"result\" : {\"x\":1.50, \"content\" : [ {\"text\":\"a]\\\"}\"} ] } , \"id\":7}\r\n");
        let expected = format!(
            "{{ \"result\" : {{\"x\":1.50, \"content\" : [ {{\"text\":\"a]\\\"}}\"}} ,{ITEM}] }} , \"id\":7}}\r\n"
        );
        assert_eq!(spliced.unwrap(), expected);
        assert_eq!(
            text(r#"{"result":{"content":[ ]}}"#).unwrap(),
            format!(r#"{{"result":{{"content":[ {ITEM}]}}}}"#)
        );
    }

    #[test]
    fn what_has_no_content_is_left_alone() {
        for message in [
            "",
            "null",
            "[]",
            "{",
            r#"{"result":{"content":["#,
            r#"{"result":[]}"#,
            r#"{"result":{"content":{}}}"#,
            r#"{"error":{"content":[]}}"#,
            r#"{"content":[]}"#,
            r#"{"result":{"a":{"content":[]}}}"#,
            "\u{feff}{}",
        ] {
            assert_eq!(text(message), None, "{message}");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC*|[\\[\\]{}\",:\\\\]*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map("result|content|[a-z\"\\\\{]{0,3}", inner, 0..5)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_result_reads_as_the_message_with_one_item_more(
            mut other in value(), content in proptest::collection::vec(value(), 0..4), pretty in any::<bool>(),
        ) {
            if !other.is_object() {
                other = json!({});
            }
            other["result"] = json!({"before": other.clone(), "content": content, "isError": true});
            let written = if pretty { serde_json::to_vec_pretty(&other) } else { serde_json::to_vec(&other) }.unwrap();
            // What is written is read as it is: floats may not come back to the last digit.
            let mut expected: Value = serde_json::from_slice(&written).unwrap();
            expected["result"]["content"].as_array_mut().unwrap().push(serde_json::from_str(ITEM).unwrap());
            let spliced = append(&written, ITEM).unwrap();
            prop_assert_eq!(serde_json::from_slice::<Value>(&spliced).unwrap(), expected);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200), json in value()) {
            append(&bytes, ITEM);
            append(json.to_string().as_bytes(), ITEM);
        }
    }
}
