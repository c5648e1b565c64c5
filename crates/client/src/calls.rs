//! One method per RPC, with repetition and deadline.

use hindsight_proto::{collector::v1::*, evaluator::v1::*, memory::v1::*, operations::v1::*, recall::v1::*};

use crate::{Client, Error, READ_DEADLINE, WRITE_DEADLINE};

macro_rules! calls {
    ($($(#[$doc:meta])* $method:ident ($request:ty) -> $answer:ty: $service:ident, $deadline:expr;)+) => {
        impl Client {
            $($(#[$doc])*
            pub async fn $method(&self, request: $request) -> Result<$answer, Error> {
                let call = |request| {
                    let mut service = self.$service();
                    async move { service.$method(request).await }
                };
                let deadline = self.deadline.unwrap_or($deadline);
                self.retry.run(stringify!($method), deadline, request, call).await
            })+
        }
    };
}

calls! {
    /// Records a whole run and completes it.
    submit_trajectory(SubmitTrajectoryRequest) -> SubmitTrajectoryResponse: collector, WRITE_DEADLINE;
    /// Ends a task whose steps were recorded one by one.
    complete_task(CompleteTaskRequest) -> CompleteTaskResponse: collector, WRITE_DEADLINE;
    /// Keeps what a user said.
    retain(RetainRequest) -> RetainResponse: collector, WRITE_DEADLINE;
    /// Keeps several facts; a bad one is refused in its result.
    retain_batch(RetainBatchRequest) -> RetainBatchResponse: collector, WRITE_DEADLINE;
    /// Brings the right few memories.
    recall(RecallRequest) -> RecallResponse: recaller, READ_DEADLINE;
    /// Says what became of the memories that a recall brought.
    report_outcome(ReportOutcomeRequest) -> ReportOutcomeResponse: recaller, WRITE_DEADLINE;
    /// Says why a recall brought what it brought, and why not what was expected.
    explain_recall(ExplainRecallRequest) -> ExplainRecallResponse: recaller, READ_DEADLINE;
    /// One memory.
    get_memory(GetMemoryRequest) -> GetMemoryResponse: memory, READ_DEADLINE;
    /// Memories of one kind, newest first.
    list_memories(ListMemoriesRequest) -> ListMemoriesResponse: memory, READ_DEADLINE;
    /// One run, step by step, with each step's label.
    get_trajectory(GetTrajectoryRequest) -> GetTrajectoryResponse: memory, READ_DEADLINE;
    /// How much is remembered.
    get_stats(GetStatsRequest) -> GetStatsResponse: memory, READ_DEADLINE;
    /// Judges a run and stores nothing.
    evaluate(EvaluateRequest) -> EvaluateResponse: evaluator, WRITE_DEADLINE;
    /// Where the evaluation of a run stands.
    get_evaluation(GetEvaluationRequest) -> GetEvaluationResponse: evaluator, READ_DEADLINE;
    /// Judges runs again in the background.
    reevaluate(ReevaluateRequest) -> ReevaluateResponse: evaluator, WRITE_DEADLINE;
    /// How far that is.
    get_reevaluation(GetReevaluationRequest) -> GetReevaluationResponse: evaluator, READ_DEADLINE;
    /// Evaluations that failed or still wait.
    list_failures(ListFailuresRequest) -> ListFailuresResponse: evaluator, READ_DEADLINE;
    /// Tries failed evaluations again.
    replay_failures(ReplayFailuresRequest) -> ReplayFailuresResponse: evaluator, WRITE_DEADLINE;
    /// Messages that could not be handled.
    list_dead_letters(ListDeadLettersRequest) -> ListDeadLettersResponse: operations, READ_DEADLINE;
    /// One of them with what it carries.
    get_dead_letter(GetDeadLetterRequest) -> GetDeadLetterResponse: operations, READ_DEADLINE;
    /// Puts them back on their queues.
    replay_dead_letters(ReplayDeadLettersRequest) -> ReplayDeadLettersResponse: operations, WRITE_DEADLINE;
    /// Deletes them for good.
    discard_dead_letters(DiscardDeadLettersRequest) -> DiscardDeadLettersResponse: operations, WRITE_DEADLINE;
    /// Which embedder made the vectors of the store, and how far the change to another is.
    get_embedder(GetEmbedderRequest) -> GetEmbedderResponse: operations, READ_DEADLINE;
}
