//! Which memories a list shows.

use hindsight_codec::{
    fact_status_from_proto, fact_type_from_proto, optional_time_from_proto, outcome_status_from_proto,
    stage_from_proto,
};
use hindsight_ports::Selection;
use hindsight_proto::memory::v1::MemoryFilter;
use hindsight_types::{Invalid, SessionId, TaskType, Timestamp, TraceId, limits};

pub(super) fn selection(filter: MemoryFilter) -> Result<Selection, Invalid> {
    let from = time("from", filter.from)?;
    let until = time("until", filter.until)?;
    if let (Some(from), Some(until)) = (from, until)
        && until <= from
    {
        return Err(Invalid::new(
            "filter.until",
            format!("is {until}; it must be later than `from`, {from}"),
        ));
    }
    let given = |value: i32| (value != 0).then_some(value);
    Ok(Selection {
        stage: given(filter.stage).map(stage_from_proto).transpose().map_err(within)?,
        outcome: given(filter.outcome).map(outcome_status_from_proto).transpose().map_err(within)?,
        task_type: named(filter.task_type).map(TaskType::new).transpose().map_err(within)?,
        environment: text("environment", filter.environment)?,
        entity: text("entity", filter.entity)?,
        status: given(filter.status).map(fact_status_from_proto).transpose().map_err(within)?,
        fact_type: given(filter.r#type).map(fact_type_from_proto).transpose().map_err(within)?,
        session: named(filter.session).map(SessionId::new).transpose().map_err(within)?,
        action_name: text("action_name", filter.action_name)?,
        worth_reference: filter.worth_reference,
        trace: named(filter.trace_id).map(TraceId::new).transpose().map_err(within)?,
        from,
        until,
    })
}

fn within(error: Invalid) -> Invalid {
    error.within("filter")
}

fn named(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn text(field: &str, text: String) -> Result<Option<String>, Invalid> {
    if text.len() > limits::ID_BYTES {
        let problem = format!("is {} bytes long; at most {} are accepted", text.len(), limits::ID_BYTES);
        return Err(Invalid::new(field, problem).within("filter"));
    }
    Ok(named(text))
}

fn time(field: &str, time: Option<prost_types::Timestamp>) -> Result<Option<Timestamp>, Invalid> {
    optional_time_from_proto(field, time).map_err(within)
}
