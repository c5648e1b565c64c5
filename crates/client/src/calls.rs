//! One method per RPC, with repetition and deadline.

use hindsight_proto::{
    collector::v1::*, compactor::v1::*, evaluator::v1::*, memory::v1::*, operations::v1::*, recall::v1::*,
};

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
    /// Changes what a fact or a lesson says, or a fact's status.
    update_memory(UpdateMemoryRequest) -> UpdateMemoryResponse: memory, WRITE_DEADLINE;
    /// What left the search.
    list_archived(ListArchivedRequest) -> ListArchivedResponse: memory, READ_DEADLINE;
    /// Brings a memory back from the archive.
    restore_archived(RestoreArchivedRequest) -> RestoreArchivedResponse: memory, WRITE_DEADLINE;
    /// How a fact or a lesson was before.
    get_memory_history(GetMemoryHistoryRequest) -> GetMemoryHistoryResponse: memory, READ_DEADLINE;
    /// Has a former version stand again.
    restore_memory(RestoreMemoryRequest) -> RestoreMemoryResponse: memory, WRITE_DEADLINE;
    /// Facts of a user that contradict each other.
    list_conflicts(ListConflictsRequest) -> ListConflictsResponse: memory, READ_DEADLINE;
    /// Gives a user everything that an anonymous id owns.
    merge_subjects(MergeSubjectsRequest) -> MergeSubjectsResponse: memory, WRITE_DEADLINE;
    /// Takes that back.
    undo_merge_subjects(UndoMergeSubjectsRequest) -> UndoMergeSubjectsResponse: memory, WRITE_DEADLINE;
    /// Deletes a memory with what was derived from it.
    delete_memory(DeleteMemoryRequest) -> DeleteMemoryResponse: memory, WRITE_DEADLINE;
    /// Forgets a user, or says what that would delete.
    forget_subject(ForgetSubjectRequest) -> ForgetSubjectResponse: memory, WRITE_DEADLINE;
    /// How far a forgetting is, and its proof.
    get_forgetting(GetForgettingRequest) -> GetForgettingResponse: memory, READ_DEADLINE;
    /// Where a memory comes from, and what became of it.
    get_provenance(GetProvenanceRequest) -> GetProvenanceResponse: memory, READ_DEADLINE;
    /// Where the chain from a run to its use by others breaks.
    diagnose(DiagnoseRequest) -> DiagnoseResponse: memory, READ_DEADLINE;
    /// Takes in records of an export.
    import_memories(ImportMemoriesRequest) -> ImportMemoriesResponse: memory, WRITE_DEADLINE;
    /// Lessons with where each stands.
    list_lessons(ListLessonsRequest) -> ListLessonsResponse: memory, READ_DEADLINE;
    /// Approve or reject a lesson.
    review_lesson(ReviewLessonRequest) -> ReviewLessonResponse: memory, WRITE_DEADLINE;
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
    /// Applies policies of upkeep now, or says what that would do.
    run_compaction(RunCompactionRequest) -> RunCompactionResponse: compactor, WRITE_DEADLINE;
    /// A run of upkeep with its tasks.
    get_run(GetRunRequest) -> GetRunResponse: compactor, READ_DEADLINE;
    /// Runs of upkeep, the latest first.
    list_runs(ListRunsRequest) -> ListRunsResponse: compactor, READ_DEADLINE;
    /// The policies of upkeep as they are set.
    list_policies(ListPoliciesRequest) -> ListPoliciesResponse: compactor, READ_DEADLINE;
}
