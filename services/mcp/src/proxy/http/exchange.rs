//! A request and its response on their way through.

use axum::{
    body::{Body, Bytes},
    response::{IntoResponse as _, Response},
};
use futures::{Stream, StreamExt as _, stream};
use http::{StatusCode, header};

use super::super::{
    Connection,
    calls::Way,
    gate::{Gate, Verdict},
    message::Side,
    observe::{MESSAGE_BYTES, Seen},
    sse::{Events, with_data},
};
use super::body::{self, Message};

/// What passes is noted for its connection.
#[derive(Debug)]
pub(super) struct Exchange {
    pub connection: Connection,
    pub way: Way,
}

impl Exchange {
    /// What the client is answered in place of the server.
    /// `message` is `None` when it is too long to be read.
    pub(super) async fn request(&self, message: Option<Bytes>) -> Option<Response> {
        let Some(bytes) = message else {
            self.connection.notes.too_long();
            return None;
        };
        self.note(Side::Client, bytes.clone());
        match self.connection.gate.as_ref()?.request(self.way, &bytes).await {
            Verdict::Pass => None,
            Verdict::Answer(answer) => {
                Some(([(header::CONTENT_TYPE, "application/json")], answer).into_response())
            }
        }
    }

    /// The answer of the server, for the client.
    pub(super) async fn response(self, answer: Response) -> Response {
        if answer.headers().contains_key(header::CONTENT_ENCODING) {
            return answer;
        }
        let kind =
            answer.headers().get(header::CONTENT_TYPE).and_then(|k| k.to_str().ok()).unwrap_or_default();
        let is =
            |name: &str| kind.trim_start().get(..name.len()).is_some_and(|k| k.eq_ignore_ascii_case(name));
        if is("text/event-stream") {
            return answer.map(|body| self.events(body));
        }
        if !is("application/json") {
            return answer;
        }
        match self.connection.gate.clone() {
            Some(gate) => self.looked_at(answer, &gate).await,
            None => answer.map(|body| body::copied(body, self.way, self.connection.notes)),
        }
    }

    fn note(&self, side: Side, bytes: Bytes) {
        self.connection.notes.note(Seen::Message { side, way: self.way, bytes });
    }

    /// Looks at a message before it goes on.
    async fn looked_at(&self, answer: Response, gate: &Gate) -> Response {
        let (mut parts, body) = answer.into_parts();
        let bytes = match body::read(body).await {
            Ok(Message::Whole(bytes)) => bytes,
            Ok(Message::Long(body)) => {
                self.connection.notes.too_long();
                return Response::from_parts(parts, body);
            }
            Err(error) => {
                let message = format!("the answer of the MCP server broke off: {error}");
                return (StatusCode::BAD_GATEWAY, message).into_response();
            }
        };
        self.note(Side::Server, bytes.clone());
        let bytes = match gate.answer(self.way, &bytes).await {
            Some(other) => {
                parts.headers.remove(header::CONTENT_LENGTH);
                other.into()
            }
            None => bytes,
        };
        Response::from_parts(parts, Body::from(bytes))
    }

    /// Passes a stream of events on. With a gate each event is whole before it goes on; without, bytes go on as
    /// they come.
    fn events(self, body: Body) -> Body {
        let reader = Reader {
            body: body.into_data_stream(),
            events: Events::new(MESSAGE_BYTES),
            exchange: self,
            ended: false,
        };
        Body::from_stream(reader.run())
    }
}

struct Reader<S> {
    body: S,
    events: Events,
    exchange: Exchange,
    ended: bool,
}

impl<S: Stream<Item = Result<Bytes, axum::Error>> + Unpin> Reader<S> {
    fn run(self) -> impl Stream<Item = Result<Bytes, axum::Error>> {
        stream::unfold(self, |mut reader| async move { reader.next().await.map(|bytes| (bytes, reader)) })
    }

    async fn next(&mut self) -> Option<Result<Bytes, axum::Error>> {
        let Exchange { connection, way } = &self.exchange;
        while !self.ended {
            let chunk = match self.body.next().await {
                Some(Ok(chunk)) => chunk,
                Some(Err(error)) => {
                    self.ended = true;
                    return Some(Err(error));
                }
                None => {
                    self.ended = true;
                    let rest = self.events.end();
                    return (connection.gate.is_some() && !rest.is_empty()).then(|| Ok(rest.into()));
                }
            };
            let mut whole = Vec::new();
            self.events.push(&chunk, |event| whole.push(event));
            for event in &whole {
                if event.is_long {
                    connection.notes.too_long();
                }
                if let Some(data) = &event.data {
                    self.exchange.note(Side::Server, Bytes::copy_from_slice(data));
                }
            }
            let Some(gate) = &connection.gate else { return Some(Ok(chunk)) };
            let mut passed = Vec::with_capacity(chunk.len());
            for event in whole {
                let other = match &event.data {
                    Some(data) => gate.answer(*way, data).await,
                    None => None,
                };
                match other {
                    Some(other) => passed.extend(with_data(&event.raw, &other)),
                    None => passed.extend(event.raw),
                }
            }
            if !passed.is_empty() {
                return Some(Ok(passed.into()));
            }
        }
        None
    }
}
