//! One file from its bytes to the events that are due.

use std::{io, path::Path};

use hindsight_import::{Live, Options, RecordError};
use hindsight_ingest::split;
use hindsight_types::{Event, EventBody, Trajectory};

use super::{
    say::Why,
    state::{Entry, Sent},
    tail::Tail,
};

/// What is to be delivered, with what is noted once it is.
pub(super) struct Due {
    pub trace_id: String,
    pub events: Vec<Event>,
    pub before: Sent,
    pub after: Sent,
    /// The run goes on, or may be taken up again.
    pub open: bool,
    /// It ended among the records of the file.
    pub counts: bool,
}

/// A file while it is followed.
pub(super) struct Follow {
    tail: Tail,
    live: Live,
    options: Options,
    /// Runs that ended in the records read so far.
    ended: u64,
}

impl Follow {
    pub(super) fn new(tail: Tail, options: Options) -> Self {
        Self { tail, live: Live::new(options.clone()), options, ended: 0 }
    }

    pub(super) fn format(&self) -> Option<&'static str> {
        self.live.format()
    }

    pub(super) fn given_up(&self) -> bool {
        self.live.given_up()
    }

    pub(super) fn is_document(&self) -> bool {
        self.live.is_document()
    }

    pub(super) fn is_rewritten(&mut self) -> io::Result<bool> {
        self.tail.is_rewritten()
    }

    /// Notes how much was read.
    pub(super) fn note(&mut self, entry: &mut Entry) -> io::Result<()> {
        entry.length = self.tail.position();
        entry.head = self.tail.head(entry.length)?;
        Ok(())
    }

    /// Begins at the first byte again.
    pub(super) fn rewind(&mut self, options: Options) {
        self.tail.rewind();
        self.live = Live::new(options.clone());
        (self.options, self.ended) = (options, 0);
    }

    /// Reads on; false at the end of the file.
    pub(super) fn read(&mut self) -> io::Result<bool> {
        let bytes = self.tail.next()?;
        self.live.feed(&bytes);
        Ok(!bytes.is_empty())
    }

    /// What the records brought so far to their end, and the records that cannot be used.
    pub(super) fn ended(&mut self, entry: &Entry) -> (Vec<Due>, Vec<RecordError>) {
        let (mut due, mut broken) = (Vec::new(), Vec::new());
        for item in self.live.take() {
            match item {
                Ok(run) => {
                    self.ended += 1;
                    if self.ended > entry.finished {
                        due.push(Due { counts: true, open: false, ..whole(run, entry) });
                    }
                }
                Err(e) if e.line > entry.reported => broken.push(e),
                Err(_) => {}
            }
        }
        (due, broken)
    }

    /// What is settled of the runs that go on.
    pub(super) fn under_way(&self, entry: &Entry) -> Vec<Due> {
        let runs = self.live.under_way().into_iter();
        let due = runs.map(|u| {
            let steps = if u.ended { u.run.steps.len() } else { u.settled };
            due(u.run, steps, u.ended, entry)
        });
        due.filter(|d| !d.events.is_empty()).collect()
    }

    /// Everything that is left: nothing more comes.
    pub(super) fn finish(&mut self, entry: &Entry) -> (Vec<Due>, Vec<RecordError>) {
        self.live.finish();
        let (mut due, mut broken) = (Vec::new(), Vec::new());
        for item in self.live.take() {
            match item {
                Ok(run) => due.push(Due { counts: false, open: true, ..whole(run, entry) }),
                Err(e) => broken.push(e),
            }
        }
        due.retain(|d| !d.events.is_empty());
        (due, broken)
    }
}

/// What tells the file from all others, also from one that has its name later, and stays when it is renamed.
pub(super) fn origin(path: &Path, identity: &str, metadata: &std::fs::Metadata, generation: u32) -> String {
    let born = metadata.created().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
    // Where files do not know when they were made, their name must do.
    let which = born.map_or_else(|| path.display().to_string(), |t| t.as_nanos().to_string());
    format!("{identity}\n{which}\n{generation}")
}

fn whole(run: Trajectory, entry: &Entry) -> Due {
    let steps = run.steps.len();
    due(run, steps, true, entry)
}

/// The events of the first `steps` steps that were not sent, with the end if it has come.
fn due(run: Trajectory, steps: usize, ended: bool, entry: &Entry) -> Due {
    let trace_id = run.trace_id.to_string();
    let before = entry.runs.get(&trace_id).cloned().unwrap_or_default();
    let steps = u32::try_from(steps).unwrap_or(u32::MAX);
    // A file that has shrunk: what was sent stays.
    let after = Sent {
        steps: steps.max(before.steps),
        ended_at: if ended { Some(steps.max(before.steps)) } else { before.ended_at },
    };
    let wanted = |event: &Event| match &event.body {
        EventBody::Started(_) => before.steps == 0 && after.steps > 0,
        EventBody::Step(s) => (before.steps..after.steps).contains(&s.step_index),
        EventBody::Completed(c) => {
            ended && c.step_count >= before.steps && before.ended_at.is_none_or(|n| n < c.step_count)
        }
        // A file makes none.
        EventBody::Span(_) => false,
    };
    let events = if before == after { Vec::new() } else { split(run).into_iter().filter(wanted).collect() };
    Due { trace_id, events, before, after, open: true, counts: false }
}

impl Due {
    /// How the run is said to have ended, if it is.
    pub(super) fn why(&self, otherwise: Why) -> Option<Why> {
        let ends = self.events.iter().any(|e| matches!(e.body, EventBody::Completed(_)));
        ends.then_some(otherwise)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write as _, path::PathBuf};

    use hindsight_types::{TenantId, Timestamp};

    use super::*;

    fn follow(path: &Path) -> Follow {
        let options = Options::new(TenantId::new("acme").unwrap(), Timestamp::UNIX_EPOCH);
        let options = Options { origin: Some("here".to_owned()), ..options };
        Follow::new(Tail::open(path).unwrap().0, options)
    }

    fn read(follow: &mut Follow) {
        while follow.read().unwrap() {}
    }

    fn kinds(due: &Due) -> Vec<String> {
        let kind = |e: &Event| match &e.body {
            EventBody::Started(_) => "started".to_owned(),
            EventBody::Step(s) => s.step_index.to_string(),
            EventBody::Completed(c) => format!("completed {}", c.step_count),
            EventBody::Span(_) => "span".to_owned(),
        };
        due.events.iter().map(kind).collect()
    }

    #[test]
    fn runs_that_are_whole_are_due_once_however_often_the_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs.jsonl");
        let run = |id: &str| {
            format!(
                r#"{{"trace_id":"{id}","task_description":"x","steps":[{{"action_type":"USER_INPUT","action_detail":"y"}}]}}"#
            ) + "\n"
        };
        fs::write(&path, run("a") + "broken\n" + &run("b")).unwrap();
        let mut entry = Entry::new(PathBuf::new(), Timestamp::UNIX_EPOCH, 0);
        let mut first = follow(&path);
        read(&mut first);
        let (due, broken) = first.ended(&entry);
        assert_eq!(due.iter().map(kinds).collect::<Vec<_>>(), vec![vec!["started", "0", "completed 1"]; 2]);
        assert!(due.iter().all(|d| d.counts && !d.open));
        assert_eq!(broken.iter().map(|e| e.line).collect::<Vec<_>>(), [2]);

        (entry.finished, entry.reported) = (2, 2);
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(run("c").as_bytes()).unwrap();
        let mut again = follow(&path);
        read(&mut again);
        let (due, broken) = again.ended(&entry);
        assert_eq!(due.iter().map(|d| d.trace_id.as_str()).collect::<Vec<_>>(), ["c"]);
        assert!(broken.is_empty());
        assert!(again.finish(&entry).0.is_empty());
    }

    #[test]
    fn only_what_was_not_sent_is_due_and_the_end_once_for_each_length() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("talk.txt");
        let turn = "Thought: t\nAction: look\nAction Input: x\nObservation: y\n";
        fs::write(&path, format!("Question: q\n{turn}{turn}Thought: more")).unwrap();
        let mut entry = Entry::new(PathBuf::new(), Timestamp::UNIX_EPOCH, 0);
        let mut first = follow(&path);
        read(&mut first);
        let due = first.under_way(&entry).remove(0);
        // The second observation may go on.
        assert_eq!((kinds(&due), due.after.steps), (vec!["started".to_owned(), "0".to_owned()], 1));
        entry.runs.insert(due.trace_id.clone(), due.after);
        assert!(first.under_way(&entry).is_empty());

        let end = first.finish(&entry).0.remove(0);
        assert_eq!(
            (kinds(&end), &end.trace_id),
            (vec!["1".to_owned(), "2".to_owned(), "completed 3".to_owned()], &due.trace_id)
        );
        entry.runs.insert(end.trace_id.clone(), end.after);
        let mut again = follow(&path);
        read(&mut again);
        assert!(again.finish(&entry).0.is_empty(), "it ended with three steps already");

        fs::write(&path, "Question: q\nThought: t\nAction: look\nObservation: y\n").unwrap();
        let mut shrunk = follow(&path);
        read(&mut shrunk);
        assert!(shrunk.finish(&entry).0.is_empty(), "what was sent stays");
    }
}
