//! What the proxy reads of a message of JSON-RPC. What it does not know is none of its business.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

/// Where a request says who the client is and in which version it is, and a result who the server is.
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// Which side sent a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// The id of a request, as it is written: `1` and `"1"` are two.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Id(String);

impl Id {
    pub(crate) fn of(value: &Value) -> Option<Self> {
        (value.is_number() || value.is_string()).then(|| Self(value.to_string()))
    }

    /// As JSON.
    pub(crate) fn as_json(&self) -> &str {
        &self.0
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub id: Id,
    pub tool: String,
    pub arguments: Value,
    /// It says which version of the protocol it is in, as all requests do since 2026-07-28.
    pub versioned: bool,
}

/// What came back from a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub failed: bool,
    /// The text of it; what is not text is named.
    pub text: String,
}

/// What is of interest in a message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// The client says who it is.
    Hello {
        client: String,
    },
    Call(Call),
    /// The client no longer waits.
    Cancelled {
        id: Id,
        reason: String,
    },
    /// The server wants to know more first; the client makes the call again.
    Postponed {
        id: Id,
    },
    /// The server answers a request, and may say who it is.
    Answered {
        id: Id,
        server: Option<String>,
        answer: Answer,
    },
}

/// Reads a message, or several in an array.
pub(crate) fn read(side: Side, bytes: &[u8]) -> Vec<Message> {
    match serde_json::from_slice(bytes) {
        Ok(Value::Array(messages)) => messages.into_iter().flat_map(|m| of_one(side, m)).collect(),
        Ok(message) => of_one(side, message),
        Err(_) => Vec::new(),
    }
}

/// Since 2026-07-28 there is no greeting: who the client is stands in each request.
fn of_one(side: Side, message: Value) -> Vec<Message> {
    let client = match side {
        Side::Client => message["params"]["_meta"][CLIENT]["name"].as_str().map(str::to_owned),
        Side::Server => None,
    };
    client.map(|client| Message::Hello { client }).into_iter().chain(one(side, message)).collect()
}

/// What tells to whom a message of a client belongs that names no session.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// With it a client begins.
    pub greets: bool,
    /// Who the client says it is, in words that only tell it from others.
    pub client: Option<String>,
}

impl Head {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Request<'a> {
            #[serde(borrow, default)]
            method: Cow<'a, str>,
            params: Option<Params>,
        }
        #[derive(Deserialize)]
        struct Params {
            #[serde(rename = "_meta")]
            meta: Option<Meta>,
        }
        #[derive(Deserialize)]
        struct Meta {
            #[serde(rename = "io.modelcontextprotocol/clientInfo")]
            client: Option<Value>,
        }
        let Ok(request) = serde_json::from_slice::<Request<'_>>(bytes) else { return Self::default() };
        let client = request.params.and_then(|p| p.meta).and_then(|m| m.client);
        let greets = matches!(request.method.as_ref(), "initialize" | "server/discover");
        Self { greets, client: client.map(|c| c.to_string()) }
    }
}

/// The call that a message of the client is, when it is one and nothing else.
pub(crate) fn read_call(bytes: &[u8]) -> Option<Call> {
    // Most messages are no calls, and looking is faster than reading: the word is there as it is, or with an escape.
    if memchr::memmem::find(bytes, b"tools/call").is_none() {
        memchr::memchr(b'\\', bytes)?;
    }
    match one(Side::Client, serde_json::from_slice(bytes).ok()?) {
        Some(Message::Call(call)) => Some(call),
        _ => None,
    }
}

fn one(side: Side, mut message: Value) -> Option<Message> {
    let id = Id::of(&message["id"]);
    match side {
        Side::Client => {
            let mut params = message["params"].take();
            match message["method"].as_str()? {
                "initialize" => Some(Message::Hello { client: words(&params["clientInfo"]["name"]) }),
                "tools/call" => Some(Message::Call(Call {
                    id: id?,
                    tool: params["name"].as_str()?.to_owned(),
                    arguments: params["arguments"].take(),
                    versioned: params["_meta"][VERSION].is_string(),
                })),
                "notifications/cancelled" => Some(Message::Cancelled {
                    id: Id::of(&params["requestId"])?,
                    reason: words(&params["reason"]),
                }),
                _ => None,
            }
        }
        Side::Server if message.get("method").is_none() => {
            let result = &message["result"];
            if result["resultType"] == "input_required" {
                return Some(Message::Postponed { id: id? });
            }
            let server =
                result["serverInfo"]["name"].as_str().or_else(|| result["_meta"][SERVER]["name"].as_str());
            Some(Message::Answered { id: id?, server: server.map(str::to_owned), answer: answer(&message)? })
        }
        Side::Server => None,
    }
}

fn words(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn answer(message: &Value) -> Option<Answer> {
    if let Some(error) = message.get("error") {
        let text = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
        return Some(Answer { failed: true, text });
    }
    let result = message.get("result")?;
    let failed = result["isError"] == true;
    let items = result["content"].as_array().map_or_else(Vec::new, |c| c.iter().map(item).collect());
    let text = match (items.is_empty(), result.get("structuredContent")) {
        (false, _) => items.join("\n"),
        (true, Some(structured)) => structured.to_string(),
        (true, None) if result["content"].is_array() => String::new(),
        (true, None) => result.to_string(),
    };
    Some(Answer { failed, text })
}

/// The text of a content item, or what it is.
fn item(item: &Value) -> String {
    let kind = item["type"].as_str().unwrap_or("content");
    if let Some(text) = item["text"].as_str().or_else(|| item["resource"]["text"].as_str()) {
        return text.to_owned();
    }
    let about = if kind == "resource" { &item["resource"] } else { item };
    let named = ["mimeType", "name", "uri"].iter().filter_map(|f| about[*f].as_str());
    let mut words: Vec<_> = std::iter::once(kind.to_owned()).chain(named.map(str::to_owned)).collect();
    if let Some(data) = about["data"].as_str().or_else(|| about["blob"].as_str()) {
        words.push(format!("{} characters of base64", data.len()));
    }
    format!("[{}]", words.join(" "))
}

/// A call without its id, the same however its arguments are ordered.
pub(crate) fn same_call(tool: &str, arguments: &Value) -> String {
    fn write(value: &Value, out: &mut String) {
        match value {
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_unstable_by_key(|(name, _)| *name);
                out.push('{');
                for (name, value) in members {
                    out.push_str(&Value::from(name.as_str()).to_string());
                    write(value, out);
                }
                out.push('}');
            }
            Value::Array(items) => {
                out.push('[');
                for item in items {
                    write(item, out);
                    out.push(',');
                }
                out.push(']');
            }
            leaf => out.push_str(&leaf.to_string()),
        }
    }
    let mut key = format!("{tool}\n");
    write(arguments, &mut key);
    key
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn answered(result: Value) -> Answer {
        let message = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
        match read(Side::Server, message.as_bytes()).pop() {
            Some(Message::Answered { answer, .. }) => answer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_call_is_read_with_its_id_as_it_is_written() {
        let call = |id: &str| {
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"weather","arguments":{{"city":"北京"}}}}}}"#
            );
            read_call(line.as_bytes())
        };
        let one = call("1").unwrap();
        assert_eq!((one.tool.as_str(), &one.arguments), ("weather", &json!({"city": "北京"})));
        assert_ne!(one.id, call("\"1\"").unwrap().id);
        assert_eq!(call("null"), None);
        assert_eq!(read_call(br#"{"id":1,"method":"tools/list","params":{"name":"tools/call"}}"#), None);
        for escaped in [r"tools\/call", r"tools\u002fcall", r"\u0074ools/call"] {
            let line = format!(r#"{{"id":1,"method":"{escaped}","params":{{"name":"weather"}}}}"#);
            assert_eq!(read_call(line.as_bytes()).unwrap().tool, "weather", "{line}");
        }
    }

    #[test]
    fn a_greeting_is_known_by_its_method_and_newer_messages_say_who_asks() {
        let greets = |line: &str| Head::of(line.as_bytes()).greets;
        assert!(greets(r#"{"id":0,"method":"initialize","params":{"clientInfo":{"name":"x"}}}"#));
        assert!(greets(r#"{"id":0,"method":"server\/discover"}"#));
        for other in [
            r#"{"id":1,"method":"tools/call","params":{"name":"t","arguments":{"phase":"initialize"}}}"#,
            r#"{"id":1,"method":"tools/call","params":{"method":"initialize"}}"#,
            r#"[{"method":"initialize"}]"#,
            r#"{"method":7}"#,
            "initialize",
        ] {
            assert_eq!(Head::of(other.as_bytes()), Head::default(), "{other}");
        }
        let named = |name: &str| {
            let call =
                json!({"method": "tools/call", "params": {"name": "t", "_meta": {CLIENT: {"name": name}}}});
            Head::of(call.to_string().as_bytes()).client
        };
        assert!(named("a").is_some() && named("a") == named("a") && named("a") != named("b"));
    }

    #[test]
    fn the_text_of_a_result_names_what_is_not_text() {
        let result = json!({"content": [
            {"type": "text", "text": "晴"},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
            {"type": "resource_link", "uri": "file:///b", "name": "b"},
        ]});
        let expected = "晴\n[image image/png 4 characters of base64]\ninside\n[resource_link b file:///b]";
        assert_eq!(answered(result), Answer { failed: false, text: expected.to_owned() });
        assert_eq!(answered(json!({"content": [], "structuredContent": {"t": 3}})).text, r#"{"t":3}"#);
        assert_eq!(answered(json!({"content": []})).text, "");
        assert!(answered(json!({"content": [], "isError": true})).failed);
    }

    #[test]
    fn errors_and_several_messages_in_one_are_read() {
        let both = br#"[{"id":2,"error":{"code":-32602,"message":"no such tool"}},{"id":"x","result":{}},{"method":"ping","id":9}]"#;
        let read = read(Side::Server, both);
        assert_eq!(read.len(), 2);
        assert!(
            matches!(&read[0], Message::Answered { answer, .. } if answer.failed && answer.text == "no such tool")
        );
    }

    #[test]
    fn newer_messages_say_who_sends_them_and_may_postpone_a_call() {
        let call = json!({"id": 1, "method": "tools/call", "params": {
            "name": "t", "_meta": {CLIENT: {"name": "claude", "version": "3"}}}});
        let said = read(Side::Client, call.to_string().as_bytes());
        assert!(
            matches!(&said[..], [Message::Hello { client }, Message::Call(_)] if client == "claude"),
            "{said:?}"
        );
        let result = json!({"id": 1, "result": {"content": [], "_meta": {SERVER: {"name": "weather"}}}});
        let said = read(Side::Server, result.to_string().as_bytes());
        assert!(
            matches!(&said[..], [Message::Answered { server: Some(s), .. }] if s == "weather"),
            "{said:?}"
        );
        let more = json!({"id": 1, "result": {"resultType": "input_required", "inputRequests": {}}});
        let said = read(Side::Server, more.to_string().as_bytes());
        assert!(matches!(&said[..], [Message::Postponed { .. }]), "{said:?}");
    }

    #[test]
    fn a_call_is_the_same_whatever_the_order_of_its_arguments() {
        let call = |arguments: &str| same_call("t", &serde_json::from_str(arguments).unwrap());
        assert_eq!(call(r#"{"a":{"x":1,"y":[1,2]},"b":"z"}"#), call(r#"{"b":"z","a":{"y":[1,2],"x":1}}"#));
        for other in
            [r#"{"a":{"x":1,"y":[12]},"b":"z"}"#, r#"{"a":{"x":1,"y":[1,2]}}"#, "null", r#"[{"a":1}]"#]
        {
            assert_ne!(call(r#"{"a":{"x":1,"y":[1,2]},"b":"z"}"#), call(other));
        }
        assert_ne!(same_call("t", &Value::Null), same_call("u", &Value::Null));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_left(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            read(Side::Client, &bytes);
            read(Side::Server, &bytes);
            read_call(&bytes);
        }
    }
}
