use std::path::PathBuf;

use hindsight_client::{Client, RetryPolicy};
use hindsight_config::{Config, Sources};
use hindsight_telemetry::{Filter, Telemetry};
use hindsight_wiring::{
    Embedded, Failure, begin_log, begin_telemetry, code,
    data_dir::{DataDir, Hold},
};

use crate::{cli::Global, ui::Ui};

/// What every command has at hand.
pub(crate) struct Context {
    pub ui: Ui,
    global: Global,
}

impl Context {
    pub(crate) fn new(global: Global) -> Self {
        Self { ui: Ui { json: global.json }, global }
    }

    /// Runs a command on a runtime of its own.
    pub(crate) fn block_on(&self, command: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(command)
    }

    /// As [`Self::block_on`], for a command that serves a client at standard input: reading that cannot be ended,
    /// and is not waited for. Each other thread of the runtime does `first` at its start.
    pub(crate) fn block_on_input(
        &self,
        first: fn(),
        command: impl Future<Output = Result<u8, Failure>>,
    ) -> Result<u8, Failure> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().on_thread_start(first).build()?;
        let result = runtime.block_on(command);
        runtime.shutdown_background();
        result
    }

    /// Where settings come from; `flags` are those of the command.
    pub(crate) fn sources(&self, mut flags: Vec<(String, String)>) -> Sources {
        if let Some(dir) = &self.global.data_dir {
            flags.push(("data.dir".to_owned(), dir.display().to_string()));
        }
        Sources::from_process(self.global.config.clone(), flags)
    }

    /// The settings for a server: log, metrics and traces begin as they say.
    pub(crate) fn server_config(&self, flags: Vec<(String, String)>) -> Result<(Config, Telemetry), Failure> {
        let config = self.load(self.sources(flags))?;
        let telemetry = begin_telemetry(&config, "hindsight")?;
        Ok((config, telemetry))
    }

    /// The settings for a single command, whose log is quiet unless they say otherwise.
    fn config_quiet(&self, sources: Sources) -> Result<Config, Failure> {
        let config = self.load(sources)?;
        let filter = match &config.log.filter {
            own if *own != Filter::default() => own.clone(),
            _ => "warn,qdrant_edge=error,rmcp=error".parse().map_err(|e| Failure::new(code::INTERNAL, e))?,
        };
        begin_log(&config, &filter)?;
        Ok(config)
    }

    /// The settings with another data directory, in which everything is kept.
    pub(crate) fn config_of(&self, data_dir: PathBuf) -> Result<Config, Failure> {
        let mut sources = Sources::from_process(self.global.config.clone(), vec![]);
        sources.flags.push(("data.dir".to_owned(), data_dir.display().to_string()));
        let config = self.config_quiet(sources)?;
        Ok(Config { bus: Default::default(), store: Default::default(), ..config })
    }

    /// The settings for what is done to the data directory itself; `remedy`: what to do when a server is named.
    pub(crate) fn own_config(&self, remedy: &str) -> Result<Config, Failure> {
        if self.global.server.is_some() {
            return Err(Failure::new(code::USAGE, remedy));
        }
        self.config_quiet(self.sources(vec![]))
    }

    /// Where a command goes, so that it is known again.
    pub(crate) fn target(&self) -> String {
        match (&self.global.server, &self.global.data_dir) {
            (Some(server), _) => server.clone(),
            (None, Some(dir)) => {
                std::path::absolute(dir).unwrap_or_else(|_| dir.clone()).display().to_string()
            }
            (None, None) => "the configured data directory".to_owned(),
        }
    }

    /// The settings, with warnings said.
    pub(crate) fn load(&self, sources: Sources) -> Result<Config, Failure> {
        let loaded = hindsight_config::load(&sources).map_err(|e| Failure::new(code::CONFIG, e))?;
        for warning in &loaded.warnings {
            self.ui.note(&format!("warning: {warning}"));
        }
        Ok(loaded.config)
    }

    /// The settings for a command that is a client.
    pub(crate) fn client_config(&self) -> Result<Config, Failure> {
        self.config_quiet(self.sources(vec![]))
    }

    /// The settings as they are when nothing is set.
    pub(crate) fn default_config(&self) -> Result<Config, Failure> {
        self.config_quiet(Sources::default())
    }

    /// Whether everything goes to a server that is named.
    pub(crate) fn names_server(&self) -> bool {
        self.global.server.is_some()
    }

    /// Gives `work` a client: of the server that is named, of the one that serves the data directory, or
    /// of all roles in this process on the data directory.
    pub(crate) async fn with_client<T, F>(&self, work: impl FnOnce(Client) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let key = self.global.api_key.as_ref();
        if let Some(server) = &self.global.server {
            return work(Client::remote(server, key)?).await;
        }
        let config = self.client_config()?;
        match DataDir::hold_async(config.data.dir.clone()).await? {
            Hold::Served(serving) => work(Client::remote(&serving.address, key)?).await,
            Hold::Mine(dir) => {
                let embedded = Embedded::start(&config, dir, key).await?;
                let result = work(embedded.client.clone()).await;
                embedded.stop().await;
                result
            }
        }
    }

    /// As [`Self::with_client`], for work that takes long: other commands use the roles in this process meanwhile.
    pub(crate) async fn with_standing_client<T>(
        &self,
        config: &Config,
        work: impl AsyncFnOnce(Client, Way) -> T,
    ) -> Result<T, Failure> {
        let key = self.global.api_key.as_ref();
        if let Some(server) = &self.global.server {
            return Ok(work(Client::remote(server, key)?, Way::Only).await);
        }
        match DataDir::hold_async(config.data.dir.clone()).await? {
            Hold::Served(serving) => {
                // It may end soon, and is replaced rather than waited for.
                let retry = RetryPolicy { repeats: 2, ..RetryPolicy::default() };
                Ok(work(Client::remote(&serving.address, key)?.with_retry(retry), Way::Others).await)
            }
            Hold::Mine(dir) => {
                let mut embedded = Embedded::start(config, dir, key).await?;
                embedded.share().await?;
                let result = work(embedded.client.clone(), Way::Only).await;
                embedded.stop().await;
                Ok(result)
            }
        }
    }
}

/// Whether there may be another way to the memory when this one ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Only,
    Others,
}
