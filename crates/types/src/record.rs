use crate::{
    Archived, CompactionRun, CompactionTask, EvaluationRecord, Event, Evidence, Feedback, Forgetting,
    Forgotten, FormerVerdicts, Memory, MemoryVersion, MovedRecord, OpenTask, Receipt, Reevaluation, Review,
    Scope, SubjectMerge,
};

/// What is stored, whole.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordBody {
    Event(Event),
    Memory(Memory),
    Evaluation(EvaluationRecord),
    Receipt(Receipt),
    Evidence(Evidence),
    OpenTask(OpenTask),
    FormerVerdicts(FormerVerdicts),
    Reevaluation(Reevaluation),
    Feedback(Feedback),
    Review(Review),
    Version(MemoryVersion),
    CompactionRun(CompactionRun),
    CompactionTask(CompactionTask),
    Forgotten(Forgotten),
    Forgetting(Box<Forgetting>),
    Archived(Box<Archived>),
    SubjectMerge(SubjectMerge),
    Moved(MovedRecord),
}

impl RecordBody {
    pub fn scope(&self) -> &Scope {
        match self {
            Self::Event(e) => &e.scope,
            Self::Memory(m) => m.scope(),
            Self::Evaluation(r) => &r.scope,
            Self::Receipt(r) => &r.scope,
            Self::Evidence(e) => &e.scope,
            Self::OpenTask(t) => &t.scope,
            Self::FormerVerdicts(f) => &f.scope,
            Self::Reevaluation(r) => &r.scope,
            Self::Feedback(f) => &f.scope,
            Self::Review(r) => &r.scope,
            Self::Version(v) => v.0.scope(),
            Self::CompactionRun(r) => &r.scope,
            Self::CompactionTask(t) => &t.scope,
            Self::Forgotten(f) => &f.scope,
            Self::Forgetting(f) => &f.scope,
            Self::Archived(a) => a.memory.scope(),
            Self::SubjectMerge(m) => &m.scope,
            Self::Moved(m) => &m.scope,
        }
    }
}
