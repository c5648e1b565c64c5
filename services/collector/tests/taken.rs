//! Runs under a name that is another run's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use hindsight_ports::{
    MemoryStore as _, StoreError,
    testkit::faulty_store::{Calls, Fault, StoreCall, When},
};
use hindsight_proto::{
    collector::v1::SubmitTrajectoryRequest,
    common::v1::{ActionType, Step, Trajectory},
};
use hindsight_types::{Scope, TraceId, Visibility};
use support::{House, tenant, until};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

fn run(goal: &str, tools: &[&str]) -> Trajectory {
    let step = |(i, name): (usize, &&str)| Step {
        step_index: u32::try_from(i).unwrap(),
        action_type: ActionType::ToolCall as i32,
        action_name: (*name).to_owned(),
        ..Step::default()
    };
    Trajectory {
        trace_id: "r-1".to_owned(),
        task_description: goal.to_owned(),
        steps: tools.iter().enumerate().map(step).collect(),
        ..Trajectory::default()
    }
}

async fn submit(house: &House, run: Trajectory) -> Result<(), Status> {
    let request = SubmitTrajectoryRequest { trajectory: Some(run), ..SubmitTrajectoryRequest::default() };
    house.client().submit_trajectory(request).await.map(|_| ())
}

async fn stored(house: &House, events: usize) {
    let (scope, trace) = (Scope::new(tenant(), Visibility::Tenant), TraceId::new("r-1").unwrap());
    let look = async || (house.store.events(&scope, &trace).await.unwrap().len() == events).then_some(());
    until("the run is stored", look).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_taken_is_refused_and_the_same_run_is_not() {
    let house = House::new().await.run();
    let first = run("磁盘告警", &["df", "du"]);
    submit(&house, first.clone()).await.unwrap();
    stored(&house, 4).await;
    submit(&house, first.clone()).await.unwrap();
    let mut grown = run("磁盘告警", &["df", "du", "rm"]);
    grown.steps[1].observation = "the result came later".to_owned();
    submit(&house, grown).await.unwrap();

    let whose = Trajectory { user: "bob".to_owned(), ..first };
    let others = [run("the api is down", &["df", "du"]), run("磁盘告警", &["df", "ls"]), whose];
    for other in others {
        let refused = submit(&house, other).await.unwrap_err();
        assert_eq!(refused.code(), Code::AlreadyExists, "{refused}");
        assert_eq!(refused.get_details_error_info().unwrap().reason, "TRACE_ID_TAKEN");
        assert!(refused.message().starts_with("trajectory.trace_id: `r-1`"), "{refused}");
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_away_holds_up_no_run() {
    let house = House::new().await;
    let away = Fault::Refuse(StoreError::Unavailable("away".to_owned()));
    house.store.inject(Calls::Only(StoreCall::Events), When::Always, away);
    submit(&house, run("磁盘告警", &["df"])).await.unwrap();
    house.stop().await;
}
