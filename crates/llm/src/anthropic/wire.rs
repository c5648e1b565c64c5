use hindsight_ports::{JsonSchema, LlmError, LlmReply, LlmRequest};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    endpoint::{Endpoint, malformed},
    tokens,
};

/// The request of Anthropic's "Create a message".
#[derive(Debug, Serialize)]
pub(super) struct Request<'a> {
    model: &'a str,
    max_tokens: u32,
    system: &'a str,
    messages: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

pub(super) fn request<'a>(model: &'a str, request: &'a LlmRequest, temperature: bool) -> Request<'a> {
    let tool = |JsonSchema { name, schema }: &JsonSchema| json!([{"name": name, "description": "Takes the answer.", "input_schema": schema}]);
    Request {
        model,
        max_tokens: request.max_output_tokens,
        system: &request.system,
        messages: json!([{"role": "user", "content": request.user}]),
        // Theirs ends at 1.
        temperature: temperature.then(|| request.temperature.clamp(0.0, 1.0)),
        tools: request.schema.as_ref().map(tool),
        tool_choice: request.schema.as_ref().map(|s| json!({"type": "tool", "name": s.name})),
    }
}

#[derive(Debug, Deserialize)]
struct Response {
    model: String,
    content: Vec<Block>,
    #[serde(default)]
    stop_reason: Option<String>,
    usage: Usage,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    ToolUse {
        input: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
}

pub(super) fn reply(body: &[u8], request: &LlmRequest, endpoint: &Endpoint) -> Result<LlmReply, LlmError> {
    let Response { model, content, stop_reason, usage } = serde_json::from_slice(body)
        .map_err(|e| malformed(format!("not the answer of Anthropic's messages: {e}")))?;
    let cached = usage.cache_creation_input_tokens.unwrap_or(0) + usage.cache_read_input_tokens.unwrap_or(0);
    let usage = tokens::usage(usage.input_tokens + cached, usage.output_tokens, endpoint.prices);
    let said = content.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::ToolUse { .. } | Block::Other => None,
    });
    let said = said.collect::<Vec<_>>().concat();
    let given = content.iter().find_map(|block| match block {
        Block::ToolUse { input } => Some(input.to_string()),
        Block::Text { .. } | Block::Other => None,
    });
    match stop_reason.as_deref() {
        Some("refusal") => Err(LlmError::Declined { reason: said }),
        Some("max_tokens") => {
            let max_output_tokens = request.max_output_tokens;
            Err(LlmError::Truncated { text: given.unwrap_or(said), max_output_tokens, usage })
        }
        _ => {
            let text = if request.schema.is_some() { given } else { Some(said) };
            let text = text.filter(|t| !t.trim().is_empty());
            let missing = || LlmError::Malformed { reason: "there is no answer in it".to_owned(), usage };
            Ok(LlmReply { text: text.ok_or_else(missing)?, model, usage, cached: false })
        }
    }
}
