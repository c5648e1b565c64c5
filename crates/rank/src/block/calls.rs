//! The arguments of a call as a person would write them.

use serde_json::{Map, Value};

/// `{"command": "df -h"}` as `df -h`, `{"order": "SO-1", "dry": true}` as `order=SO-1, dry=true`; what is no
/// JSON object as it is. Shorter than JSON in JSON, and free of its escapes.
pub(crate) fn plain(arguments: &str) -> String {
    let object = Some(arguments.trim()).filter(|a| a.starts_with('{'));
    let Some(map) = object.and_then(|o| serde_json::from_str::<Map<String, Value>>(o).ok()) else {
        return arguments.to_owned();
    };
    if map.len() == 1
        && let Some(Value::String(only)) = map.values().next()
    {
        return only.clone();
    }
    let pairs: Vec<String> = map.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
    pairs.join(", ")
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn arguments_read_as_people_write_them() {
        for (json, expected) in [
            (r#"{"command": "docker ps --format \"{{.Names}}\""}"#, r#"docker ps --format "{{.Names}}""#),
            (r#"{"order": "SO-1", "ports": [80, 81]}"#, "order=SO-1, ports=[80,81]"),
            (r#"{"原因": "重复扣费"}"#, "重复扣费"),
            (r#"{"limit": 5}"#, "limit=5"),
            ("{}", ""),
            ("api 512Mi", "api 512Mi"),
            (r#"{"cut": "in the mid"#, r#"{"cut": "in the mid"#),
        ] {
            assert_eq!(plain(json), expected);
        }
    }
}
