//! Asks the judges that are wanted and makes one evaluation of what they say.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use hindsight_ingest::glance;
use hindsight_judge::{
    Verdict,
    llm::{Cause, LlmFailure, LlmJudge, LlmVerdict, MOST_JUDGEMENTS, Spent},
    slice,
};
use hindsight_ports::{Clock, Llm};
use hindsight_telemetry::{Label, Metric};
use hindsight_types::{Evaluation, JudgeChoice, JudgedTrajectory, StepEvaluation, StepLabel, Trajectory};

use crate::{JudgeSettings, evaluate, tell::tell};

/// Wait after a model that was too slow.
const SLOW: Duration = Duration::from_secs(30);
/// Longest wait for a model when the slice can stand in.
const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) const NO_MODEL: &str =
    "a model is asked to judge, but none is set up: add [llm] to the configuration, or judge by `slice`";

pub(crate) struct Judges {
    settings: JudgeSettings,
    llm: Option<Arc<dyn Llm>>,
    clock: Arc<dyn Clock>,
}

/// What is asked for one run; what is not said is as the settings say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked {
    pub(crate) judge: Option<JudgeChoice>,
    pub(crate) judgements: Option<u32>,
    /// Looks at the run for which the model was away, this one included; 0: there will be no other.
    pub(crate) looks: u32,
}

/// Why there is no evaluation.
#[derive(Debug)]
pub(crate) enum Unjudged {
    /// The model may answer later.
    Later {
        reason: String,
        after: Duration,
    },
    Never {
        reason: String,
    },
}

impl Unjudged {
    fn broke_off(error: impl std::fmt::Display) -> Self {
        Self::Never { reason: format!("the judge broke off: {error}") }
    }
}

impl Judges {
    pub(crate) fn new(settings: JudgeSettings, llm: Option<Arc<dyn Llm>>, clock: Arc<dyn Clock>) -> Self {
        Self { settings, llm, clock }
    }

    /// Whether this judge is there.
    pub(crate) fn has(&self, choice: Option<JudgeChoice>) -> bool {
        !choice.unwrap_or(self.settings.judge).asks_model() || self.llm.is_some()
    }

    /// Judges a run that is redacted and complete.
    pub(crate) async fn judge(&self, run: Trajectory, asked: Asked) -> Result<JudgedTrajectory, Unjudged> {
        let begun = Instant::now();
        let choice = asked.judge.unwrap_or(self.settings.judge);
        let judged = match choice {
            JudgeChoice::Slice => {
                let now = self.clock.now();
                blocking(move || {
                    let verdict = Verdict::of_slice(slice::judge(&run).steps);
                    evaluate::conclude(run, verdict, now)
                })
                .await
            }
            JudgeChoice::Llm | JudgeChoice::Both => self.with_model(run, choice, asked).await,
        }?;
        let judge = (Label::Judge, choice.as_str());
        Metric::JudgeDuration.record(begun.elapsed().as_secs_f64(), &[judge]);
        count(&judged.evaluation, judge);
        Ok(judged)
    }

    async fn with_model(
        &self,
        run: Trajectory,
        choice: JudgeChoice,
        asked: Asked,
    ) -> Result<JudgedTrajectory, Unjudged> {
        let (run, sliced, seen) = blocking(move || {
            let sliced = slice::judge(&run).steps;
            let seen = Arc::new(glance::of(&run));
            (run, sliced, seen)
        })
        .await?;
        let answer = self.ask(&run, &seen, asked).await;
        let teller = self.llm.clone().filter(|_| answer.is_ok());
        let (now, shown) = (self.clock.now(), seen.clone());
        let decide: Box<dyn FnOnce(&Trajectory) -> Verdict + Send> = match answer {
            Ok(llm) if choice == JudgeChoice::Llm => Box::new(move |_| Verdict::of_model(&llm)),
            Ok(llm) => Box::new(move |run| Verdict::of_both(run, &seen, sliced, &llm)),
            Err(Unjudged::Never { reason }) if self.settings.fall_back => {
                tracing::warn!(trace = %run.trace_id, reason, "judged without the model");
                Metric::JudgeFallbacks.add(1, &[]);
                Box::new(move |_| Verdict::without_model(sliced, reason))
            }
            Err(unjudged) => return Err(unjudged),
        };
        let mut judged = blocking(move || {
            let verdict = decide(&run);
            evaluate::conclude(run, verdict, now)
        })
        .await?;
        if let Some(llm) = teller {
            tell(llm.as_ref(), &mut judged, &shown, self.settings.model_deadline).await;
        }
        Ok(judged)
    }

    async fn ask(&self, run: &Trajectory, seen: &Trajectory, asked: Asked) -> Result<LlmVerdict, Unjudged> {
        let Some(llm) = &self.llm else { return Err(Unjudged::Never { reason: NO_MODEL.to_owned() }) };
        let judgements = asked.judgements.unwrap_or(self.settings.judgements).clamp(1, MOST_JUDGEMENTS);
        let judge = LlmJudge { judgements, ..LlmJudge::default() };
        let tenant = &run.scope.tenant;
        let deadline = self.settings.model_deadline;
        let answer = tokio::time::timeout(deadline, judge.judge(llm.as_ref(), tenant, seen)).await;
        let (result, spent) = match &answer {
            Ok(Ok(verdict)) => ("ok", verdict.spent),
            Ok(Err(failure)) => ("error", failure.spent),
            Err(_) => ("timeout", Spent::default()),
        };
        Metric::ModelVerdicts.add(1, &[(Label::Result, result)]);
        Metric::ModelRepairs.add(spent.repairs.into(), &[]);
        let (reason, after) = match answer {
            Ok(Ok(verdict)) => return Ok(verdict),
            Ok(Err(failure)) => (failure.to_string(), self.again(&failure)),
            Err(_) => (format!("the model did not judge the run within {deadline:?}"), Some(SLOW)),
        };
        // Hours, until a budget is renewed, are not worth waiting for while the slice can stand in.
        let patient = |after: &Duration| !self.settings.fall_back || *after <= PATIENCE;
        let last = asked.looks == 0;
        match after.filter(patient) {
            Some(_) if last && self.settings.fall_back => Err(Unjudged::Never { reason }),
            Some(after) if asked.looks < self.settings.model_attempts => {
                Err(Unjudged::Later { reason, after })
            }
            Some(_) => Err(Unjudged::Never { reason: format!("{reason}, at look {}", asked.looks) }),
            None => Err(Unjudged::Never { reason }),
        }
    }

    fn again(&self, failure: &LlmFailure) -> Option<Duration> {
        match &failure.cause {
            Cause::Llm(error) => error.retry_after(self.clock.now()),
            Cause::Unusable(_) | Cause::TooLong { .. } => None,
        }
    }
}

/// On a thread of its own: a large run takes long, and one that breaks the judge is a failure to list.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Unjudged> {
    tokio::task::spawn_blocking(work).await.map_err(Unjudged::broke_off)
}

fn count(evaluation: &Evaluation, judge: (Label, &'static str)) {
    for label in StepLabel::ALL {
        let of = |s: &&StepEvaluation| s.label == label;
        let steps = evaluation.steps.iter().filter(of).count();
        Metric::StepLabels.add(steps as u64, &[(Label::Label, label.as_str()), judge]);
    }
    if let Some(share) = evaluation.judging.agreement {
        Metric::JudgeAgreement.record(share.into(), &[]);
    }
    if let Some(share) = evaluation.judging.consistency {
        Metric::JudgeConsistency.record(share.into(), &[]);
    }
}
