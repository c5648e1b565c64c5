//! Lists for people who look after memories.

use async_trait::async_trait;
use hindsight_ports::{Browse, Page, PageRequest, Selection, StoreError};
use hindsight_text::entity_key;
use hindsight_types::{Memory, MemoryId, MemoryKind, Receipt, RecordBody, Viewer};
use qdrant_client::qdrant::Condition;

use crate::{Store, collection::Collection, field, fields::micros, page, scoped::ScopedFilter, stored};

/// A condition on one payload field, by what a caller calls it.
struct Wanted {
    name: &'static str,
    field: &'static str,
    value: Value,
}

enum Value {
    Text(String),
    Flag(bool),
}

impl Value {
    fn condition(&self, field: &str) -> Condition {
        match self {
            Self::Text(text) => Condition::matches(field, text.clone()),
            Self::Flag(flag) => Condition::matches(field, *flag),
        }
    }

    fn in_words(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Flag(flag) => flag.to_string(),
        }
    }
}

/// What a selection asks for. A run is told apart by where the kind names it.
fn wanted(kind: MemoryKind, selection: &Selection) -> Vec<Wanted> {
    let Selection {
        stage,
        outcome,
        task_type,
        environment,
        entity,
        status,
        fact_type,
        session,
        action_name,
        ..
    } = selection;
    let run = match kind {
        MemoryKind::Lesson | MemoryKind::FailurePattern => field::SOURCES,
        MemoryKind::Experience | MemoryKind::Step | MemoryKind::Fact => field::TRACE_ID,
    };
    let text =
        |name, field, text: Option<String>| text.map(|text| Wanted { name, field, value: Value::Text(text) });
    let asked = [
        text("stage", field::STAGE, stage.map(|s| stored::stage(s).to_owned())),
        text("outcome", field::OUTCOME, outcome.map(|o| stored::outcome(o).to_owned())),
        text("task_type", field::TASK_TYPE, task_type.as_ref().map(ToString::to_string)),
        text("environment", field::ENVIRONMENT, environment.clone()),
        text("entity", field::ENTITIES, entity.as_deref().map(entity_key)),
        text("status", field::STATUS, status.map(|s| stored::status(s).to_owned())),
        text("type", field::TYPE, fact_type.map(|t| t.as_str().to_owned())),
        text("session", field::SESSION, session.as_ref().map(ToString::to_string)),
        text("action_name", field::ACTION_NAME, action_name.clone()),
        text("trace_id", run, selection.trace.as_ref().map(ToString::to_string)),
        selection.worth_reference.map(|flag| Wanted {
            name: "worth_reference",
            field: field::WORTH_REFERENCE,
            value: Value::Flag(flag),
        }),
    ];
    asked.into_iter().flatten().collect()
}

#[async_trait]
impl Browse for Store {
    async fn select(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        selection: &Selection,
        page: &PageRequest,
    ) -> Result<Page<Memory>, StoreError> {
        let collection = Collection::of(kind);
        let wanted = wanted(kind, selection);
        if let Some(Wanted { name, .. }) = wanted.iter().find(|w| !collection.has_index(w.field)) {
            return Err(StoreError::Rejected(format!("{name}: no {} has one; leave it out", kind.as_str())));
        }
        let (from, until) = (selection.from.map(micros), selection.until.map(micros));
        let mut which: String =
            wanted.iter().map(|w| format!("\n{}={}", w.field, w.value.in_words())).collect();
        for (name, time) in [("from", from), ("until", until)] {
            which.extend(time.map(|time| format!("\n{name}={time}")));
        }
        let narrow = |all: ScopedFilter| {
            let mut filter = all;
            for Wanted { field, value, .. } in &wanted {
                filter = filter.and(value.condition(field));
            }
            if from.is_some() || until.is_some() {
                filter = filter.and_between(collection.time_field(), from, until);
            }
            filter
        };
        page::selected(self.backend(), viewer, collection, &which, page, narrow).await
    }

    async fn receipts(
        &self,
        viewer: &Viewer,
        given: Option<MemoryId>,
        page: &PageRequest,
    ) -> Result<Page<Receipt>, StoreError> {
        let which = given.map_or_else(|| "\nall".to_owned(), |id| format!("\n{id}"));
        let narrow = |all: ScopedFilter| match given {
            Some(id) => all.and(Condition::matches(field::INJECTED, id.to_string())),
            None => all,
        };
        let found =
            page::selected(self.backend(), viewer, Collection::Receipts, &which, page, narrow).await?;
        // What was said of receipts stands beside them.
        let receipt = |body| match body {
            RecordBody::Receipt(receipt) => Some(receipt),
            _ => None,
        };
        Ok(Page {
            items: found.items.into_iter().filter_map(receipt).collect(),
            next_token: found.next_token,
        })
    }
}
