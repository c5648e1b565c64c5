//! Follows the files of a folder as they grow, and hands over what becomes of them as it comes.

mod deliver;
mod follow;
mod say;
mod scan;
mod state;
mod tail;

use std::{
    collections::{HashMap, HashSet},
    fs::Metadata,
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use hindsight_client::Client;
use hindsight_import::{Options, RecordError};
use hindsight_runtime::StopSignal;
use hindsight_types::Timestamp;
use hindsight_wiring::{Failure, code};
use tokio::task::block_in_place;

use self::{
    deliver::{Deliverer, Undelivered},
    follow::{Due, Follow, origin},
    say::{Event, Say, Why},
    scan::{Found, Seen, scan},
    state::{Entry, State},
    tail::Tail,
};
use crate::context::Context;

/// Time between two looks at the folder.
const LOOK: Duration = Duration::from_millis(500);
/// Without anything new after which a run has ended.
const IDLE: Duration = Duration::from_secs(30 * 60);

#[derive(Debug, clap::Args)]
pub(super) struct Watching {
    /// Follow the files of this folder as they grow, until Ctrl-C, instead of reading files once.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["files", "no_wait"])]
    pub watch: Option<PathBuf>,
    /// With --watch: a run ends when nothing is added to its file for this long. [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    idle: Option<Duration>,
    /// With --watch: where to keep how far each file is. [default: in the user's folder for state]
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
}

impl Watching {
    /// Refuses what would do nothing. The parser does not: files, which stand in the way of --watch, excuse its absence.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let alone = self.watch.is_none();
        for (flag, given) in [("--idle", self.idle.is_some()), ("--state", self.state.is_some())] {
            if alone && given {
                let problem = format!("{flag} is for files that grow: name their folder with --watch DIR");
                return Err(Failure::new(code::USAGE, problem));
            }
        }
        Ok(())
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed =
        text.parse::<jiff::SignedDuration>().map_err(|e| format!("{e}; write it like 30m or 90s"))?;
    Duration::try_from(parsed).map_err(|_| "must not be negative".to_owned())
}

pub(super) async fn run(args: Watching, options: Options, context: &Context) -> Result<u8, Failure> {
    let folder = args.watch.unwrap_or_default();
    let found = std::fs::canonicalize(&folder);
    let folder = found.map_err(|e| Failure::new(code::NO_INPUT, format!("{}: {e}", folder.display())))?;
    if !folder.is_dir() {
        return Err(Failure::new(code::NO_INPUT, format!("{}: is not a folder", folder.display())));
    }
    let place = args.state.map_or_else(|| State::place(&folder, &context.target()), Ok)?;
    let state = State::load(place)?;
    let stop = StopSignal::default();
    let _signals = stop.on_signals()?;
    let say = Say::new(context.ui);
    context
        .with_client(|client: Client| {
            let deliverer = Deliverer { client, stop: stop.clone() };
            let watcher = Watcher {
                folder,
                options,
                idle: args.idle.unwrap_or(IDLE),
                state,
                follows: HashMap::new(),
                asleep: HashMap::new(),
                missing: HashSet::new(),
                unreadable: HashMap::new(),
                deliverer,
                say,
            };
            watcher.run(stop)
        })
        .await
}

struct Watcher {
    folder: PathBuf,
    options: Options,
    idle: Duration,
    state: State,
    /// Files that are read as they grow, by what they are.
    follows: HashMap<String, Following>,
    /// Files in which nothing is open, as they were seen last.
    asleep: HashMap<String, Seen>,
    /// Files that were not there the last time.
    missing: HashSet<String>,
    /// What cannot be read, and why, as it was said.
    unreadable: HashMap<PathBuf, String>,
    deliverer: Deliverer,
    say: Say,
}

struct Following {
    follow: Follow,
    seen: Option<Seen>,
    told: bool,
}

impl Watcher {
    async fn run(mut self, stop: StopSignal) -> Result<u8, Failure> {
        self.say.event(&Event::Watching {
            folder: &self.folder,
            idle_s: self.idle.as_secs(),
            state: self.state.path(),
            known_files: self.state.files.len(),
        })?;
        loop {
            // Once more after a stop is asked for, so that what is written by then is handed over.
            let last = stop.is_requested();
            match self.look().await {
                Ok(()) if last => break,
                Ok(()) => {}
                Err(Undelivered::Stopped) => break,
                Err(Undelivered::Failed(failure)) => {
                    self.state.save()?;
                    return Err(failure);
                }
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = stop.requested() => {}
            }
        }
        self.state.save()?;
        let (steps, runs) = (self.say.steps, self.say.runs);
        self.say.event(&Event::Stopped { steps, runs })?;
        Ok(0)
    }

    /// One look at the folder.
    async fn look(&mut self) -> Result<(), Undelivered> {
        let found = match block_in_place(|| scan(&self.folder, self.options.format.is_some())) {
            Ok(found) => found,
            Err(e) => return Ok(self.complain(&self.folder.clone(), &e)?),
        };
        self.leave(&found).await?;
        for (id, (path, metadata)) in &found {
            // What was not begun by the time of a stop is left for the next start.
            if self.deliverer.stop.is_requested() && !self.follows.contains_key(id) {
                continue;
            }
            match self.file(id, path, metadata).await? {
                Ok(()) => {
                    self.unreadable.remove(path);
                }
                Err(e) => self.complain(path, &e)?,
            }
        }
        Ok(self.state.save()?)
    }

    /// Says what cannot be read, once for each reason.
    fn complain(&mut self, path: &Path, error: &io::Error) -> Result<(), Failure> {
        let reason = error.to_string();
        if self.unreadable.get(path) == Some(&reason) {
            return Ok(());
        }
        self.say.event(&Event::Unreadable { path, reason: &reason })?;
        self.unreadable.insert(path.to_owned(), reason);
        Ok(())
    }

    /// Ends what is not there any more.
    async fn leave(&mut self, found: &Found) -> Result<(), Undelivered> {
        let not_found = self.state.files.keys().filter(|id| !found.contains_key(*id)).cloned().collect();
        // A file that is being renamed may be seen under neither name.
        let before = std::mem::replace(&mut self.missing, not_found);
        let gone: Vec<String> = before.intersection(&self.missing).cloned().collect();
        for id in gone {
            if let Some(mut following) = self.follows.remove(&id) {
                let replaced = self.state.files.get(&id).is_some_and(|e| e.path.exists());
                let why = if replaced { Why::Replaced } else { Why::Deleted };
                // The file is still open: what was written to it last is not lost.
                let _ = self.read(&id, &mut following).await?;
                self.finish(&id, &mut following, why).await?;
            }
            self.asleep.remove(&id);
            self.state.files.remove(&id);
        }
        Ok(())
    }

    async fn file(
        &mut self,
        id: &str,
        path: &Path,
        metadata: &Metadata,
    ) -> Result<io::Result<()>, Undelivered> {
        let seen = Seen::from(metadata);
        if self.asleep.get(id) == Some(&seen) {
            return Ok(Ok(()));
        }
        let following = match self.follows.remove(id) {
            Some(following) => Ok(Some(following)),
            None => block_in_place(|| self.begin(id, path, metadata)),
        };
        let mut following = match following {
            Ok(Some(following)) => following,
            Ok(None) => {
                self.asleep.insert(id.to_owned(), seen);
                return Ok(Ok(()));
            }
            Err(e) => return Ok(Err(e)),
        };
        if let Some(entry) = self.state.files.get_mut(id) {
            path.clone_into(&mut entry.path);
        }
        if following.seen != Some(seen) {
            if following.seen.is_some()
                && let Err(e) = self.anew(id, &mut following, metadata).await?
            {
                return Ok(Err(e));
            }
            if let Err(e) = self.read(id, &mut following).await? {
                return Ok(Err(e));
            }
            following.seen = Some(seen);
        }
        let quiet = SystemTime::now().duration_since(seen.modified).unwrap_or_default();
        if quiet >= self.idle || following.follow.given_up() {
            self.finish(id, &mut following, Why::Idle).await?;
            self.asleep.insert(id.to_owned(), seen);
        } else {
            self.follows.insert(id.to_owned(), following);
        }
        Ok(Ok(()))
    }

    /// Opens a file; `None`: nothing is open in it and nothing was added.
    fn begin(&mut self, id: &str, path: &Path, metadata: &Metadata) -> io::Result<Option<Following>> {
        let (mut tail, _) = Tail::open(path)?;
        let since = Seen::from(metadata).modified;
        let since = Timestamp::try_from(since).unwrap_or(self.options.default_time);
        let known = self.state.files.get(id);
        let same = match known {
            Some(entry) if entry.length == 0 => true,
            Some(entry) => entry.length <= metadata.len() && entry.head == tail.head(entry.length)?,
            None => false,
        };
        if let Some(entry) = known.filter(|_| same) {
            if entry.done && entry.length == metadata.len() {
                return Ok(None);
            }
        } else {
            let generation = known.map_or(0, |e| e.generation + 1);
            self.state.files.insert(id.to_owned(), Entry::new(path.to_owned(), since, generation));
        }
        self.asleep.remove(id);
        let options = self.options_of(id, metadata);
        Ok(Some(Following { follow: Follow::new(tail, options), seen: None, told: false }))
    }

    fn options_of(&self, id: &str, metadata: &Metadata) -> Options {
        let entry = self.state.files.get(id);
        let origin = entry.map(|e| origin(&e.path, id, metadata, e.generation));
        let default_time = entry.map_or(self.options.default_time, |e| e.since);
        Options { origin, default_time, ..self.options.clone() }
    }

    /// Begins anew when the file was. What was in it before is over, unless it is a document, which is written anew to
    /// add to it.
    async fn anew(
        &mut self,
        id: &str,
        following: &mut Following,
        metadata: &Metadata,
    ) -> Result<io::Result<()>, Undelivered> {
        match block_in_place(|| following.follow.is_rewritten()) {
            Ok(false) if !following.follow.is_document() => return Ok(Ok(())),
            Ok(_) => {}
            Err(e) => return Ok(Err(e)),
        }
        if !following.follow.is_document() {
            self.finish(id, following, Why::Replaced).await?;
            if let Some(entry) = self.state.files.get_mut(id) {
                entry.generation += 1;
                (entry.finished, entry.reported, entry.done) = (0, 0, false);
            }
        }
        let options = self.options_of(id, metadata);
        following.follow.rewind(options);
        Ok(Ok(()))
    }

    /// Reads to the end of the file and hands over what is due.
    async fn read(&mut self, id: &str, following: &mut Following) -> Result<io::Result<()>, Undelivered> {
        loop {
            let more = match block_in_place(|| following.follow.read()) {
                Ok(more) => more,
                Err(e) => return Ok(Err(e)),
            };
            let Some(entry) = self.state.files.get(id) else { return Ok(Ok(())) };
            let (due, broken) = following.follow.ended(entry);
            let path = entry.path.clone();
            self.tell(&path, following)?;
            self.hand_over(id, due, Why::Said).await?;
            self.report(id, broken)?;
            if !more {
                break;
            }
        }
        if let Some(entry) = self.state.files.get(id) {
            let due = block_in_place(|| following.follow.under_way(entry));
            self.hand_over(id, due, Why::Said).await?;
        }
        Ok(self.state.files.get_mut(id).map_or(Ok(()), |entry| {
            entry.done = false;
            following.follow.note(entry)
        }))
    }

    fn tell(&mut self, path: &Path, following: &mut Following) -> Result<(), Failure> {
        if let Some(format) = following.follow.format().filter(|_| !following.told) {
            following.told = true;
            self.say.event(&Event::Reading { path, format })?;
        }
        Ok(())
    }

    /// Ends every run of a file.
    async fn finish(&mut self, id: &str, following: &mut Following, why: Why) -> Result<(), Undelivered> {
        let Some(entry) = self.state.files.get(id) else { return Ok(()) };
        let (due, broken) = block_in_place(|| following.follow.finish(entry));
        self.hand_over(id, due, why).await?;
        self.report(id, broken)?;
        if let Some(entry) = self.state.files.get_mut(id) {
            entry.done = true;
        }
        Ok(())
    }

    /// Delivers run by run, and notes each once it is confirmed.
    async fn hand_over(&mut self, id: &str, due: Vec<Due>, why: Why) -> Result<(), Undelivered> {
        for due in due {
            self.deliverer.deliver(&due.events, &mut self.say).await?;
            let Some(entry) = self.state.files.get_mut(id) else { continue };
            if due.counts {
                entry.finished += 1;
            }
            if due.open {
                entry.runs.insert(due.trace_id.clone(), due.after.clone());
            } else {
                entry.runs.remove(&due.trace_id);
            }
            let (path, trace_id) = (&*entry.path, &*due.trace_id);
            if due.after.steps > due.before.steps {
                self.say.event(&Event::Steps {
                    path,
                    trace_id,
                    from: due.before.steps,
                    to: due.after.steps,
                })?;
            }
            if let Some(why) = due.why(why) {
                self.say.event(&Event::Ended { path, trace_id, steps: due.after.steps, why })?;
            }
        }
        Ok(())
    }

    fn report(&mut self, id: &str, broken: Vec<RecordError>) -> Result<(), Failure> {
        let Some(entry) = self.state.files.get_mut(id) else { return Ok(()) };
        for RecordError { line, element, reason } in broken {
            self.say.event(&Event::Broken { path: &entry.path, line, element, reason: &reason })?;
            entry.reported = entry.reported.max(line);
        }
        Ok(())
    }
}
