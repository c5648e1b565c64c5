//! Follows what an agent did to what helped another one, and names the first link of that chain that is broken:
//! collected → judged → stored → recalled → injected → helped.

mod memory;
mod receipt;
mod run;
mod served;

use std::sync::Arc;

use hindsight_ports::{Archive, Browse, Forget, Ledger, MemoryStore, StoreError};
use hindsight_types::{
    EvidencePolicies, Forgotten, Memory, MemoryId, MemoryKind, ReceiptId, Subject, Timestamp, TraceId, Viewer,
};
use uuid::Uuid;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Collected,
    Judged,
    Stored,
    Recalled,
    Injected,
    Helped,
}

impl Stage {
    pub(crate) const ALL: [Self; 6] =
        [Self::Collected, Self::Judged, Self::Stored, Self::Recalled, Self::Injected, Self::Helped];
}

/// What is wrong, by a name for programs, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) stage: Stage,
    pub(crate) is_whole: bool,
    /// UPPER_SNAKE.
    pub(crate) reason: &'static str,
    pub(crate) finding: String,
    /// Empty when nothing has to be done.
    pub(crate) remedy: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    Run,
    Memory,
    Receipt,
    /// Nothing of that name is known.
    Nothing,
}

/// As far as the chain holds: only the last link may be broken.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    pub(crate) links: Vec<Link>,
}

/// That the chain ends here.
pub(crate) struct Ended;

type Followed = Result<(), Ended>;

impl Chain {
    fn whole(&mut self, stage: Stage, reason: &'static str, finding: impl Into<String>) {
        let (finding, remedy) = (finding.into(), String::new());
        self.links.push(Link { stage, is_whole: true, reason, finding, remedy });
    }

    fn broken(
        &mut self,
        stage: Stage,
        reason: &'static str,
        finding: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Followed {
        let (finding, remedy) = (finding.into(), remedy.into());
        self.links.push(Link { stage, is_whole: false, reason, finding, remedy });
        Err(Ended)
    }
}

/// Whoever looks into something, for whom.
pub(crate) struct Doctor {
    pub(crate) store: Arc<dyn MemoryStore>,
    pub(crate) browse: Arc<dyn Browse>,
    pub(crate) archive: Arc<dyn Archive>,
    pub(crate) forget: Arc<dyn Forget>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) policies: EvidencePolicies,
    pub(crate) viewer: Viewer,
    pub(crate) now: Timestamp,
}

/// A call that may fail for want of the store, and then says whether the chain goes on.
type Look = Result<Followed, StoreError>;

impl Doctor {
    /// `subject`: the name of a run, or the id of a receipt or memory.
    pub(crate) async fn look(&self, subject: &TraceId) -> Result<(About, Chain), StoreError> {
        let mut chain = Chain::default();
        if let Ok(id) = Uuid::parse_str(subject.as_str()) {
            if let Some(receipt) = self.store.receipt(&self.viewer, ReceiptId(id)).await? {
                let _ = self.receipt(&mut chain, &receipt).await?;
                return Ok((About::Receipt, chain));
            }
            if let Some(memory) = self.memory(MemoryId(id)).await? {
                let _ = self.of_memory(&mut chain, memory).await?;
                return Ok((About::Memory, chain));
            }
        }
        let mut about = About::Run;
        if self.knows(subject).await? {
            let _ = self.of_run(&mut chain, subject).await?;
        } else {
            about = self.nothing(&mut chain, subject).await?;
        }
        Ok((about, chain))
    }

    pub(crate) async fn memory(&self, id: MemoryId) -> Result<Option<Found>, StoreError> {
        let looks = MemoryKind::ALL.map(|kind| self.store.get(&self.viewer, kind, id));
        if let Some(memory) = futures::future::try_join_all(looks).await?.into_iter().flatten().next() {
            return Ok(Some(Found::There(Box::new(memory))));
        }
        Ok(self.archive.away(&self.viewer, id).await?.map(|archived| Found::Archived(Box::new(archived))))
    }

    /// Whether anything of a run can be seen.
    async fn knows(&self, trace: &TraceId) -> Result<bool, StoreError> {
        Ok(!self.events(trace).await?.is_empty()
            || self.store.evaluation_record(&self.viewer, trace).await?.is_some()
            || self.store.experience(&self.viewer, trace).await?.is_some())
    }

    /// Of that name there is nothing: it was forgotten, was archived too long ago, or never came.
    async fn nothing(&self, chain: &mut Chain, subject: &TraceId) -> Result<About, StoreError> {
        let id = Uuid::parse_str(subject.as_str()).ok().map(MemoryId);
        let mut asked = vec![Subject::Run(subject.clone())];
        // A tombstone of a memory is found by its id alone.
        asked.extend(id.map(|id| Subject::Memory(MemoryKind::Fact, id)));
        asked.extend(self.viewer.user.clone().map(Subject::User));
        let tombstones = self.forget.forgotten(&self.viewer.tenant, &asked).await?;
        let own = tombstones.iter().find(|t| !matches!(t.subject, Subject::User(_)));
        if let Some(Forgotten { subject, at, .. }) = own.or(tombstones.first()) {
            let about = if matches!(subject, Subject::Memory(..)) { About::Memory } else { About::Run };
            let stage = if about == About::Memory { Stage::Stored } else { Stage::Collected };
            let _ = chain.broken(
                stage,
                "FORGOTTEN",
                format!(
                    "{} was forgotten at {}: what was recorded until then is gone",
                    subject.in_words(),
                    date(*at)
                ),
                "nothing brings it back; what is recorded from then on is kept",
            );
            return Ok(about);
        }
        let seen = match &self.viewer.user {
            Some(user) => format!("nothing of that name has arrived that user {user} may see"),
            None => "nothing of that name has arrived that may be seen without naming a user".to_owned(),
        };
        let remedy = "check the name; name the user it belongs to with --user; look for what could not be handled with \
                      `hindsight dlq list`, and for what the client still holds in its spool. What left for the archive is \
                      deleted after `compaction.archive.keep`";
        let _ = chain.broken(Stage::Collected, "NOT_COLLECTED", seen, remedy);
        Ok(About::Nothing)
    }
}

/// A memory, and where.
pub(crate) enum Found {
    There(Box<Memory>),
    Archived(Box<hindsight_types::Archived>),
}

impl Found {
    pub(crate) fn memory(&self) -> &Memory {
        match self {
            Self::There(memory) => memory,
            Self::Archived(archived) => &archived.memory,
        }
    }
}

fn date(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// `1 run`, `2 runs`.
fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
