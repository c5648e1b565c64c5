use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    ForgettingId, Lesson, MemoryId, MemoryKind, Revision, Scope, SessionId, Timestamp, TraceId, UserId,
    Visibility, ids::derive,
};

/// What is forgotten, with everything that was derived from it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Subject {
    /// All that belongs to a user, and the runs that name the user, whoever may see them.
    User(UserId),
    /// One run.
    Run(TraceId),
    /// One memory; of an experience its run.
    Memory(MemoryKind, MemoryId),
    /// What a run taught the whole tenant, and nothing else of the run: it turned out to be a user's.
    Taught(TraceId),
}

impl Subject {
    /// Under which it is looked up whether it was forgotten; the same for the same subject of a tenant.
    pub fn key(&self) -> Uuid {
        match self {
            Self::User(user) => derive("forgotten", &["user", user.as_str()]),
            Self::Run(trace) => derive("forgotten", &["run", trace.as_str()]),
            Self::Memory(_, id) => derive("forgotten", &["memory", &id.to_string()]),
            Self::Taught(trace) => derive("forgotten", &["taught", trace.as_str()]),
        }
    }

    /// `user U`, `run T`, `lesson ID`, `what run T taught`.
    pub fn in_words(&self) -> String {
        match self {
            Self::User(user) => format!("user {user}"),
            Self::Run(trace) => format!("run {trace}"),
            Self::Memory(kind, id) => format!("{} {id}", kind.as_str().replace('_', " ")),
            Self::Taught(trace) => format!("what run {trace} taught"),
        }
    }
}

/// Says that a subject was forgotten: what was recorded of it until then is not written any more, however late it
/// arrives; what is recorded afterwards is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    /// The whole tenant.
    pub scope: Scope,
    pub subject: Subject,
    pub at: Timestamp,
}

impl Forgotten {
    /// The tombstone of what is forgotten twice.
    #[must_use]
    pub fn or_later(self, other: Self) -> Self {
        if other.at > self.at { other } else { self }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForgettingState {
    /// Records are being deleted.
    Erasing,
    /// They are gone from the store; files are being written anew.
    Vacuuming,
    /// The store and its files are being searched for what is left.
    Proving,
    /// Nothing is left within reach; the proof says what was searched.
    Done,
    /// It was given up; it can be asked for again.
    Failed { reason: String },
}

impl ForgettingState {
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Done | Self::Failed { .. })
    }
}

/// A derived memory that had other sources as well: taken away, and learned anew from these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rederivation {
    pub kind: MemoryKind,
    pub memory: MemoryId,
    pub visibility: Visibility,
    /// At most 100.
    pub runs: Vec<TraceId>,
    /// It is a lesson that a person corrected.
    pub correction: Option<Correction>,
}

/// What a person made of a lesson: their words and not those of its runs, so they stay when one of these is
/// forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Correction {
    /// Of these three each that the person changed; the others are empty.
    pub situation: String,
    pub advice: String,
    pub applicability: String,
    /// `None`: the words are forgotten as well, or nobody knows which of them are whose.
    pub revision: Option<Revision>,
}

impl Correction {
    /// What `lesson` says that it did not say as it was `learned`. `None`: it says the same again.
    pub fn of(lesson: &Lesson, learned: &Lesson) -> Option<Self> {
        let changed = |now: &String, then: &String| if now == then { String::new() } else { now.clone() };
        let correction = Self {
            situation: changed(&lesson.situation, &learned.situation),
            advice: changed(&lesson.advice, &learned.advice),
            applicability: changed(&lesson.applicability, &learned.applicability),
            revision: lesson.revision.clone(),
        };
        let says_so = correction.words().next().is_some();
        says_so.then_some(correction)
    }

    /// The words of the person.
    pub fn words(&self) -> impl Iterator<Item = &String> {
        [&self.situation, &self.advice, &self.applicability].into_iter().filter(|text| !text.is_empty())
    }

    /// A lesson as the person would have it. `None`: their words are lost.
    pub fn apply(&self, learned: &Lesson) -> Option<Lesson> {
        let revision = Some(self.revision.clone()?);
        let or = |mine: &String, other: &String| if mine.is_empty() { other } else { mine }.clone();
        Some(Lesson {
            situation: or(&self.situation, &learned.situation),
            advice: or(&self.advice, &learned.advice),
            applicability: or(&self.applicability, &learned.applicability),
            revision,
            ..learned.clone()
        })
    }
}

/// A place in a session where a fact was: what stands beside it no longer stands beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    pub visibility: Visibility,
    pub session: SessionId,
    pub at: Timestamp,
}

/// What is deleted next: on record before it is done, so that it is counted once however often it is begun.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Batch {
    /// Where, by name.
    pub collection: String,
    /// Points there.
    pub points: Vec<Uuid>,
    /// Former versions that are deleted with them: what corrected lessons said as they were learned.
    pub former: Vec<Uuid>,
    /// Memories whose evidence is counted anew afterwards.
    pub recounted: BTreeSet<MemoryId>,
    /// Memories to be learned anew afterwards.
    pub rederived: Vec<Rederivation>,
    /// Facts beside these are to be given their surroundings anew afterwards.
    pub gaps: Vec<Gap>,
    /// Whose copies are out of date afterwards.
    pub changed: Vec<(MemoryKind, Visibility)>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Whether something is to be done after it is erased that the store cannot do by itself.
    pub fn has_follow_up(&self) -> bool {
        !self.rederived.is_empty() || !self.gaps.is_empty()
    }
}

/// What was searched when everything was deleted, and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Proof {
    /// Records of the subject that are still there, by collection; one that was searched and has none is named, too.
    pub remaining: BTreeMap<String, u64>,
    /// Places of deleted texts that were looked for in the files, each in four forms.
    pub probes: u64,
    /// `None`: the files are a server's.
    pub files: Option<FilesSearched>,
    /// What this cannot reach, in words.
    pub out_of_reach: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FilesSearched {
    pub files: u64,
    pub bytes: u64,
    /// Places of deleted texts that were found and that no record holds.
    pub found: u64,
    /// Places that were found because others said the same.
    pub said_by_others: u64,
}

impl Proof {
    pub fn is_clean(&self) -> bool {
        self.remaining.values().all(|n| *n == 0) && self.files.is_none_or(|files| files.found == 0)
    }
}

/// A forgetting and how far it is. Survives a crash at any point: what is done is on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgetting {
    pub id: ForgettingId,
    /// The whole tenant.
    pub scope: Scope,
    pub subject: Subject,
    /// Why, as its requester said.
    pub reason: String,
    /// Name of the key that asked for it.
    pub requested_by: String,
    /// What was recorded until then is forgotten.
    pub at: Timestamp,
    pub state: ForgettingState,
    /// Records deleted, by collection.
    pub removed: BTreeMap<String, u64>,
    /// Derived memories that had other sources and were taken away to be learned anew from these.
    pub rederived: u64,
    /// Messages that had been set aside and were discarded.
    pub letters: u64,
    /// What is deleted next.
    pub batch: Batch,
    /// Fingerprints of deleted texts, to look for; none when it is over.
    pub probes: BTreeSet<u64>,
    /// Collections whose files were written anew since everything was deleted.
    pub vacuumed: BTreeSet<String>,
    /// Times that it was proved so far.
    pub rounds: u32,
    pub proof: Option<Proof>,
    /// Counts the writes.
    pub revision: u64,
    pub updated_at: Timestamp,
    /// When the state was last `Vacuuming` for the first time: everything deleted then must be gone from the files.
    pub erased_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

impl Forgetting {
    pub fn begin(
        id: ForgettingId,
        scope: Scope,
        subject: Subject,
        reason: String,
        requested_by: String,
        at: Timestamp,
    ) -> Self {
        Self {
            id,
            scope,
            subject,
            reason,
            requested_by,
            at,
            state: ForgettingState::Erasing,
            removed: BTreeMap::new(),
            rederived: 0,
            letters: 0,
            batch: Batch::default(),
            probes: BTreeSet::new(),
            vacuumed: BTreeSet::new(),
            rounds: 0,
            proof: None,
            revision: 0,
            updated_at: at,
            erased_at: None,
            ended_at: None,
        }
    }

    /// What says that it was forgotten.
    pub fn tombstone(&self) -> Forgotten {
        Forgotten { scope: self.scope.clone(), subject: self.subject.clone(), at: self.at }
    }
}

/// What a forgetting would do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForgettingPreview {
    /// Records that would be deleted, by collection.
    pub removed: BTreeMap<String, u64>,
    /// Of them derived memories that have other sources as well and would be learned anew from these.
    pub rederived: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_of_different_sorts_do_not_share_a_key() {
        let id = MemoryId(Uuid::nil());
        let subjects = [
            Subject::User(UserId::new("ann").unwrap()),
            Subject::Run(TraceId::new("ann").unwrap()),
            Subject::Memory(MemoryKind::Fact, id),
        ];
        let keys: BTreeSet<Uuid> = subjects.iter().map(Subject::key).collect();
        assert_eq!(keys.len(), 3);
        assert_eq!(Subject::Memory(MemoryKind::Lesson, id).key(), subjects[2].key(), "an id is of one kind");
    }

    #[test]
    fn a_proof_is_clean_when_nothing_was_found_that_others_did_not_say() {
        let clean = FilesSearched { files: 3, bytes: 900, found: 0, said_by_others: 2 };
        let mut proof = Proof { files: Some(clean), ..Proof::default() };
        proof.remaining.insert("facts".to_owned(), 0);
        assert!(proof.is_clean());
        assert!(!Proof { files: Some(FilesSearched { found: 1, ..clean }), ..proof.clone() }.is_clean());
        proof.remaining.insert("steps".to_owned(), 1);
        assert!(!proof.is_clean());
    }
}
