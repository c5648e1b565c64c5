//! Deleting what is not where recall finds it.

use crate::common::{World, experience, fact, tenant, time};
use hindsight_ports::{Archive as _, Leaving};
use hindsight_proto::{
    common::v1::{ForgettingState, MemoryKind as Kind},
    memory::v1::{
        DeleteMemoryRequest, ForgetSubjectRequest, GetTrajectoryRequest, MergeSubjectsRequest,
        UndoMergeSubjectsRequest,
    },
};
use hindsight_types::MemoryKind;
use tonic::Code;
use tonic_types::StatusExt as _;

const REQUEST: &str = "8f14e45f-ceea-467f-a830-5d2f0b3b0c6b";

#[tokio::test]
async fn a_run_in_the_archive_is_shown_and_can_be_deleted() {
    let world = World::new().await;
    let memory = experience("t-1", "the api container restarts in a loop");
    let id = memory.id();
    world.remember(vec![memory]).await;
    let leaving = [Leaving { id, why: "faded".to_owned(), instead: None }];
    let left = world.vectors.archive(&tenant("acme"), MemoryKind::Experience, &leaving, time(0)).await;
    assert_eq!(left.unwrap().len(), 1);

    let mut client = world.memories("acme");
    let show = GetTrajectoryRequest { trace_id: "t-1".to_owned(), user: String::new() };
    let shown = client.get_trajectory(show).await.unwrap().into_inner();
    assert!(shown.trajectory.is_some() && shown.evaluation.is_some(), "{shown:?}");

    let delete = DeleteMemoryRequest {
        kind: Kind::Experience as i32,
        memory_id: id.to_string(),
        reason: "no longer needed".to_owned(),
        request_id: REQUEST.to_owned(),
        ..DeleteMemoryRequest::default()
    };
    let other = DeleteMemoryRequest { kind: Kind::Lesson as i32, ..delete.clone() };
    assert_eq!(client.delete_memory(other).await.unwrap_err().code(), Code::NotFound);
    let begun = client.delete_memory(delete).await.unwrap().into_inner().forgetting.unwrap();
    assert_ne!(begun.state(), ForgettingState::Failed, "{begun:?}");
    let gone = world.vectors.archived(&hindsight_types::Viewer::of_tenant(tenant("acme")), id).await.unwrap();
    assert_eq!(gone, None);
}

#[tokio::test]
async fn an_id_that_was_merged_is_forgotten_with_its_user_or_after_undoing() {
    let world = World::new().await;
    world.remember(vec![fact("acme", "visitor", "tea", "喜欢喝茶")]).await;
    let mut client = world.memories("acme");
    let merge = MergeSubjectsRequest {
        from: "visitor".to_owned(),
        to: "ann".to_owned(),
        ..MergeSubjectsRequest::default()
    };
    client.merge_subjects(merge).await.unwrap();
    let forget = ForgetSubjectRequest {
        user: "visitor".to_owned(),
        reason: "asked for".to_owned(),
        request_id: REQUEST.to_owned(),
        validate_only: false,
    };
    for validate_only in [true, false] {
        let forget = ForgetSubjectRequest { validate_only, ..forget.clone() };
        let refused = client.forget_subject(forget).await.unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition);
        assert_eq!(refused.get_details_error_info().unwrap().reason, "SUBJECT_MERGED");
        assert!(refused.message().contains("forget `ann`"), "{refused}");
    }
    let undo = UndoMergeSubjectsRequest { from: "visitor".to_owned(), ..UndoMergeSubjectsRequest::default() };
    client.undo_merge_subjects(undo).await.unwrap();
    client.forget_subject(forget).await.unwrap();
}
