//! Adds a content item to the result of a call and leaves every other byte as it is.

/// Where one more item fits into the `result.content` of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    at: usize,
    is_first: bool,
}

/// The end of `result.content` of `message`, which must be sound JSON, so that it can be walked without looking at
/// everything again. `None`: it has none, or is no object.
pub(crate) fn place(message: &[u8]) -> Option<Place> {
    let result = member(message, start(message, 0), b"\"result\"")?;
    let content = member(message, result, b"\"content\"")?;
    if message.get(content) != Some(&b'[') {
        return None;
    }
    let at = end(message, content) - 1;
    Some(Place { at, is_first: message[content + 1..at].iter().all(u8::is_ascii_whitespace) })
}

/// `message` with `item` at its place.
pub(crate) fn insert(message: &[u8], Place { at, is_first }: Place, item: &str) -> Vec<u8> {
    let comma: &[u8] = if is_first { b"" } else { b"," };
    [&message[..at], comma, item.as_bytes(), &message[at..]].concat()
}

/// The value of a member of `message`, which must be sound JSON, as it is written.
pub(crate) fn member_of<'a>(message: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let value = member(message, start(message, 0), format!("\"{name}\"").as_bytes())?;
    message.get(value..end(message, value))
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
    use serde::de::IgnoredAny;
    use serde_json::{Value, json};

    use super::*;

    const ITEM: &str = r#"{"type":"text","text":"careful"}"#;

    fn append(message: &[u8]) -> Option<Vec<u8>> {
        serde_json::from_slice::<IgnoredAny>(message).ok()?;
        place(message).map(|place| insert(message, place, ITEM))
    }

    fn text(message: &str) -> Option<String> {
        append(message.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_member_is_given_as_it_is_written() {
        let message = br#" { "params":{"id":1},"id" : 12345678901234567890123 ,"x":"\"id\":2"}"#;
        assert_eq!(member_of(message, "id"), Some(&b"12345678901234567890123"[..]));
        assert_eq!(member_of(br#"{"id":"\u0041"}"#, "id"), Some(&br#""\u0041""#[..]));
        assert_eq!(member_of(b"{}", "id"), None);
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
            let spliced = append(&written).unwrap();
            prop_assert_eq!(serde_json::from_slice::<Value>(&spliced).unwrap(), expected);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200), json in value()) {
            append(&bytes);
            append(json.to_string().as_bytes());
        }
    }
}
