//! `POST /v1/traces`, as the OTLP specification has it.

use std::io::Read as _;

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderMap, Request, header},
    response::Response,
    routing::post,
};
use flate2::read::MultiGzDecoder;
use hindsight_api::{Caller, OTLP_PATH, Permission, Refusal, status};
use hindsight_ingest::otlp::{self, Resource};
use hindsight_types::limits;
use http_body_util::{BodyExt as _, Limited};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;
use tonic::{Code, Status};

use super::{
    Otlp,
    answer::{self, Form},
    grpc, wire,
};
use crate::{NAME, message, service::off_thread};

/// Why a request is not taken; HTTP has words for some that gRPC has not.
pub(super) enum Refused {
    /// 413.
    TooLarge,
    /// 415.
    MediaType,
    Status(Status),
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

pub(super) fn router(otlp: Otlp) -> Router {
    Router::new().route(OTLP_PATH, post(export)).with_state(otlp)
}

async fn export(State(otlp): State<Otlp>, request: Request<Body>) -> Response {
    let form = Form::of(request.headers());
    match take(&otlp, request, form).await {
        Ok(response) => response,
        Err(refused) => answer::refused(&refused, form.unwrap_or(Form::Json)),
    }
}

async fn take(otlp: &Otlp, request: Request<Body>, form: Option<Form>) -> Result<Response, Refused> {
    let (head, body) = request.into_parts();
    if let Some(Refusal(status)) = head.extensions.get::<Refusal>() {
        return Err(status.clone().into());
    }
    let caller = head.extensions.get::<Caller>().cloned();
    let caller = caller.ok_or_else(|| status::internal("auth", "the request did not pass the edge layer"))?;
    caller.require(Permission::Write)?;
    let form = form.ok_or(Refused::MediaType)?;
    let packed = is_gzip(&head.headers)?;
    let body = match Limited::new(body, limits::MESSAGE_BYTES).collect().await {
        Ok(body) => body.to_bytes(),
        Err(e) if e.is::<http_body_util::LengthLimitError>() => return Err(Refused::TooLarge),
        Err(e) => return Err(bad("BODY_BROKEN", format!("the body broke off: {e}"))),
    };
    let resources = off_thread(move || {
        let body = if packed { unpacked(&body)? } else { body.to_vec() };
        read(&body, form)
    });
    let resources = resources.await??;
    let trace_context = message::http_trace_context(&head.headers);
    let accepted = otlp.export(caller.tenant, resources, trace_context).await?;
    Ok(answer::accepted(&grpc::response(accepted), form))
}

fn is_gzip(headers: &HeaderMap) -> Result<bool, Refused> {
    match headers.get(header::CONTENT_ENCODING).map(|v| v.as_bytes().to_ascii_lowercase()).as_deref() {
        None | Some(b"" | b"identity") => Ok(false),
        Some(b"gzip" | b"x-gzip") => Ok(true),
        Some(_) => Err(Refused::MediaType),
    }
}

/// No more than a message may be comes out of it, however much is in it.
fn unpacked(body: &[u8]) -> Result<Vec<u8>, Refused> {
    let mut unpacked = Vec::new();
    let read = MultiGzDecoder::new(body).take(limits::MESSAGE_BYTES as u64 + 1).read_to_end(&mut unpacked);
    read.map_err(|e| bad("GZIP_BROKEN", format!("the body is not gzip: {e}")))?;
    if unpacked.len() > limits::MESSAGE_BYTES { Err(Refused::TooLarge) } else { Ok(unpacked) }
}

fn read(body: &[u8], form: Form) -> Result<Vec<Resource>, Refused> {
    match form {
        Form::Json => otlp::from_json(body).map_err(|e| bad("JSON_MALFORMED", format!("the body {e}"))),
        Form::Protobuf => ExportTraceServiceRequest::decode(body)
            .map(wire::resources)
            .map_err(|e| bad("PROTOBUF_MALFORMED", format!("the body is no ExportTraceServiceRequest: {e}"))),
    }
}

fn bad(reason: &str, message: String) -> Refused {
    status::error(NAME, Code::InvalidArgument, reason, message, []).into()
}
