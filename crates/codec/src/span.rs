use hindsight_proto::event::v1 as pb;
use hindsight_types::{Invalid, SpanId, SpanRole, SpanStep, TraceSpan, Voice};

use crate::{
    event::{started_to_proto, task_started_from_proto},
    time::{time_from_proto, time_to_proto},
    trajectory::{outcome_from_proto, outcome_to_proto, step_from_proto, step_to_proto},
};

pub(crate) fn span_to_proto(s: &TraceSpan) -> pb::SpanRecorded {
    let step = |s: &SpanStep| pb::SpanStep {
        voice: voice_to_proto(s.voice) as i32,
        call_id: s.call_id.clone(),
        step: Some(step_to_proto(&s.step)),
    };
    pb::SpanRecorded {
        span_id: s.span_id.to_string(),
        parent_span_id: s.parent.as_ref().map(ToString::to_string).unwrap_or_default(),
        role: role_to_proto(s.role) as i32,
        name: s.name.clone(),
        started_at: Some(time_to_proto(s.started_at)),
        ended_at: Some(time_to_proto(s.ended_at)),
        task: Some(started_to_proto(&s.task)),
        instructions: s.instructions.clone(),
        steps: s.steps.iter().map(step).collect(),
        outcome: Some(outcome_to_proto(&s.outcome)),
    }
}

pub(crate) fn span_from_proto(s: pb::SpanRecorded) -> Result<TraceSpan, Invalid> {
    let parent = if s.parent_span_id.is_empty() { None } else { Some(SpanId::new(s.parent_span_id)?) };
    let steps = s.steps.into_iter().enumerate();
    Ok(TraceSpan {
        span_id: SpanId::new(s.span_id)?,
        parent,
        role: role_from_proto(s.role)?,
        name: s.name,
        started_at: time_from_proto("started_at", s.started_at)?,
        ended_at: time_from_proto("ended_at", s.ended_at)?,
        task: task_started_from_proto(s.task.unwrap_or_default()).map_err(|e| e.within("task"))?,
        instructions: s.instructions,
        steps: steps
            .map(|(i, s)| step(s).map_err(|e| e.within(&format!("steps[{i}]"))))
            .collect::<Result<_, _>>()?,
        outcome: outcome_from_proto(s.outcome).map_err(|e| e.within("outcome"))?,
    })
}

fn step(s: pb::SpanStep) -> Result<SpanStep, Invalid> {
    let step = s.step.ok_or_else(|| Invalid::new("step", "is required"))?;
    Ok(SpanStep { voice: voice_from_proto(s.voice)?, call_id: s.call_id, step: step_from_proto(step)? })
}

fn role_to_proto(role: SpanRole) -> pb::SpanRole {
    match role {
        SpanRole::Agent => pb::SpanRole::Agent,
        SpanRole::Model => pb::SpanRole::Model,
        SpanRole::Tool => pb::SpanRole::Tool,
        SpanRole::Root => pb::SpanRole::Root,
    }
}

fn role_from_proto(role: i32) -> Result<SpanRole, Invalid> {
    match pb::SpanRole::try_from(role) {
        Ok(pb::SpanRole::Agent) => Ok(SpanRole::Agent),
        Ok(pb::SpanRole::Model) => Ok(SpanRole::Model),
        Ok(pb::SpanRole::Tool) => Ok(SpanRole::Tool),
        Ok(pb::SpanRole::Root) => Ok(SpanRole::Root),
        Ok(pb::SpanRole::Unspecified) => Err(Invalid::new("role", "is required")),
        Err(_) => Err(Invalid::new("role", format!("{role} is not a value of this enum"))),
    }
}

fn voice_to_proto(voice: Voice) -> pb::SpanVoice {
    match voice {
        Voice::Heard => pb::SpanVoice::Heard,
        Voice::Said => pb::SpanVoice::Said,
        Voice::Done => pb::SpanVoice::Done,
    }
}

fn voice_from_proto(voice: i32) -> Result<Voice, Invalid> {
    match pb::SpanVoice::try_from(voice) {
        Ok(pb::SpanVoice::Heard) => Ok(Voice::Heard),
        Ok(pb::SpanVoice::Said) => Ok(Voice::Said),
        Ok(pb::SpanVoice::Done) => Ok(Voice::Done),
        Ok(pb::SpanVoice::Unspecified) => Err(Invalid::new("voice", "is required")),
        Err(_) => Err(Invalid::new("voice", format!("{voice} is not a value of this enum"))),
    }
}
