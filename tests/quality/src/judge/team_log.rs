//! Logs of several agents that talk: who wrote each message, and the run it makes.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use hindsight_types::{
    ActionType, AgentId, Environment, EvidenceSource, Outcome, OutcomeEvidence, OutcomeStatus, Scope, Step,
    StepStatus, TenantId, Timestamp, TraceId, Trajectory, Visibility,
};
use serde::Deserialize;

/// Those who answer but decide nothing: the person who asks, and machines that run what they are given.
const NO_AGENTS: [&str; 4] = ["human", "user", "Computer_terminal", "ComputerTerminal"];
/// Agents whose messages report an act and what came of it.
const ACTORS: [&str; 2] = ["WebSurfer", "FileSurfer"];

pub(super) struct Log {
    pub(super) name: String,
    pub(super) run: Trajectory,
    /// Who wrote each message.
    pub(super) authors: Vec<String>,
    /// Per step of the run, the message it was made of.
    pub(super) messages: Vec<usize>,
    pub(super) mistake_agent: String,
    /// The message that people held responsible.
    pub(super) mistake: usize,
}

impl Log {
    /// Messages that an agent wrote.
    pub(super) fn own(&self) -> Vec<usize> {
        (0..self.authors.len()).filter(|m| !NO_AGENTS.contains(&self.authors[*m].as_str())).collect()
    }
}

#[derive(Deserialize)]
struct Record {
    question: String,
    history: Vec<Message>,
    mistake_agent: String,
    mistake_step: String,
}

#[derive(Deserialize)]
struct Message {
    content: String,
    role: String,
    name: Option<String>,
}

impl Message {
    /// `Orchestrator (-> WebSurfer)` is the orchestrator.
    fn author(&self) -> &str {
        let name = self.name.as_deref().unwrap_or(&self.role);
        name.split(" (").next().unwrap_or(name)
    }
}

/// Every log of a folder, by file name.
pub(super) fn read(folder: &Path) -> anyhow::Result<Vec<Log>> {
    let mut paths: Vec<_> = fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<std::io::Result<_>>()?;
    paths.retain(|p| p.extension().is_some_and(|e| e == "json"));
    paths.sort();
    paths.iter().map(|p| one(p).with_context(|| format!("{}", p.display()))).collect()
}

fn one(path: &Path) -> anyhow::Result<Log> {
    let record: Record = serde_json::from_str(&fs::read_to_string(path)?)?;
    let name = path.display().to_string();
    let mistake: usize = record.mistake_step.parse()?;
    if mistake >= record.history.len() {
        bail!("the mistake is at {mistake}, the log has {} messages", record.history.len());
    }
    let (steps, messages) = steps(&record.history)?;
    Ok(Log {
        name,
        authors: record.history.iter().map(|m| m.author().to_owned()).collect(),
        run: run(&record, steps)?,
        messages,
        mistake_agent: record.mistake_agent,
        mistake,
    })
}

fn steps(history: &[Message]) -> anyhow::Result<(Vec<Step>, Vec<usize>)> {
    let (mut steps, mut messages) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(message) = history.get(at) {
        let from = at;
        let machine = history.get(at + 1).filter(|next| NO_AGENTS.contains(&next.author()));
        let mut step = blank(steps.len(), message)?;
        at += 1;
        match code(&message.content).zip(machine) {
            // The code an agent writes is run by a machine: a call of that agent.
            Some((code, machine)) if step.agent.is_some() => {
                step.action_type = ActionType::ToolCall;
                step.action_name = machine.author().to_owned();
                step.action_detail = code;
                step.reflection = prose(&message.content);
                step.observation.clone_from(&machine.content);
                at += 1;
            }
            _ if ACTORS.contains(&message.author()) => {
                let (act, seen) = message.content.split_once("\n\n").unwrap_or((&message.content, ""));
                step.action_type = ActionType::ToolCall;
                step.action_name = message.author().to_owned();
                step.action_detail = act.to_owned();
                step.observation = seen.to_owned();
            }
            _ if step.agent.is_none() => step.action_type = ActionType::UserInput,
            _ => {}
        }
        step.status = hindsight_ingest::status::infer(&step);
        steps.push(step);
        messages.push(from);
    }
    Ok((steps, messages))
}

fn blank(at: usize, message: &Message) -> anyhow::Result<Step> {
    let author = message.author();
    Ok(Step {
        step_index: at as u32,
        action_type: ActionType::LlmReasoning,
        action_name: String::new(),
        action_detail: message.content.clone(),
        observation: String::new(),
        status: StepStatus::Unknown,
        decision: None,
        reflection: String::new(),
        agent: (!NO_AGENTS.contains(&author)).then(|| AgentId::new(author)).transpose()?,
        started_at: None,
        ended_at: None,
    })
}

/// The blocks of code in a message, if there are any.
fn code(text: &str) -> Option<String> {
    let blocks: Vec<&str> = text.split("```").skip(1).step_by(2).collect();
    (!blocks.is_empty()).then(|| blocks.join("\n"))
}

fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect::<Vec<_>>().join("\n")
}

fn run(record: &Record, steps: Vec<Step>) -> anyhow::Result<Trajectory> {
    Ok(Trajectory {
        trace_id: TraceId::new("log")?,
        scope: Scope::new(TenantId::new("quality")?, Visibility::Tenant),
        session: None,
        user: None,
        agent: None,
        task_type: None,
        task_description: record.question.trim().to_owned(),
        outcome: Outcome {
            status: OutcomeStatus::Unknown,
            evidence: vec![OutcomeEvidence {
                source: EvidenceSource::TestResult,
                verdict: OutcomeStatus::Failure,
                detail: String::new(),
                observed_at: None,
            }],
            conclusion: conclusion(&record.history),
        },
        steps,
        environment: Environment::default(),
        receipts: Vec::new(),
        started_at: Timestamp::UNIX_EPOCH,
        ended_at: Timestamp::UNIX_EPOCH,
    })
}

/// What the run gives as its answer: after the words that announce it, else the last words of an agent.
fn conclusion(history: &[Message]) -> String {
    const ANNOUNCED: &str = "FINAL ANSWER:";
    const END: &str = "TERMINATE";
    let last = history
        .iter()
        .rev()
        .find(|m| !NO_AGENTS.contains(&m.author()) && m.content.trim().trim_matches('.') != END);
    let text = last.map_or("", |m| m.content.as_str());
    match text.split_once(ANNOUNCED) {
        Some((_, answer)) => answer.lines().next().unwrap_or_default().trim().to_owned(),
        None => text.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ActionType, Message, StepStatus, conclusion, steps};

    fn says(name: &str, content: &str) -> Message {
        Message { content: content.to_owned(), role: "user".to_owned(), name: Some(name.to_owned()) }
    }

    #[test]
    fn code_and_what_the_machine_answered_are_one_call_of_its_author() {
        let log = [
            says("Planner", "Count the rows."),
            says("Coder", "Let me count.\n```python\nprint(4 / 0)\n```"),
            says("Computer_terminal", "exitcode: 1 (execution failed)\nZeroDivisionError: division by zero"),
            says("Planner", "The answer is unknown."),
            says("Planner", "TERMINATE"),
        ];
        let (steps, messages) = steps(&log).unwrap();
        assert_eq!(messages, [0, 1, 3, 4]);
        assert_eq!(steps[1].action_type, ActionType::ToolCall);
        assert_eq!(steps[1].status, StepStatus::Error);
        assert_eq!(steps[1].agent.as_ref().map(|a| a.as_str()), Some("Coder"));
        assert_eq!(steps[1].reflection.trim(), "Let me count.");
        assert_eq!(conclusion(&log), "The answer is unknown.");
    }
}
