//! Hindsight as `hindsight serve` runs it, all roles in this process on a data directory of their own, in the time of
//! a simulated world.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use hindsight_client::Client;
use hindsight_config::Sources;
use hindsight_types::Timestamp;
use hindsight_wiring::{
    Embedded,
    data_dir::{DataDir, Hold},
};
use tempfile::TempDir;

use crate::clock::WorldClock;

const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Longest time for what was acknowledged to be done.
const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) struct Hindsight {
    embedded: Embedded,
    clock: Arc<WorldClock>,
    dir: TempDir,
}

impl Hindsight {
    /// Starts at `now` with settings, dotted keys with their values, that are not the defaults. The data directory is
    /// made in `dir` and removed at the end.
    pub(crate) async fn start(
        dir: Option<&Path>,
        now: Timestamp,
        settings: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        let dir = dir.map_or_else(tempfile::tempdir, tempfile::tempdir_in)?;
        let flags = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let sources = Sources { flags, data_dir: dir.path().to_owned(), ..Sources::default() };
        let config = hindsight_config::load(&sources)?.config;
        let clock = Arc::new(WorldClock::default());
        clock.set(now);
        let Hold::Mine(held) = DataDir::hold_async(dir.path().to_owned()).await? else {
            anyhow::bail!("a server holds {}, which was made just now", dir.path().display());
        };
        let embedded = Embedded::start_at(&config, held, None, clock.clone()).await?;
        Ok(Self { embedded, clock, dir })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.embedded.client
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// From now on it is `now`.
    pub(crate) fn set_time(&self, now: Timestamp) {
        self.clock.set(now);
    }

    /// Waits until everything that was acknowledged is done.
    pub(crate) async fn settled(&self) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            let (open, dead) = self.embedded.messages().await?;
            anyhow::ensure!(dead == 0, "{dead} messages could not be handled");
            if open == 0 {
                return Ok(());
            }
            anyhow::ensure!(Instant::now() < until, "{open} messages are still not handled");
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Returns when nothing writes to the data directory any more.
    pub(crate) async fn stop(self) {
        self.embedded.stop().await;
    }
}
