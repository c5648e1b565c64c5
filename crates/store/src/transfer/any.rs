//! A record whatever it is, as the kind of record that it is says.

use hindsight_types::{RecordBody, Scope, Viewer};
use uuid::Uuid;

use crate::{collection::Collection, fields::Fields, stored::Stored};

/// `each!(self, record => …)`: the same with the record in it.
macro_rules! each {
    ($self:expr, $record:ident => $do:expr) => {
        match $self {
            RecordBody::Event($record) => $do,
            RecordBody::Memory($record) => $do,
            RecordBody::Evaluation($record) => $do,
            RecordBody::Receipt($record) => $do,
            RecordBody::Evidence($record) => $do,
            RecordBody::OpenTask($record) => $do,
            RecordBody::FormerVerdicts($record) => $do,
            RecordBody::Reevaluation($record) => $do,
            RecordBody::Feedback($record) => $do,
            RecordBody::Review($record) => $do,
            RecordBody::Version($record) => $do,
            RecordBody::CompactionRun($record) => $do,
            RecordBody::CompactionTask($record) => $do,
            RecordBody::Forgotten($record) => $do,
            RecordBody::Forgetting($record) => $do,
            RecordBody::Archived($record) => $do,
            RecordBody::SubjectMerge($record) => $do,
            RecordBody::Moved($record) => $do,
        }
    };
}

impl Stored for RecordBody {
    fn collection(&self) -> Collection {
        each!(self, record => record.collection())
    }

    fn scope(&self) -> &Scope {
        self.scope()
    }

    fn key(&self) -> Uuid {
        each!(self, record => record.key())
    }

    fn fields(&self, fields: &mut Fields) {
        each!(self, record => record.fields(fields));
    }

    fn to_body(&self) -> RecordBody {
        self.clone()
    }

    fn from_body(body: RecordBody) -> Option<Self> {
        Some(body)
    }

    fn is_visible_to(&self, viewer: &Viewer) -> bool {
        each!(self, record => record.is_visible_to(viewer))
    }
}
