use std::{collections::HashMap, fmt::Write as _};

use hindsight_types::{
    ActionType, AgentId, Environment, EvidenceSource, Outcome, OutcomeEvidence, OutcomeStatus, Scope,
    SessionId, Step, StepStatus, Timestamp, TraceId, Trajectory, UserId, Visibility, limits,
};
use sha2::{Digest, Sha256};

use crate::{
    Options, UnderWay,
    clip::{clip, clip_name},
};

/// What a whole run may hold; above it would not fit into one message.
const RUN_BYTES: usize = limits::MESSAGE_BYTES / 4 * 3;
/// Longest value of an environment attribute that is kept.
const ATTRIBUTE_BYTES: usize = 1024;

/// Who did something and when.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mark {
    pub at: Option<Timestamp>,
    pub agent: Option<AgentId>,
}

/// A run while it is being read. What the model said is held back until it is known whether a call
/// follows: then it is the thought behind that call, otherwise a step of its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    pub description: String,
    pub session: Option<String>,
    pub user: Option<UserId>,
    pub agent: Option<String>,
    pub environment: Environment,
    pub evidence: Vec<OutcomeEvidence>,
    /// The last words of the model, unless the record names the result itself.
    pub conclusion: String,
    /// Line and element it begins with; with the origin of the input, the name of a run that has none.
    pub place: (u64, Option<u64>),
    /// The record says that nothing more comes.
    pub ended: bool,
    /// Steps from here on are not settled, whatever they look like.
    pub unsettled: Option<usize>,
    steps: Vec<Step>,
    thought: String,
    said: String,
    said_by: Mark,
    /// Calls without a result yet: their id and step.
    open: Vec<(String, usize)>,
    results: HashMap<String, usize>,
    dropped: usize,
    bytes: usize,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl Draft {
    pub(crate) fn by(agent: &str) -> Self {
        Self { agent: Some(agent.to_owned()), ..Self::default() }
    }

    /// Says where it begins.
    pub(crate) fn at(mut self, place: (u64, Option<u64>)) -> Self {
        self.place = place;
        self
    }

    /// The first words of the user are the task; the later ones are steps.
    pub(crate) fn user(&mut self, text: String, mark: Mark) {
        self.flush();
        self.seen(mark.at);
        if text.trim().is_empty() {
        } else if self.description.is_empty() {
            self.description = clip(text, limits::TEXT_BYTES);
        } else {
            self.add(ActionType::UserInput, String::new(), text, mark);
        }
    }

    /// Whether the user has said `text` in this run.
    pub(crate) fn heard(&self, text: &str) -> bool {
        let said = |s: &Step| s.action_type == ActionType::UserInput && s.action_detail == text;
        self.description == text || self.steps.iter().any(said)
    }

    /// True when `text` is what the user said last.
    pub(crate) fn repeats_user(&self, text: &str) -> bool {
        match self.steps.last() {
            _ if !self.said.is_empty() || !self.thought.is_empty() => false,
            None => self.description == text,
            Some(step) => step.action_type == ActionType::UserInput && step.action_detail == text,
        }
    }

    pub(crate) fn think(&mut self, text: &str, mark: Mark) {
        join(&mut self.thought, text);
        self.said_by = mark;
    }

    pub(crate) fn say(&mut self, text: &str, mark: Mark) {
        if !text.trim().is_empty() {
            self.conclusion = clip(text.trim().to_owned(), limits::TEXT_BYTES);
        }
        join(&mut self.said, text);
        self.said_by = mark;
    }

    /// More is about to be said or thought: what was said before it was complete.
    pub(crate) fn end_saying(&mut self) {
        if !self.said.is_empty() {
            self.flush();
        }
    }

    /// Ends what the model was saying: no call follows.
    pub(crate) fn flush(&mut self) {
        let (thought, said) = (std::mem::take(&mut self.thought), std::mem::take(&mut self.said));
        let mark = std::mem::take(&mut self.said_by);
        let (detail, reflection) = if said.is_empty() { (thought, String::new()) } else { (said, thought) };
        if detail.is_empty() {
            return;
        }
        if let Some(step) = self.add(ActionType::LlmReasoning, String::new(), detail, mark) {
            step.reflection = clip(reflection, limits::TEXT_BYTES);
        }
    }

    pub(crate) fn call(
        &mut self,
        id: Option<&str>,
        name: &str,
        arguments: String,
        mark: Mark,
    ) -> Result<(), String> {
        let name = clip_name(name, limits::ID_BYTES);
        if name.is_empty() {
            return Err("a tool call has no name".to_owned());
        }
        let mut reflection = std::mem::take(&mut self.thought);
        join(&mut reflection, &std::mem::take(&mut self.said));
        self.said_by = Mark::default();
        let index = self.steps.len();
        if let Some(step) = self.add(ActionType::ToolCall, name, arguments, mark) {
            step.reflection = clip(reflection, limits::TEXT_BYTES);
        }
        // Beyond the limits nothing is stored, and results of what is not stored are nobody's fault.
        self.open.push((id.unwrap_or_default().to_owned(), index));
        Ok(())
    }

    /// Gives a result to its call: the one of this id, or, without an id, the oldest that waits.
    pub(crate) fn result(
        &mut self,
        id: Option<&str>,
        observation: String,
        status: StepStatus,
        at: Option<Timestamp>,
    ) -> Result<(), String> {
        let id = id.unwrap_or_default();
        let waiting = self.open.iter().position(|(open, _)| id.is_empty() || open == id);
        let index = match (waiting, self.results.get(id)) {
            (Some(i), _) => self.open.remove(i).1,
            // Shells report more than once; the later report adds to the earlier.
            (None, Some(index)) => *index,
            (None, None) => return Err(format!("the result of call `{id}` has no call before it")),
        };
        self.results.insert(id.to_owned(), index);
        self.seen(at);
        let observation = clip(observation, limits::OBSERVATION_BYTES);
        self.bytes += observation.len();
        if self.bytes <= RUN_BYTES
            && let Some(step) = self.steps.get_mut(index)
        {
            join(&mut step.observation, &observation);
            step.observation = clip(std::mem::take(&mut step.observation), limits::OBSERVATION_BYTES);
            // A clock that ran backwards says nothing.
            step.ended_at = at.filter(|at| step.started_at.is_none_or(|start| start <= *at));
            if status != StepStatus::Unknown {
                step.status = status;
            }
        }
        Ok(())
    }

    /// The call that a tool answers which was not given its id: of the same name and arguments, else of the
    /// same name.
    pub(crate) fn open_call(&self, name: &str, arguments: &str) -> Option<&str> {
        let named = |(_, i): &&(String, usize)| self.steps.get(*i).is_some_and(|s| s.action_name == name);
        let same = |(_, i): &&(String, usize)| {
            self.steps
                .get(*i)
                .is_some_and(|s| s.action_name == name && same_json(&s.action_detail, arguments))
        };
        let found = self.open.iter().find(same).or_else(|| self.open.iter().find(named));
        found.map(|(id, _)| id.as_str())
    }

    /// Steps so far.
    pub(crate) fn step_count(&self) -> usize {
        self.steps.len()
    }

    /// Whether a call of this id waits for its result.
    pub(crate) fn is_open(&self, id: &str) -> bool {
        self.open.iter().any(|(open, _)| open == id)
    }

    /// Something the agent tried went wrong without being the call of a tool.
    pub(crate) fn failure(&mut self, detail: String, error: String, mark: Mark) {
        self.flush();
        if let Some(step) = self.add(ActionType::LlmReasoning, String::new(), detail, mark) {
            step.observation = clip(error, limits::OBSERVATION_BYTES);
            step.status = StepStatus::Error;
        }
    }

    pub(crate) fn attribute(&mut self, key: &str, value: impl Into<String>) {
        let value = clip(value.into(), ATTRIBUTE_BYTES);
        if self.environment.attributes.len() < limits::TAGS {
            self.environment.attributes.insert(key.to_owned(), value);
        }
    }

    pub(crate) fn proof(&mut self, source: EvidenceSource, verdict: OutcomeStatus, detail: String) {
        self.evidence.push(OutcomeEvidence { source, verdict, detail, observed_at: None });
    }

    pub(crate) fn seen(&mut self, at: Option<Timestamp>) {
        self.first = self.first.into_iter().chain(at).min();
        self.last = self.last.into_iter().chain(at).max();
    }

    fn add(
        &mut self,
        action_type: ActionType,
        name: String,
        detail: String,
        mark: Mark,
    ) -> Option<&mut Step> {
        self.seen(mark.at);
        let detail = clip(detail, limits::DETAIL_BYTES);
        self.bytes += detail.len();
        if self.steps.len() == limits::STEPS || self.bytes > RUN_BYTES {
            self.dropped += 1;
            return None;
        }
        self.steps.push(Step {
            step_index: self.steps.len() as u32,
            action_type,
            action_name: name,
            action_detail: detail,
            observation: String::new(),
            status: StepStatus::Unknown,
            decision: None,
            reflection: String::new(),
            agent: mark.agent,
            started_at: mark.at,
            ended_at: None,
        });
        self.steps.last_mut()
    }

    /// The run as it is now, for one that is still being recorded.
    pub(crate) fn so_far(&self, own_id: Option<&str>, prefix: &str, options: &Options) -> Option<UnderWay> {
        // What the model said last may yet turn out to be the thought behind a call.
        let open = self.open.iter().map(|(_, step)| *step).chain(self.unsettled);
        let settled = open.fold(self.steps.len(), usize::min);
        let run = self.clone().finish(own_id, prefix, options).ok()?;
        let settled = if self.ended { run.steps.len() } else { settled };
        Some(UnderWay { run, settled, ended: self.ended })
    }

    /// The finished run. Its trace id is `own_id` where that can be one, else made of `prefix` and a hash
    /// of where it stands (when the input has an origin) or of its content.
    pub(crate) fn finish(
        mut self,
        own_id: Option<&str>,
        prefix: &str,
        options: &Options,
    ) -> Result<Trajectory, String> {
        self.flush();
        self.check()?;
        let trace_id = match own_id.map(TraceId::new) {
            Some(Ok(id)) => id,
            _ => TraceId::new(format!("{prefix}-{}", self.hash(options))).map_err(|e| e.to_string())?,
        };
        let user = self.user.or_else(|| options.user.clone());
        for tag in &options.tags {
            if !self.environment.tags.contains(tag) {
                self.environment.tags.push(tag.clone());
            }
        }
        let visibility = user.clone().map_or(Visibility::Tenant, Visibility::User);
        Ok(Trajectory {
            trace_id,
            scope: Scope::new(options.tenant.clone(), visibility),
            session: self.session.and_then(|s| SessionId::new(s).ok()),
            user,
            agent: self.agent.and_then(|a| AgentId::new(a).ok()),
            task_type: options.task_type.clone(),
            task_description: self.description,
            steps: self.steps,
            outcome: Outcome {
                status: OutcomeStatus::Unknown,
                evidence: self.evidence,
                conclusion: self.conclusion,
            },
            environment: self.environment,
            receipts: Vec::new(),
            started_at: self.first.unwrap_or(options.default_time),
            ended_at: self.last.unwrap_or(options.default_time),
        })
    }

    fn check(&self) -> Result<(), String> {
        if self.dropped > 0 || self.bytes > RUN_BYTES {
            return Err(format!(
                "the run is too large ({} steps, {} bytes of text); at most {} steps and {RUN_BYTES} bytes are \
                 accepted, so split it into several runs",
                self.steps.len() + self.dropped,
                self.bytes,
                limits::STEPS
            ));
        }
        if self.description.is_empty() {
            return Err("the run has no message of a user, so its task is not known".to_owned());
        }
        if self.steps.is_empty() {
            return Err("the run ends before the agent did anything".to_owned());
        }
        Ok(())
    }

    /// 96 bits over where the run stands and its task, or over everything that was said and done.
    fn hash(&self, options: &Options) -> String {
        let mut hasher = Sha256::new();
        let mut feed = |text: &str| {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        feed(&self.description);
        if let Some(origin) = &options.origin {
            feed(&format!("{origin}\n{:?}", self.place));
            return hex(&hasher);
        }
        for (key, value) in &self.environment.attributes {
            feed(key);
            feed(value);
        }
        for step in &self.steps {
            feed(&step.action_name);
            feed(&step.action_detail);
            feed(&step.observation);
        }
        hex(&hasher)
    }
}

fn hex(hasher: &Sha256) -> String {
    hasher.clone().finalize().iter().take(12).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn same_json(a: &str, b: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    a == b || (read(a).is_some() && read(a) == read(b))
}

fn join(text: &mut String, more: &str) {
    if more.trim().is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}
