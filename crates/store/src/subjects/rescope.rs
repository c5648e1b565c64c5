//! A record as it is when it belongs to somebody else. Ids that are made of the owner are made anew.

use std::collections::BTreeMap;

use hindsight_codec::RecordBody;
use hindsight_types::{
    EventBody, Evidence, EvidenceId, Memory, MemoryId, MemoryVersion, Receipt, Scope, UserId,
};

/// From whom to whom.
pub(super) struct Route {
    pub(super) source: Scope,
    pub(super) target: Scope,
    from: UserId,
    to: UserId,
    /// Memories whose new id is known.
    names: BTreeMap<MemoryId, MemoryId>,
}

impl Route {
    /// `None` unless both are users.
    pub(super) fn new(source: Scope, target: Scope, names: BTreeMap<MemoryId, MemoryId>) -> Option<Self> {
        let (from, to) = (source.user()?.clone(), target.user()?.clone());
        Some(Self { source, target, from, to, names })
    }

    /// The id of a memory whose id is made of its owner; `None`: it keeps its id.
    pub(super) fn renamed(&self, memory: &Memory) -> Option<MemoryId> {
        if let Some(known) = self.names.get(&memory.id()) {
            return Some(*known);
        }
        let tenant = &self.target.tenant;
        let (old, new) = (self.source.visibility.keyword(), self.target.visibility.keyword());
        let id = memory.id();
        let made =
            |of: &dyn Fn(&str) -> MemoryId| if id == of(&old) { of(&new) } else { id.moved(tenant, &new) };
        match memory {
            Memory::Fact(m) => {
                let derived = MemoryId::fact(tenant, &self.from, &m.key) == id;
                let anew = MemoryId::fact(tenant, &self.to, &m.key);
                Some(if derived { anew } else { id.moved(tenant, &new) })
            }
            Memory::Lesson(m) => Some(made(&|visibility| MemoryId::lesson(tenant, visibility, &m.key))),
            Memory::FailurePattern(m) => {
                let key = format!("{}\u{1f}{}", m.action_name, m.signature);
                Some(made(&|visibility| MemoryId::failure_pattern(tenant, visibility, &key)))
            }
            Memory::Experience(_) | Memory::Step(_) => None,
        }
    }

    fn name(&self, id: MemoryId) -> MemoryId {
        self.names.get(&id).copied().unwrap_or(id)
    }

    pub(super) fn memory(&self, mut memory: Memory) -> Memory {
        let renamed = self.renamed(&memory);
        let scope = self.target.clone();
        match &mut memory {
            Memory::Fact(m) => {
                m.id = renamed.unwrap_or(m.id);
                m.superseded_by = m.superseded_by.map(|id| self.name(id));
                m.scope = scope;
            }
            Memory::Experience(m) => {
                let trajectory = &mut m.trajectory;
                trajectory.scope = scope;
                self.user(&mut trajectory.user);
            }
            Memory::Lesson(m) => (m.id, m.scope) = (renamed.unwrap_or(m.id), scope),
            Memory::FailurePattern(m) => (m.id, m.scope) = (renamed.unwrap_or(m.id), scope),
            Memory::Step(m) => m.scope = scope,
        }
        memory
    }

    fn user(&self, user: &mut Option<UserId>) {
        if user.as_ref() == Some(&self.from) {
            *user = Some(self.to.clone());
        }
    }

    /// `None`: it is nobody's.
    pub(super) fn record(&self, body: RecordBody) -> Option<RecordBody> {
        let scope = || self.target.clone();
        Some(match body {
            RecordBody::Memory(memory) => RecordBody::Memory(self.memory(memory)),
            RecordBody::Version(version) => RecordBody::Version(MemoryVersion(self.memory(version.0))),
            RecordBody::Archived(mut archived) => {
                archived.memory = self.memory(archived.memory);
                archived.instead = archived.instead.map(|id| self.name(id));
                RecordBody::Archived(archived)
            }
            RecordBody::Event(mut event) => {
                event.scope = scope();
                if let EventBody::Started(started) = &mut event.body {
                    self.user(&mut started.user);
                }
                RecordBody::Event(event)
            }
            RecordBody::Evaluation(mut record) => {
                record.scope = scope();
                RecordBody::Evaluation(record)
            }
            RecordBody::FormerVerdicts(mut former) => {
                former.scope = scope();
                RecordBody::FormerVerdicts(former)
            }
            RecordBody::Reevaluation(mut job) => {
                job.scope = scope();
                RecordBody::Reevaluation(job)
            }
            RecordBody::OpenTask(mut task) => {
                task.scope = scope();
                RecordBody::OpenTask(task)
            }
            RecordBody::Receipt(receipt) => RecordBody::Receipt(self.receipt(receipt)),
            RecordBody::Feedback(mut feedback) => {
                (feedback.memory_id, feedback.scope) = (self.name(feedback.memory_id), scope());
                RecordBody::Feedback(feedback)
            }
            RecordBody::Evidence(line) => RecordBody::Evidence(self.evidence(line)),
            RecordBody::Review(mut review) => {
                (review.memory_id, review.scope) = (self.name(review.memory_id), scope());
                RecordBody::Review(review)
            }
            RecordBody::CompactionRun(_)
            | RecordBody::CompactionTask(_)
            | RecordBody::Forgotten(_)
            | RecordBody::Forgetting(_)
            | RecordBody::SubjectMerge(_)
            | RecordBody::Moved(_) => return None,
        })
    }

    fn receipt(&self, mut receipt: Receipt) -> Receipt {
        receipt.scope = self.target.clone();
        for item in &mut receipt.injected {
            item.memory_id = self.name(item.memory_id);
            item.supersedes.iter_mut().for_each(|id| *id = self.name(*id));
        }
        for withheld in &mut receipt.withheld {
            withheld.memory_id = self.name(withheld.memory_id);
            withheld.instead = withheld.instead.map(|id| self.name(id));
        }
        receipt
    }

    fn evidence(&self, mut line: Evidence) -> Evidence {
        let derived = |line: &Evidence| EvidenceId::of(line.memory_id, &line.scope.tenant, &line.trace_id);
        let own = line.id == derived(&line);
        (line.memory_id, line.scope) = (self.name(line.memory_id), self.target.clone());
        if own {
            line.id = derived(&line);
        }
        line
    }
}
