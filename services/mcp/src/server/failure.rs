//! What goes wrong, in words that a model can act on.

use hindsight_client::Error;
use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock},
};
use tonic::Code;

/// As the result of a tool.
pub(crate) fn told(error: &Error) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(words(error))])
}

/// As the answer to a request that has no result.
pub(crate) fn refused(error: &Error, data: Option<serde_json::Value>) -> ErrorData {
    match error.code {
        Code::NotFound => ErrorData::resource_not_found(words(error), data),
        Code::InvalidArgument => ErrorData::invalid_params(words(error), data),
        _ => ErrorData::internal_error(words(error), data),
    }
}

fn words(error: &Error) -> String {
    let remedy = match error.code {
        Code::Unavailable | Code::DeadlineExceeded => {
            "The memory does not answer now; go on without it, or try again later."
        }
        Code::Unauthenticated => "This MCP server has no key that opens the memory; go on without it.",
        Code::PermissionDenied => "The API key in use does not allow this; go on without it.",
        _ => return error.to_string(),
    };
    format!("{error}. {remedy}")
}
