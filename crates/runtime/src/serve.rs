use std::time::Duration;

use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tonic::transport::{Server, server::TcpIncoming};

use crate::{Exit, Running, RuntimeError, StopSignal};

/// How long calls in flight may take before the roles they need are stopped. Streams do not end by
/// themselves: their role ends them.
const DRAIN: Duration = Duration::from_secs(1);
/// Streams of one connection at a time.
const STREAMS: u32 = 1024;
/// How much may arrive that is not read yet, in bytes. Of small frames h2 lets no more wait than the windows account
/// for, and cuts the connection when there are more (`too_many_data_frames`); clients that send each message of a
/// stream in a frame of its own have many.
const CONNECTION_WINDOW: u32 = 32 << 20;
const STREAM_WINDOW: u32 = 1 << 20;
const KEEPALIVE: Duration = Duration::from_secs(30);
const KEEPALIVE_ANSWER: Duration = Duration::from_secs(20);

type ServerTask = JoinHandle<Result<(), tonic::transport::Error>>;

/// Serves until `stop` is requested, then ends everything in order: health says NOT_SERVING, nothing more
/// is accepted, the roles stop one after the other. Without keys only loopback is served.
pub async fn serve(running: Running, listener: TcpListener, stop: StopSignal) -> Result<Exit, RuntimeError> {
    let address = listener.local_addr()?;
    if running.edge.is_open() && !address.ip().is_loopback() {
        return Err(RuntimeError::OpenToNetwork(address));
    }
    tracing::info!(%address, "serving");
    let closing = CancellationToken::new();
    let mut task = AbortOnDropHandle::new(spawn(&running, listener, closing.clone()));
    tokio::select! {
        ended = &mut task => {
            running.stop().await;
            // Without a request to stop, the server ends only when it fails.
            ended.map_err(std::io::Error::other)??;
            return Err(std::io::Error::other("the listener ended by itself").into());
        }
        () = stop.graceful.cancelled() => {}
    }
    let sources = async {
        closing.cancel();
        // hyper may wait for ever on a connection that does not end, so this has a limit, and what is
        // left is cut when the task is dropped.
        let _ = tokio::time::timeout(DRAIN, &mut task).await;
    };
    let exit = running.stop_with(sources, &stop.immediate).await;
    if exit == Exit::Clean && !task.is_finished() {
        // The last answers of streams that their role has just ended.
        let _ = tokio::time::timeout(DRAIN, &mut task).await;
    }
    Ok(exit)
}

fn spawn(running: &Running, listener: TcpListener, closing: CancellationToken) -> ServerTask {
    let router = Server::builder()
        // Exporters of traces speak it.
        .accept_http1(true)
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE_ANSWER))
        .initial_connection_window_size(Some(CONNECTION_WINDOW))
        .initial_stream_window_size(Some(STREAM_WINDOW))
        .max_concurrent_streams(STREAMS)
        .add_routes(running.routes());
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true)).with_keepalive(Some(KEEPALIVE));
    tokio::spawn(
        async move { router.serve_with_incoming_shutdown(incoming, closing.cancelled_owned()).await },
    )
}
