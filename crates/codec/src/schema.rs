//! Full names of the messages on the bus, as they stand in `Envelope::schema`.

pub const EVENT_RECORDED: &str = "hindsight.event.v1.EventRecorded";
pub const FACT_RETAINED: &str = "hindsight.event.v1.FactRetained";
pub const EVALUATION_REQUESTED: &str = "hindsight.event.v1.EvaluationRequested";
pub const REEVALUATION_CONTINUED: &str = "hindsight.event.v1.ReevaluationContinued";
pub const COMPACTION_REQUESTED: &str = "hindsight.event.v1.CompactionRequested";
pub const MEMORIES_CHANGED: &str = "hindsight.event.v1.MemoriesChanged";
