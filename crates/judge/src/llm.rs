//! The LLM judge: asks a model for the label of every step, through `ports::Llm`.
//!
//! What the model sees is a digest of about a hundred tokens per step, in which observed text cannot leave
//! its place ([`prompt`]). What it answers is checked; an answer that cannot be used is sent back once with
//! what is wrong with it, and then the judgement fails with the reason.

mod answer;
mod entry;
pub(crate) mod prompt;
mod window;

use std::fmt;

use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use hindsight_ports::{Llm, LlmError, LlmRequest, LlmUsage};
use hindsight_types::{TenantId, Trajectory};

pub use answer::{LlmLabel, UsedBy};
pub use prompt::VERSION as PROMPT_VERSION;

use entry::Entry;
use window::Window;

/// Most judgements of one run.
pub const MOST_JUDGEMENTS: u32 = 9;
/// Questions of one run that are asked at a time.
const AT_A_TIME: usize = 4;
/// How freely a model answers that is asked for several judgements; Wang et al. 2022, self-consistency.
const FREELY: f32 = 0.7;

/// What to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LlmJudge {
    /// Independent judgements of each step, 1 to [`MOST_JUDGEMENTS`].
    pub judgements: u32,
    /// About how many tokens of steps one question shows. A longer run is asked about in several questions.
    pub window_tokens: usize,
    /// A run that needs more questions per judgement is not judged by a model.
    pub windows: usize,
}

impl Default for LlmJudge {
    fn default() -> Self {
        Self { judgements: 1, window_tokens: 3_000, windows: 16 }
    }
}

/// What the model made of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct LlmVerdict {
    /// As the endpoint names it.
    pub model: String,
    /// One list per judgement, each with one label per step in step order.
    pub judgements: Vec<Vec<LlmLabel>>,
    pub spent: Spent,
}

/// What judging took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Questions asked, repairs included.
    pub calls: u32,
    /// Answers that had to be asked for again.
    pub repairs: u32,
    /// Answers taken from a cache are not counted.
    pub usage: LlmUsage,
}

impl Spent {
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.repairs += other.repairs;
        self.usage += other.usage;
    }
}

/// Why there is no verdict of the model, and what was spent for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlmFailure {
    pub cause: Cause,
    pub spent: Spent,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    #[error(transparent)]
    Llm(#[from] LlmError),
    /// Asked twice.
    #[error("the model's labels cannot be used, even after it was told why: {0}")]
    Unusable(String),
    #[error(
        "the run is too long for the model: it needs {needed} questions, at most {most} are asked; judge it by `slice`"
    )]
    TooLong { needed: usize, most: usize },
}

impl fmt::Display for LlmFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl std::error::Error for LlmFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

impl LlmJudge {
    /// Labels every step. `t` is redacted and its observations digested; `tenant` pays.
    pub async fn judge(
        &self,
        llm: &dyn Llm,
        tenant: &TenantId,
        t: &Trajectory,
    ) -> Result<LlmVerdict, LlmFailure> {
        let entries = entry::all(t);
        let windows = window::cut(&entries, self.window_tokens);
        if windows.len() > self.windows {
            let cause = Cause::TooLong { needed: windows.len(), most: self.windows };
            return Err(LlmFailure { cause, spent: Spent::default() });
        }
        let judgements = self.judgements.clamp(1, MOST_JUDGEMENTS);
        let frame = prompt::Frame::of(t);
        let questions = (0..judgements).flat_map(|n| windows.iter().map(move |w| (n, w)));
        let asked: Vec<_> = questions
            .map(|(seed, window)| {
                let request = LlmRequest {
                    tenant: tenant.clone(),
                    system: prompt::SYSTEM.to_owned(),
                    user: frame.question(&entries, window),
                    schema: Some(prompt::schema(window.len())),
                    max_output_tokens: prompt::output_tokens(window.len()),
                    temperature: if judgements == 1 { 0.0 } else { FREELY },
                    seed: Some(seed.into()),
                };
                ask(llm, request, &entries, window, frame.end).boxed()
            })
            .collect();
        let answers: Vec<Answered> = stream::iter(asked).buffered(AT_A_TIME).try_collect().await?;
        Ok(gather(answers, windows.len(), llm.model()))
    }
}

struct Answered {
    model: String,
    labels: Vec<LlmLabel>,
    spent: Spent,
}

/// Asks once, and once more with what was wrong with the answer.
async fn ask(
    llm: &dyn Llm,
    mut request: LlmRequest,
    entries: &[Entry],
    window: &Window,
    end: u32,
) -> Result<Answered, LlmFailure> {
    let mut spent = Spent::default();
    loop {
        spent.calls += 1;
        let (answer, problem) = match llm.complete(&request).await {
            Ok(reply) => {
                if !reply.cached {
                    spent.usage += reply.usage;
                }
                match answer::read(&reply.text, entries, window.asked.clone(), end) {
                    Ok(labels) => return Ok(Answered { model: reply.model, labels, spent }),
                    Err(problem) => (reply.text, problem),
                }
            }
            Err(error) => {
                spent.usage += error.usage();
                match answer::repairable(&error) {
                    Some((answer, problem)) => (answer, problem),
                    None => return Err(LlmFailure { cause: error.into(), spent }),
                }
            }
        };
        if spent.repairs > 0 {
            return Err(LlmFailure { cause: Cause::Unusable(problem), spent });
        }
        spent.repairs += 1;
        request.user.push_str(&prompt::repair(&answer, &problem));
    }
}

/// Puts the windows of each judgement together again.
fn gather(answers: Vec<Answered>, windows: usize, asked_for: &str) -> LlmVerdict {
    let mut verdict = LlmVerdict {
        model: answers.first().map_or_else(|| asked_for.to_owned(), |a| a.model.clone()),
        judgements: Vec::new(),
        spent: Spent::default(),
    };
    for (i, answer) in answers.into_iter().enumerate() {
        verdict.spent.add(answer.spent);
        if i % windows.max(1) == 0 {
            verdict.judgements.push(Vec::new());
        }
        if let Some(judgement) = verdict.judgements.last_mut() {
            judgement.extend(answer.labels);
        }
    }
    verdict
}

impl Window {
    fn len(&self) -> usize {
        self.asked.len()
    }
}

#[cfg(test)]
mod tests;
