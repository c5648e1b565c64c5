use hindsight_ports::{JsonSchema, LlmError, LlmReply, LlmRequest};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::dialect::{Dialect, Format};
use crate::{
    endpoint::{Endpoint, malformed},
    json, tokens,
};

/// The request of OpenAI's "Create chat completion".
#[derive(Debug, Serialize)]
pub(super) struct Request<'a> {
    model: &'a str,
    messages: [Message<'a>; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
}

#[derive(Debug, Serialize)]
struct Message<'a> {
    role: &'static str,
    content: std::borrow::Cow<'a, str>,
}

pub(super) fn request<'a>(model: &'a str, request: &'a LlmRequest, dialect: Dialect) -> Request<'a> {
    let limit = Some(request.max_output_tokens);
    let system = match &request.schema {
        Some(schema) if dialect.format != Format::JsonSchema => told(&request.system, schema).into(),
        _ => request.system.as_str().into(),
    };
    Request {
        model,
        messages: [
            Message { role: "system", content: system },
            Message { role: "user", content: request.user.as_str().into() },
        ],
        max_tokens: limit.filter(|_| !dialect.completion_tokens),
        max_completion_tokens: limit.filter(|_| dialect.completion_tokens),
        temperature: dialect.temperature.then_some(request.temperature),
        seed: request.seed.filter(|_| dialect.seed),
        response_format: request.schema.as_ref().and_then(|s| response_format(s, dialect.format)),
    }
}

fn response_format(JsonSchema { name, schema }: &JsonSchema, format: Format) -> Option<Value> {
    match format {
        Format::JsonSchema => Some(json!({
            "type": "json_schema",
            "json_schema": {"name": name, "strict": true, "schema": schema},
        })),
        Format::JsonObject => Some(json!({"type": "json_object"})),
        Format::Prompt => None,
    }
}

/// The prompt for servers that cannot hold a model to a schema.
fn told(system: &str, schema: &JsonSchema) -> String {
    format!(
        "{system}\n\nAnswer with one JSON object that fits this JSON schema, and nothing before or after it:\n{}",
        schema.schema
    )
}

#[derive(Debug, Deserialize)]
struct Response {
    #[serde(default)]
    model: Option<String>,
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    message: Answer,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Answer {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

pub(super) fn reply(body: &[u8], request: &LlmRequest, endpoint: &Endpoint) -> Result<LlmReply, LlmError> {
    let Response { model, choices, usage } = serde_json::from_slice(body)
        .map_err(|e| malformed(format!("not the answer of an OpenAI-compatible endpoint: {e}")))?;
    let choice = choices.into_iter().next().ok_or_else(|| malformed("the answer has no choice in it"))?;
    let Choice { message: Answer { content, refusal }, finish_reason } = choice;
    let text = content.unwrap_or_default();
    let (input, output) = usage.map_or_else(
        || (tokens::estimate_input(request), tokens::estimate(&text)),
        |usage| (usage.prompt_tokens, usage.completion_tokens),
    );
    let usage = tokens::usage(input, output, endpoint.prices);
    if let Some(reason) = refusal.filter(|r| !r.is_empty()) {
        return Err(LlmError::Declined { reason });
    }
    match finish_reason.as_deref() {
        Some("content_filter") => {
            return Err(LlmError::Declined { reason: "a content filter held the answer back".to_owned() });
        }
        // A complete value can end with the very last token.
        Some("length") if request.schema.is_none() || json::extract(&text) != Some(text.trim()) => {
            let max_output_tokens = request.max_output_tokens;
            return Err(LlmError::Truncated { text, max_output_tokens, usage });
        }
        _ => {}
    }
    let text = match &request.schema {
        None => text,
        Some(_) => json::extract(&text)
            .ok_or_else(|| LlmError::Malformed { reason: "there is no JSON in it".to_owned(), usage })?
            .to_owned(),
    };
    if text.trim().is_empty() {
        return Err(LlmError::Malformed { reason: "it is empty".to_owned(), usage });
    }
    Ok(LlmReply { text, model: model.unwrap_or_else(|| endpoint.model.clone()), usage, cached: false })
}
