//! Bodies, of any length.

use std::{
    pin::Pin,
    sync::{Mutex, PoisonError},
    task::{Context, Poll},
};

use axum::body::{Body, Bytes};
use futures::{StreamExt as _, stream};
use http_body::{Frame, SizeHint};

use super::super::{
    calls::Way,
    message::Side,
    observe::{MESSAGE_BYTES, Notes, Seen},
};

/// A message that is read before it goes on.
#[derive(Debug)]
pub(super) enum Message {
    Whole(Bytes),
    /// It is too long to be held, and goes on as it came.
    Long(Body),
}

impl Message {
    /// All of it, when it was read.
    pub(super) fn whole(&self) -> Option<Bytes> {
        match self {
            Self::Whole(bytes) => Some(bytes.clone()),
            Self::Long(_) => None,
        }
    }
}

/// Reads a body to its end, unless it is too long.
pub(super) async fn read(body: Body) -> Result<Message, axum::Error> {
    if http_body::Body::size_hint(&body).lower() > MESSAGE_BYTES as u64 {
        return Ok(Message::Long(body));
    }
    let (mut rest, mut held) = (body.into_data_stream(), Vec::new());
    while let Some(chunk) = rest.next().await {
        held.extend_from_slice(&chunk?);
        if held.len() > MESSAGE_BYTES {
            let begun = stream::iter([Ok(Bytes::from(held))]);
            return Ok(Message::Long(Body::from_stream(begun.chain(rest))));
        }
    }
    Ok(Message::Whole(held.into()))
}

impl From<Message> for reqwest::Body {
    fn from(message: Message) -> Self {
        match message {
            Message::Whole(bytes) => bytes.into(),
            Message::Long(body) => Self::wrap(Alone(Mutex::new(body))),
        }
    }
}

/// A body that threads may share a reference to, which only the one that reads it needs.
struct Alone(Mutex<Body>);

impl http_body::Body for Alone {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let body = self.get_mut().0.get_mut().unwrap_or_else(PoisonError::into_inner);
        Pin::new(body).poll_frame(context)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).size_hint()
    }
}

/// Passes a message of the server on as it comes, and notes it at its end.
pub(super) fn copied(body: Body, way: Way, notes: Notes) -> Body {
    let mut copy = Copy { held: Some(Vec::new()), way, notes };
    Body::from_stream(body.into_data_stream().map(move |chunk| {
        if let Ok(bytes) = &chunk {
            copy.take(bytes);
        }
        chunk
    }))
}

/// Whoever sends a body with a length stops at the length, so the end shows only when it is dropped.
struct Copy {
    /// `None`: it is too long.
    held: Option<Vec<u8>>,
    way: Way,
    notes: Notes,
}

impl Copy {
    fn take(&mut self, bytes: &[u8]) {
        let Some(held) = &mut self.held else { return };
        if held.len() + bytes.len() > MESSAGE_BYTES {
            self.held = None;
            self.notes.too_long();
        } else {
            held.extend_from_slice(bytes);
        }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            self.notes.note(Seen::Message { side: Side::Server, way: self.way, bytes: held.into() });
        }
    }
}
