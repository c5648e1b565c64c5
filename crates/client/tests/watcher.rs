//! The watcher against a memory that warns, is late, breaks off and refuses.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::{Stream, StreamExt as _};
use hindsight_client::{Client, Watcher};
use hindsight_proto::{
    common::v1::{FeedbackVerdict, OutcomeStatus},
    recall::v1::{
        ExplainRecallRequest, ExplainRecallResponse, KnownFailure, RecallRequest, RecallResponse, Reminder,
        ReportOutcomeRequest, ReportOutcomeResponse, Silence, SilenceReason, WatchRejection, WatchRequest,
        WatchResponse, WatchStart,
        recall_service_server::{RecallService, RecallServiceServer},
        watch_request::Event,
        watch_response::Said,
    },
};
use tonic::{Code, Request, Response, Status, Streaming, service::Routes};

const LONG: Duration = Duration::from_secs(60);

/// Warns of `rm`, refuses `bad`, breaks off at `break`, and never answers `late`.
#[derive(Debug, Clone, Default)]
struct Memory {
    heard: Arc<Mutex<Vec<WatchRequest>>>,
}

impl Memory {
    fn watcher(&self, start: WatchStart) -> Watcher {
        let routes = Routes::new(RecallServiceServer::new(self.clone())).prepare();
        Client::local(routes, None).unwrap().watcher(start).within(LONG)
    }

    fn say(&self, request: WatchRequest) -> Option<Result<WatchResponse, Status>> {
        let in_reply_to = request.sequence;
        let tool = match &request.event {
            Some(Event::BeforeCall(call)) => call.tool.clone(),
            Some(Event::Start(start)) => start.goal.clone(),
            _ => String::new(),
        };
        self.heard.lock().unwrap().push(request);
        let said = match tool.as_str() {
            "late" => return None,
            "break" => return Some(Err(Status::unavailable("gone for a moment"))),
            "bad" => Said::Rejection(WatchRejection {
                reason: "INVALID_FIELDS".into(),
                message: "no such tool".into(),
                fields: vec!["before_call.tool".into()],
            }),
            "rm" => Said::Reminder(Reminder {
                reminder_id: "r-1".into(),
                block: "do not 不要".into(),
                failure: Some(KnownFailure { times: 3, ..KnownFailure::default() }),
                ..Reminder::default()
            }),
            _ => Said::Silence(Silence { reason: SilenceReason::NothingKnown.into(), ..Silence::default() }),
        };
        Some(Ok(WatchResponse { in_reply_to, said: Some(said) }))
    }
}

#[tonic::async_trait]
impl RecallService for Memory {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<WatchResponse, Status>> + Send>>;

    async fn watch(
        &self,
        request: Request<Streaming<WatchRequest>>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let memory = self.clone();
        let answers = request.into_inner().filter_map(move |event| {
            let memory = memory.clone();
            async move {
                // So that whoever asks has to wait.
                tokio::task::yield_now().await;
                event.map_or_else(|e| Some(Err(e)), |event| memory.say(event))
            }
        });
        Ok(Response::new(Box::pin(answers)))
    }

    async fn recall(&self, _: Request<RecallRequest>) -> Result<Response<RecallResponse>, Status> {
        Err(Status::unimplemented("not needed"))
    }

    async fn explain_recall(
        &self,
        _: Request<ExplainRecallRequest>,
    ) -> Result<Response<ExplainRecallResponse>, Status> {
        Err(Status::unimplemented("not needed"))
    }

    async fn report_outcome(
        &self,
        _: Request<ReportOutcomeRequest>,
    ) -> Result<Response<ReportOutcomeResponse>, Status> {
        Err(Status::unimplemented("not needed"))
    }
}

fn goal(goal: &str) -> WatchStart {
    WatchStart { goal: goal.to_owned(), ..WatchStart::default() }
}

#[tokio::test]
async fn a_warning_comes_before_the_call() {
    let memory = Memory::default();
    let mut watch = memory.watcher(goal("clean up"));
    assert_eq!(watch.before_call("ls", "/").await.unwrap(), None);
    assert_eq!(watch.silence().unwrap().reason(), SilenceReason::NothingKnown);
    let warning = watch.before_call("rm", "/").await.unwrap().unwrap();
    assert_eq!((warning.block.as_str(), warning.failure.unwrap().times), ("do not 不要", 3));
    assert_eq!(watch.silence(), None);
    watch.after_call("rm", "/", Err("denied")).await.unwrap();
    watch.message("do you remember?").await.unwrap();
    watch.feedback(&warning.reminder_id, FeedbackVerdict::Helpful, "it held me back").await.unwrap();
    watch.end(OutcomeStatus::Success).await;
    let heard = memory.heard.lock().unwrap();
    assert_eq!(heard.iter().map(|r| r.sequence).collect::<Vec<_>>(), (1..=7).collect::<Vec<_>>());
    assert!(matches!(&heard[0].event, Some(Event::Start(s)) if s.goal == "clean up"));
    assert!(matches!(&heard[3].event, Some(Event::AfterCall(c)) if c.failed && c.output == "denied"));
    assert!(matches!(&heard[6].event, Some(Event::End(_))));
}

#[tokio::test]
async fn the_start_is_answered_once_and_remembered() {
    let memory = Memory::default();
    let mut watch = memory.watcher(goal("rm"));
    for _ in 0..2 {
        assert_eq!(watch.start().await.unwrap().unwrap().block, "do not 不要");
    }
    assert_eq!(memory.heard.lock().unwrap().len(), 1);
    let error = memory.watcher(goal("bad")).start().await.unwrap_err();
    assert_eq!((error.code, error.reason.as_str()), (Code::InvalidArgument, "INVALID_FIELDS"));
}

#[tokio::test]
async fn an_event_that_is_wrong_names_its_field_and_the_watch_goes_on() {
    let mut watch = Memory::default().watcher(goal("clean up"));
    let error = watch.before_call("bad", "").await.unwrap_err();
    assert_eq!(error.to_string(), "before_call.tool: no such tool");
    assert!(watch.before_call("rm", "").await.unwrap().is_some());
}

async fn is_heard_again(trouble: &str) {
    let memory = Memory::default();
    let mut watch = memory.watcher(goal("clean up")).within(Duration::from_secs(1));
    watch.start().await.unwrap();
    assert_eq!(watch.before_call(trouble, "").await.unwrap(), None);
    assert_eq!(watch.silence().unwrap().reason(), SilenceReason::Unavailable);
    assert_eq!(watch.before_call("rm", "").await.unwrap(), None, "it is not asked at once");
    assert_eq!(memory.heard.lock().unwrap().len(), 2);
    let again = async {
        while watch.before_call("rm", "").await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(LONG, again).await.expect("it is asked again");
}

#[tokio::test]
async fn a_memory_that_is_late_is_silent_and_heard_again_later() {
    is_heard_again("late").await;
}

#[tokio::test]
async fn a_memory_that_breaks_off_is_silent_and_heard_again_later() {
    is_heard_again("break").await;
}

#[tokio::test]
async fn an_asker_that_went_away_does_not_mix_up_the_answers() {
    let mut watch = Memory::default().watcher(goal("clean up"));
    watch.start().await.unwrap();
    let asked = watch.before_call("rm", "");
    // Polled once, so that the event is sent, and dropped.
    assert!(futures::poll!(std::pin::pin!(asked)).is_pending());
    assert_eq!(watch.before_call("ls", "").await.unwrap(), None, "the warning of `rm` is not that of `ls`");
}
