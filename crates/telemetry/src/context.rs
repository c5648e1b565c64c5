//! The trace a call or message belongs to, as W3C `traceparent` and `tracestate`.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::{
    Context,
    propagation::{Extractor, Injector, TextMapPropagator as _},
    trace::{SpanContext, TraceContextExt as _},
};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// Longest header that is carried on; W3C asks for 512 characters of `tracestate`.
const HEADER_BYTES: usize = 512;
const HEADERS: [&str; 2] = ["traceparent", "tracestate"];

/// The trace of the code that runs now, to be carried by a message. Empty: it is in none.
pub fn current() -> BTreeMap<String, String> {
    carried(&Context::current())
}

pub(crate) fn carried(context: &Context) -> BTreeMap<String, String> {
    let mut carried = Carried::default();
    TraceContextPropagator::new().inject_context(context, &mut carried);
    carried.0
}

/// The trace of a call, as its headers name it, to be carried by a message.
pub fn of_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let carried = HEADERS.into_iter().filter_map(|name| {
        let value = headers.get(name)?.to_str().ok().filter(|v| v.len() <= HEADER_BYTES)?;
        Some((name.to_owned(), value.to_owned()))
    });
    carried.collect()
}

/// Puts the trace of the code that runs now into the headers of a call.
pub(crate) fn inject(span: &Span, headers: &mut HeaderMap) {
    let own = span.context();
    let context = if own.span().span_context().is_valid() { own } else { Context::current() };
    TraceContextPropagator::new().inject_context(&context, &mut Headers(headers));
}

/// Makes the caller's span the parent of `span`, which has not been entered.
pub fn adopt(span: &Span, headers: &HeaderMap) {
    join(span, &of_headers(headers));
}

/// Makes the span that a message names the parent of `span`.
pub(crate) fn join(span: &Span, carried: &BTreeMap<String, String>) {
    let context = extract(carried);
    if context.span().span_context().is_valid() {
        // Refused only when nothing listens to the span.
        let _ = span.set_parent(context);
    }
}

/// The span that a message names; invalid when it names none.
pub(crate) fn origin(carried: &BTreeMap<String, String>) -> SpanContext {
    extract(carried).span().span_context().clone()
}

fn extract(carried: &BTreeMap<String, String>) -> Context {
    // Not of the current context: a message stands for itself.
    TraceContextPropagator::new().extract_with_context(&Context::new(), &Carrier(carried))
}

#[derive(Default)]
struct Carried(BTreeMap<String, String>);

impl Injector for Carried {
    fn set(&mut self, key: &str, value: String) {
        if !value.is_empty() {
            self.0.insert(key.to_owned(), value);
        }
    }
}

struct Carrier<'a>(&'a BTreeMap<String, String>);

impl Extractor for Carrier<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }
}

struct Headers<'a>(&'a mut HeaderMap);

impl Injector for Headers<'_> {
    fn set(&mut self, key: &str, value: String) {
        let header = HeaderName::try_from(key).ok().zip(HeaderValue::try_from(value).ok());
        if let Some((name, value)) = header.filter(|(_, v)| !v.is_empty()) {
            self.0.insert(name, value);
        }
    }
}
