//! Answers over HTTP: in the form in which was asked, an error as `google.rpc.Status`, and for what may be tried
//! again the time after which.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use hindsight_api::status;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;
use serde_json::{Value, json};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::http::Refused;
use crate::NAME;

/// How bodies are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Protobuf,
    Json,
}

impl Form {
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        match kind.split(';').next()?.trim().to_ascii_lowercase().as_str() {
            "application/x-protobuf" => Some(Self::Protobuf),
            "application/json" => Some(Self::Json),
            _ => None,
        }
    }

    const fn content_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/x-protobuf",
            Self::Json => "application/json",
        }
    }
}

pub(super) fn accepted(response: &ExportTraceServiceResponse, form: Form) -> Response {
    let body = match form {
        Form::Protobuf => response.encode_to_vec(),
        Form::Json => match &response.partial_success {
            None => b"{}".to_vec(),
            // 64-bit numbers are texts in protobuf's JSON.
            Some(partial) => json!({ "partialSuccess": {
                "rejectedSpans": partial.rejected_spans.to_string(),
                "errorMessage": partial.error_message,
            }})
            .to_string()
            .into_bytes(),
        },
    };
    answer(StatusCode::OK, form, body)
}

pub(super) fn refused(refused: &Refused, form: Form) -> Response {
    let error = |code, reason, message: &str| status::error(NAME, code, reason, message, []);
    let (code, status) = match refused {
        Refused::TooLarge => {
            let message = "the body is larger than 64 MiB, packed or unpacked; send fewer spans at a time";
            (StatusCode::PAYLOAD_TOO_LARGE, error(Code::InvalidArgument, "BODY_TOO_LARGE", message))
        }
        Refused::MediaType => {
            let message = "send `content-type: application/x-protobuf` or `application/json`, and as \
                           `content-encoding` gzip or none";
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, error(Code::InvalidArgument, "MEDIA_TYPE", message))
        }
        // Exporters repeat 429, 503 and 504.
        Refused::Status(refusal) => (status::http_code(refusal.code()), refusal.clone()),
    };
    let body = match form {
        Form::Protobuf => encoded(&status),
        Form::Json => in_json(&status).to_string().into_bytes(),
    };
    let mut response = answer(code, form, body);
    if let Some(after) = status.get_details_retry_info().and_then(|r| r.retry_delay) {
        let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if code == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// `google.rpc.Status`: what gRPC would send in its trailers, or what little there is.
fn encoded(status: &Status) -> Vec<u8> {
    if !status.details().is_empty() {
        return status.details().to_vec();
    }
    let (code, message) = (status.code() as i32, status.message().to_owned());
    tonic_types::pb::Status { code, message, details: Vec::new() }.encode_to_vec()
}

fn in_json(status: &Status) -> Value {
    let mut details = Vec::new();
    if let Some(info) = status.get_details_error_info() {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": info.reason, "domain": info.domain, "metadata": info.metadata,
        }));
    }
    if let Some(after) = status.get_details_retry_info().and_then(|r| r.retry_delay) {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{}s", after.as_secs_f64()),
        }));
    }
    json!({ "code": status.code() as i32, "message": status.message(), "details": details })
}

fn answer(code: StatusCode, form: Form, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(form.content_type()));
    response
}
