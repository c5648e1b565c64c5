use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Attachment, Fact, Invalid, Lesson, Memory, MemoryId, Timestamp, ids::derive};

/// Why a memory no longer is as it was learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RevisionCause {
    /// Someone corrected what it says, or set its status.
    Updated,
    /// A newer statement about the same thing took its place.
    Superseded,
    /// Its time is over.
    Expired,
    /// Someone brought back how it was before.
    Restored,
}

impl RevisionCause {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Updated => "updated",
            Self::Superseded => "superseded",
            Self::Expired => "expired",
            Self::Restored => "restored",
        }
    }
}

/// The change that made a version of a memory: who, when, why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Revision {
    /// Of two changes of one statement the later one counts.
    pub at: Timestamp,
    pub cause: RevisionCause,
    /// The name of the key, or of the policy, that did it.
    pub by: String,
    /// In the words of who did it.
    pub reason: String,
    /// Of the request, when it named itself; the same request changes a memory once.
    pub request_id: String,
}

/// Names a version of a memory: a hash of what it says. The same again has the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VersionId(u64);

impl VersionId {
    /// As it is printed: 16 hexadecimal digits.
    pub fn parse(field: &str, text: &str) -> Result<Self, Invalid> {
        let digits = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let value = digits.then(|| u64::from_str_radix(text, 16).ok()).flatten();
        value.map(Self).ok_or_else(|| Invalid::new(field, "is not the 16 hexadecimal digits of a version"))
    }

    /// Under which key it is kept among the versions of a memory.
    pub fn key(self, memory: MemoryId) -> Uuid {
        derive("version", &[&memory.to_string(), &self.to_string()])
    }
}

impl fmt::Display for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The parts of a version. One that is empty is left out, so that a field that is added later leaves the names
/// of what was written before as they are.
#[derive(Default)]
struct Parts(Vec<String>);

impl Parts {
    fn add(&mut self, name: &str, value: impl fmt::Display) {
        let value = value.to_string();
        if !value.is_empty() {
            self.0.push(format!("{name}={value}"));
        }
    }

    fn at(&mut self, name: &str, time: Timestamp) {
        self.add(name, time.as_nanosecond());
    }

    fn revision(&mut self, revision: Option<&Revision>) {
        let Some(Revision { at, cause, by, reason, request_id }) = revision else { return };
        self.at("at", *at);
        self.add("cause", cause.as_str());
        self.add("by", by);
        self.add("reason", reason);
        self.add("request_id", request_id);
    }

    fn version(self) -> VersionId {
        let parts: Vec<&str> = self.0.iter().map(String::as_str).collect();
        VersionId(derive("version of", &parts).as_u64_pair().0)
    }
}

impl Fact {
    /// Everything it says and where it stands, but whose it is and what surrounds it: that is derived.
    pub fn version(&self) -> VersionId {
        let Self { id: _, scope: _, surroundings: _, .. } = self;
        let Self { key, content, original, context, speaker, session, intent, fact_type, .. } = self;
        let Self { entities, attachments, status, confidence, occurred_at, retained_at, .. } = self;
        let Self { expires_at, resolved_at, superseded_by, revision, .. } = self;
        let mut parts = Parts::default();
        for (name, text) in [
            ("key", key),
            ("content", content),
            ("original", original),
            ("context", context),
            ("speaker", speaker),
            ("intent", intent),
        ] {
            parts.add(name, text);
        }
        parts.add("session", session.as_ref().map_or("", |s| s.as_str()));
        parts.add("type", fact_type.as_str());
        entities.iter().for_each(|entity| parts.add("entity", entity));
        for Attachment { uri, media_type, caption } in attachments {
            parts.add("uri", uri);
            parts.add("media_type", media_type);
            parts.add("caption", caption);
        }
        parts.add("status", status.as_str());
        parts.add("confidence", confidence.to_bits());
        parts.at("occurred_at", *occurred_at);
        parts.at("retained_at", *retained_at);
        for (name, time) in [("expires_at", expires_at), ("resolved_at", resolved_at)] {
            time.iter().for_each(|time| parts.at(name, *time));
        }
        superseded_by.iter().for_each(|id| parts.add("superseded_by", id));
        parts.revision(revision.as_ref());
        parts.version()
    }

    /// Tells the newer of two versions: a later statement replaces an earlier one with all its changes, and of
    /// one statement the later change counts.
    pub fn age(&self) -> (Timestamp, Option<Timestamp>) {
        (self.retained_at, self.revision.as_ref().map(|r| r.at))
    }
}

impl Lesson {
    /// What it advises when. What its runs add to it is no change of it.
    pub fn version(&self) -> VersionId {
        let mut parts = Parts::default();
        parts.add("situation", &self.situation);
        parts.add("advice", &self.advice);
        parts.add("applicability", &self.applicability);
        parts.revision(self.revision.as_ref());
        parts.version()
    }
}

impl Memory {
    /// `None`: of a kind that is never changed by hand.
    pub fn version(&self) -> Option<VersionId> {
        match self {
            Self::Fact(fact) => Some(fact.version()),
            Self::Lesson(lesson) => Some(lesson.version()),
            Self::Experience(_) | Self::FailurePattern(_) | Self::Step(_) => None,
        }
    }

    /// What made it as it is; `None`: it is as it was learned.
    pub fn revision(&self) -> Option<&Revision> {
        match self {
            Self::Fact(fact) => fact.revision.as_ref(),
            Self::Lesson(lesson) => lesson.revision.as_ref(),
            Self::Experience(_) | Self::FailurePattern(_) | Self::Step(_) => None,
        }
    }

    pub fn set_revision(&mut self, revision: Revision) {
        match self {
            Self::Fact(fact) => fact.revision = Some(revision),
            Self::Lesson(lesson) => lesson.revision = Some(revision),
            Self::Experience(_) | Self::FailurePattern(_) | Self::Step(_) => {}
        }
    }
}

/// A memory as it was before it changed.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryVersion(pub Memory);

impl MemoryVersion {
    /// As it is kept: without what stood around a fact, which is said by others and must not outlive them here.
    #[must_use]
    pub fn bare(&self) -> Self {
        match &self.0 {
            Memory::Fact(fact) => Self(Memory::Fact(Fact { surroundings: String::new(), ..fact.clone() })),
            memory => Self(memory.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FactStatus, TenantId, UserId};

    fn fact() -> Fact {
        let at: Timestamp = "2026-05-08T13:56:00Z".parse().unwrap();
        Fact::new(&TenantId::new("acme").unwrap(), UserId::new("安").unwrap(), "k", "我喜欢茶", at)
    }

    fn updated(at: Timestamp) -> Revision {
        Revision {
            at,
            cause: RevisionCause::Updated,
            by: "ops".to_owned(),
            reason: "he said so".to_owned(),
            request_id: String::new(),
        }
    }

    #[test]
    fn a_version_is_named_by_what_it_says() {
        let plain = fact();
        let surrounded = Fact { surroundings: "Bob: tea?".to_owned(), ..plain.clone() };
        assert_eq!(plain.version(), surrounded.version(), "what surrounds it is derived");
        let other = |change: fn(&mut Fact)| {
            let mut other = fact();
            change(&mut other);
            assert_ne!(other.version(), plain.version());
        };
        other(|f| f.content.push('。'));
        other(|f| f.status = FactStatus::Resolved);
        other(|f| f.confidence = 0.5);
        other(|f| f.entities.push("茶".to_owned()));
        other(|f| f.superseded_by = Some(f.id));
        other(|f| f.resolved_at = Some(f.occurred_at));
        other(|f| f.revision = Some(updated(f.occurred_at)));
        let printed = plain.version().to_string();
        assert_eq!(VersionId::parse("version", &printed), Ok(plain.version()));
        // At rest: the keys of former versions are made of it.
        assert_eq!(printed, "419debc4dc08522e");
        for wrong in ["", "1", "+000000000000001", &format!("{printed}0"), "茶茶茶茶茶茶"] {
            assert!(VersionId::parse("version", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_later_statement_replaces_an_earlier_one_with_its_changes() {
        let said = fact();
        let later = Fact { retained_at: "2026-05-09T00:00:00Z".parse().unwrap(), ..said.clone() };
        let changed = Fact { revision: Some(updated(Timestamp::MAX)), ..said.clone() };
        assert!(said.age() < changed.age() && changed.age() < later.age());
    }
}
