use hindsight_proto::recall::v1::{WatchRequest, WatchResponse};
use tokio_stream::Stream;
use tonic::Streaming;

use crate::{Client, Error};

impl Client {
    /// Opens a stream on which the memory speaks up while a task runs: exactly one answer per event, in order. It has
    /// no deadline and is not repeated: it ends with the events, or with an error after which another one may be
    /// opened.
    pub async fn watch(
        &self,
        events: impl Stream<Item = WatchRequest> + Send + 'static,
    ) -> Result<Streaming<WatchResponse>, Error> {
        Ok(self.recaller().watch(events).await?.into_inner())
    }
}
