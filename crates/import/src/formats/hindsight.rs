//! Hindsight's own JSON Lines: one trajectory per line, with the field names of
//! `hindsight.common.v1.Trajectory` and its enum values with or without their prefix (`TOOL_CALL`,
//! `ACTION_TYPE_TOOL_CALL`). `step_index` may be left out. A field that is not known is an error that
//! names it, so that a slip of the pen does not lose data.

mod shape;

use hindsight_types::{
    ActionType, AgentId, Environment, Invalid, ReceiptId, Scope, SessionId, Step, TaskType, TraceId,
    Trajectory, UserId, Visibility, limits,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Format, Reader, Record, Sink};
use crate::{Options, clip::clip};

pub(super) struct Hindsight;

impl Format for Hindsight {
    fn name(&self) -> &'static str {
        "hindsight"
    }

    fn recognises(&self, record: &Value) -> bool {
        record.get("task_description").is_some()
            || (record.get("steps").is_some_and(Value::is_array) && record.get("schema_version").is_none())
    }

    fn reader(&self, options: &Options) -> Box<dyn Reader> {
        Box::new(LineReader(options.clone()))
    }
}

struct LineReader(Options);

impl Reader for LineReader {
    fn push(&mut self, record: Record, sink: &mut Sink) {
        let (line, element) = (record.line, record.element);
        sink.push_back(trajectory(record.value, &self.0).map_err(|reason| crate::RecordError {
            line,
            element,
            reason,
        }));
    }

    fn finish(&mut self, _: &mut Sink) {}
}

fn parse<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|e| e.to_string())
}

fn id<T>(value: Option<String>, make: fn(String) -> Result<T, Invalid>) -> Result<Option<T>, String> {
    value.filter(|v| !v.is_empty()).map(make).transpose().map_err(|e| e.to_string())
}

fn trajectory(value: Value, options: &Options) -> Result<Trajectory, String> {
    let run: shape::Trajectory = parse(value)?;
    let user = id(run.user, UserId::new)?.or_else(|| options.user.clone());
    let steps = run
        .steps
        .into_iter()
        .enumerate()
        .map(|(i, s)| step(i, s).map_err(|e| format!("steps[{i}]: {e}")))
        .collect::<Result<Vec<_>, _>>()?;
    if steps.is_empty() {
        return Err("steps: is empty; a run has at least one step".to_owned());
    }
    if run.task_description.trim().is_empty() {
        return Err("task_description: is required".to_owned());
    }
    let scope = visibility(run.scope, user.as_ref())?;
    let receipts = run.receipts.iter().map(|r| ReceiptId::parse(r)).collect::<Result<_, _>>();
    let ended_at = run.ended_at.or(run.started_at).unwrap_or(options.default_time);
    Ok(Trajectory {
        trace_id: TraceId::new(run.trace_id).map_err(|e| e.to_string())?,
        scope: Scope::new(options.tenant.clone(), scope),
        session: id(run.session, SessionId::new)?,
        user,
        agent: id(run.agent, AgentId::new)?,
        task_type: id(run.task_type, TaskType::new)?.or_else(|| options.task_type.clone()),
        task_description: clip(run.task_description, limits::TEXT_BYTES),
        steps,
        outcome: run.outcome.into(),
        environment: environment(run.environment, &options.tags),
        receipts: receipts.map_err(|e| e.to_string())?,
        started_at: run.started_at.unwrap_or(ended_at),
        ended_at,
    })
}

fn step(index: usize, value: Value) -> Result<Step, String> {
    let step: shape::Step = parse(value)?;
    let step_index = index as u32;
    if step.step_index.is_some_and(|given| given != step_index) {
        return Err(format!("step_index must be {step_index}: steps are in order and without gaps"));
    }
    let action_type = step.action_type.into();
    if action_type == ActionType::ToolCall && step.action_name.trim().is_empty() {
        return Err("action_name: is required for a TOOL_CALL".to_owned());
    }
    Ok(Step {
        step_index,
        action_type,
        action_name: step.action_name,
        action_detail: clip(step.action_detail, limits::DETAIL_BYTES),
        observation: clip(step.observation, limits::OBSERVATION_BYTES),
        status: step.status.into(),
        decision: step.decision.map(Into::into),
        reflection: clip(step.reflection, limits::TEXT_BYTES),
        agent: id(step.agent, AgentId::new)?,
        started_at: step.started_at,
        ended_at: step.ended_at,
    })
}

fn environment(given: shape::Environment, tags: &[String]) -> Environment {
    let mut environment = Environment { tags: given.tags, attributes: given.attributes };
    for tag in tags {
        if !environment.tags.contains(tag) {
            environment.tags.push(tag.clone());
        }
    }
    environment
}

/// As stated; else the user's when there is one, else the tenant's.
fn visibility(scope: Option<shape::Scope>, user: Option<&UserId>) -> Result<Visibility, String> {
    let default = || user.cloned().map_or(Visibility::Tenant, Visibility::User);
    let Some(scope) = scope else { return Ok(default()) };
    let visibility = match scope.level {
        shape::ScopeLevel::Unspecified => return Ok(default()),
        shape::ScopeLevel::Tenant => Ok(Visibility::Tenant),
        shape::ScopeLevel::User => UserId::new(scope.id).map(Visibility::User),
        shape::ScopeLevel::Task => TaskType::new(scope.id).map(Visibility::Task),
        shape::ScopeLevel::Agent => AgentId::new(scope.id).map(Visibility::Agent),
    };
    visibility.map_err(|e| format!("scope.{e}"))
}
