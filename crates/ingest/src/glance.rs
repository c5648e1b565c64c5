//! A run as a model is shown it.

use hindsight_types::{Step, Trajectory};

use crate::digest::{self, Focus};

/// What is left of a result, in bytes: what a model is shown is cut from this.
const RESULT: usize = 300;

/// The run with each result cut to what the task and the call ask for. Redaction comes first. Steps keep
/// their index, and the rest of the run is as it was.
pub fn of(run: &Trajectory) -> Trajectory {
    let short = |step: &Step| {
        let focus = Focus::new([&*run.task_description, &*step.action_detail]);
        Step {
            step_index: step.step_index,
            action_type: step.action_type,
            action_name: step.action_name.clone(),
            action_detail: step.action_detail.clone(),
            observation: digest::focused(&step.observation, RESULT, &focus).into_owned(),
            status: step.status,
            decision: step.decision.clone(),
            reflection: step.reflection.clone(),
            agent: step.agent.clone(),
            started_at: step.started_at,
            ended_at: step.ended_at,
        }
    };
    // Not cloned whole and then cut: results may be large.
    Trajectory {
        trace_id: run.trace_id.clone(),
        scope: run.scope.clone(),
        session: run.session.clone(),
        user: run.user.clone(),
        agent: run.agent.clone(),
        task_type: run.task_type.clone(),
        task_description: run.task_description.clone(),
        steps: run.steps.iter().map(short).collect(),
        outcome: run.outcome.clone(),
        environment: run.environment.clone(),
        receipts: run.receipts.clone(),
        started_at: run.started_at,
        ended_at: run.ended_at,
    }
}

#[cfg(test)]
mod tests {
    use super::{RESULT, of};
    use crate::testing;

    #[test]
    fn results_are_short_and_all_else_is_as_it_was() {
        let mut run = testing::run(3);
        run.steps[1].observation =
            format!("{}\nError: /data/订单.db is locked\n", "all is well\n".repeat(9_000));
        let seen = of(&run);
        assert!(seen.steps[1].observation.len() <= RESULT);
        assert!(seen.steps[1].observation.contains("订单.db is locked"), "{}", seen.steps[1].observation);
        run.steps[1].observation.clone_from(&seen.steps[1].observation);
        assert_eq!(seen, run);
    }
}
