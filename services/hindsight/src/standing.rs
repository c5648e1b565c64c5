//! A memory for commands that serve others for as long as these want: they go on when it is away, and look for it
//! again.

use std::{cell::Cell, time::Duration};

use hindsight_client::Client;
use hindsight_config::Config;
use hindsight_mcp::Memory;
use hindsight_wiring::Failure;
use tokio::{
    sync::{Notify, watch},
    time::{sleep, timeout},
};

use crate::context::{Context, Way};

/// Pause before a memory that was not to be had, or that went away, is looked for again.
const PAUSE: Duration = Duration::from_secs(2);
/// How long the end of the roles in this process is waited for.
const FAREWELL: Duration = Duration::from_secs(2);

/// Runs `work`, which begins at once, with a memory that comes as soon as it can. Nothing that is wrong with the
/// memory or its settings keeps it from that.
pub(crate) async fn beside(
    context: &Context,
    work: impl AsyncFnOnce(Memory) -> Result<u8, Failure>,
) -> Result<u8, Failure> {
    if context.ui.json {
        context.ui.note("--json changes nothing here: what is written is the protocol");
    }
    let (there, memory) = Memory::later();
    let Some(config) = settings(context) else {
        drop(there);
        return work(memory).await;
    };
    let search = Search { context, config: &config, there, memory: memory.clone(), held: Cell::new(false) };
    let over = Notify::new();
    let (working, remembering) = (work(memory), search.run(&over));
    tokio::pin!(working, remembering);
    let done = tokio::select! {
        done = &mut working => done,
        () = &mut remembering => return working.await,
    };
    over.notify_one();
    if search.held.get() {
        let _ = timeout(FAREWELL, remembering).await;
    }
    done
}

/// What a memory is found with. `None`: it cannot be, for a mistake that has been told.
fn settings(context: &Context) -> Option<Config> {
    let failure = match context.client_config() {
        Ok(config) => return Some(config),
        Err(failure) => failure,
    };
    // A server that is named has settings of its own.
    let named = context.names_server();
    let without = if named { "these settings" } else { "memory, until it is started again" };
    context.ui.note(&format!("hindsight: {failure}; going on without {without}"));
    // With them the log begins in either case; but the directory that they name is not the one that was meant.
    context.default_config().ok().filter(|_| named)
}

struct Search<'a> {
    context: &'a Context,
    config: &'a Config,
    there: watch::Sender<Option<Client>>,
    memory: Memory,
    /// Whether there is one, which is let go of in order.
    held: Cell<bool>,
}

impl Search<'_> {
    /// Keeps the memory there until it is over.
    async fn run(&self, over: &Notify) {
        let mut told = false;
        loop {
            let found = self.context.with_standing_client(self.config, async |client, way| {
                self.held.set(true);
                self.there.send_replace(Some(client));
                tokio::select! {
                    () = over.notified() => true,
                    // Who served the directory may have ended, and this process can take its place.
                    () = self.memory.trouble(), if way == Way::Others => false,
                }
            });
            match found.await {
                Ok(true) => return,
                Ok(false) => {}
                Err(failure) if !std::mem::replace(&mut told, true) => {
                    let note = format!("hindsight: {failure}; going on without memory until it is there");
                    self.context.ui.note(&note);
                }
                Err(_) => {}
            }
            self.held.set(false);
            sleep(PAUSE).await;
        }
    }
}
