use std::time::Duration;

use hindsight_proto::recall::v1::{
    AfterCall, BeforeCall, Reminder, Silence, SilenceReason, UserMessage, WatchRejection, WatchRequest,
    WatchResponse, WatchStart, recall_service_client::RecallServiceClient, watch_request::Event,
    watch_response::Said,
};
use hindsight_types::*;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Status, Streaming};

use crate::common::{Transport, World, tenant, time};

/// Nothing here takes this long; it only bounds a failing test.
const PATIENCE: Duration = Duration::from_secs(60);

/// One stream: an event, its answer, the next.
pub(crate) struct Talk {
    events: mpsc::UnboundedSender<WatchRequest>,
    answers: Streaming<WatchResponse>,
    sequence: u64,
}

impl Talk {
    pub(crate) async fn open(mut client: RecallServiceClient<Transport>) -> Result<Self, Status> {
        let (events, sent) = mpsc::unbounded_channel();
        let answers = client.watch(UnboundedReceiverStream::new(sent)).await?.into_inner();
        Ok(Self { events, answers, sequence: 40 })
    }

    /// On behalf of a user, about a task.
    pub(crate) async fn of(world: &World, user: &str, goal: &str) -> (Self, Said) {
        let mut talk = Self::open(world.recalls("acme")).await.unwrap();
        let start = WatchStart {
            goal: goal.to_owned(),
            user: user.to_owned(),
            trace_id: "run-1".to_owned(),
            ..WatchStart::default()
        };
        let said = talk.tell(Event::Start(start)).await;
        (talk, said)
    }

    pub(crate) async fn next(&mut self) -> Result<Option<WatchResponse>, Status> {
        tokio::time::timeout(PATIENCE, self.answers.message()).await.expect("an answer")
    }

    pub(crate) fn send(&mut self, event: Option<Event>) -> u64 {
        self.sequence += 1;
        self.events.send(WatchRequest { sequence: self.sequence, event }).unwrap();
        self.sequence
    }

    pub(crate) async fn tell(&mut self, event: Event) -> Said {
        let sequence = self.send(Some(event));
        let answer = self.next().await.unwrap().expect("the stream is open");
        assert_eq!(answer.in_reply_to, sequence);
        answer.said.unwrap()
    }

    pub(crate) async fn before(&mut self, tool: &str, arguments: &str) -> Said {
        let (tool, arguments) = (tool.to_owned(), arguments.to_owned());
        self.tell(Event::BeforeCall(BeforeCall { tool, arguments, ..BeforeCall::default() })).await
    }

    pub(crate) async fn failed(&mut self, tool: &str, arguments: &str, output: &str) -> Said {
        let (tool, arguments, output) = (tool.to_owned(), arguments.to_owned(), output.to_owned());
        self.tell(Event::AfterCall(AfterCall {
            tool,
            arguments,
            output,
            failed: true,
            ..AfterCall::default()
        }))
        .await
    }

    pub(crate) async fn say(&mut self, text: &str) -> Said {
        self.tell(Event::Message(UserMessage { text: text.to_owned() })).await
    }
}

pub(crate) fn reminder(said: Said) -> Reminder {
    match said {
        Said::Reminder(reminder) => reminder,
        other => panic!("no reminder: {other:?}"),
    }
}

pub(crate) fn silence(said: Said) -> Silence {
    match said {
        Said::Silence(silence) => silence,
        other => panic!("no silence: {other:?}"),
    }
}

pub(crate) fn reason(said: Said) -> SilenceReason {
    silence(said).reason()
}

pub(crate) fn rejection(said: Said) -> WatchRejection {
    match said {
        Said::Rejection(rejection) => rejection,
        other => panic!("no rejection: {other:?}"),
    }
}

pub(crate) const NPM: &str = r#"{"command": "npm install -g typescript"}"#;
pub(crate) const EACCES: &str =
    "npm ERR! code EACCES\nnpm ERR! permission denied, mkdir '/usr/lib/node_modules'";

/// A failure of `bash` as the evaluator keeps it, seen in `runs` runs.
pub(crate) fn npm(user: Option<&str>, runs: usize) -> Memory {
    let visibility = user.map_or(Visibility::Tenant, |u| Visibility::User(UserId::new(u).unwrap()));
    let scope = Scope::new(tenant("acme"), visibility);
    let signature = hindsight_judge::signature::error_signature(EACCES);
    let key = format!("bash\u{1f}{signature}");
    Memory::FailurePattern(FailurePattern {
        id: MemoryId::failure_pattern(&scope.tenant, &scope.visibility.keyword(), &key),
        scope,
        action_name: "bash".to_owned(),
        signature,
        example: EACCES.to_owned(),
        action_detail: NPM.to_owned(),
        cause: "permission denied".to_owned(),
        suggestion: "Worked: npm config set prefix ~/.npm-global".to_owned(),
        environment: Environment::default(),
        sources: (0..runs).map(|n| TraceId::new(format!("t-{n}")).unwrap()).collect(),
        supported: 0,
        refuted: 0,
        first_seen: time(-9),
        last_seen: time(-1),
        frequency: None,
    })
}
