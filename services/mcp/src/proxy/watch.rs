//! Asks Hindsight what it has to say of a call. An answer that does not come is silence.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use hindsight_client::Client;
use hindsight_proto::recall::v1::{
    Reminder, WatchRequest, WatchResponse, WatchStart, watch_request::Event, watch_response::Said,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout_at},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::observe::Counts;
use crate::Memory;

/// Questions that wait to be sent, and those that wait for an answer; more are met with silence.
const QUESTIONS: usize = 64;
const OPEN: usize = 256;
/// After so many late answers in a row no call waits, until one comes in time again.
const LATE: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// A stream of `RecallService.Watch` for one task after the other.
#[derive(Debug, Clone)]
pub(crate) struct Watcher {
    questions: mpsc::Sender<Question>,
    state: Arc<State>,
    counts: Arc<Counts>,
    patience: Duration,
}

#[derive(Debug, Default)]
struct State {
    /// A stream is open.
    open: AtomicBool,
    /// Answers in a row that were waited for in vain.
    late: AtomicU32,
}

/// What is to be asked. A start begins a new stream.
#[derive(Debug)]
struct Question {
    event: Event,
    answer: Answer,
    asked: Instant,
}

/// Where an answer goes. Dropped, it is silence.
pub(crate) type Answer = oneshot::Sender<Reminder>;

/// An answer that may come.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    answer: Option<(oneshot::Receiver<Reminder>, Instant)>,
}

impl Watcher {
    /// Waits `patience` for an answer at most. Its work ends with the last watcher.
    pub(crate) fn new(
        memory: Memory,
        patience: Duration,
        counts: Arc<Counts>,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let (questions, receiver) = mpsc::channel(QUESTIONS);
        let state = Arc::new(State::default());
        let work = Work { questions: receiver, state: state.clone(), patience };
        (Self { questions, state, counts, patience }, work.run(memory))
    }

    /// A new task: what was asked before is forgotten.
    pub(crate) fn begin(&self, start: WatchStart) -> Reply {
        self.send(Event::Start(start))
    }

    /// Never waits. While no stream is open the answer is silence.
    pub(crate) fn ask(&self, event: Event) -> Reply {
        if self.state.open.load(Ordering::Acquire) { self.send(event) } else { Reply::default() }
    }

    /// What came, or comes in time.
    pub(crate) async fn wait(&self, reply: &mut Reply) -> Option<Reminder> {
        let (answer, asked) = reply.answer.as_mut()?;
        let end = *asked + self.patience;
        if self.state.late.load(Ordering::Relaxed) < LATE && Instant::now() < end {
            if let Ok(answered) = timeout_at(end, answer).await {
                reply.answer = None;
                return answered.ok();
            }
            self.state.late.fetch_add(1, Ordering::Relaxed);
            self.counts.late.fetch_add(1, Ordering::Relaxed);
        }
        reply.now()
    }

    fn send(&self, event: Event) -> Reply {
        let (answer, reply) = Reply::pending();
        let asked = Instant::now();
        match self.questions.try_send(Question { event, answer, asked }) {
            Ok(()) => reply,
            Err(_) => Reply::default(),
        }
    }
}

impl Reply {
    /// One that is given by the answer.
    pub(crate) fn pending() -> (Answer, Self) {
        let (answer, receiver) = oneshot::channel();
        (answer, Self { answer: Some((receiver, Instant::now())) })
    }

    /// Whether something may still come.
    pub(crate) fn is_open(&self) -> bool {
        self.answer.is_some()
    }

    /// What came until now.
    pub(crate) fn now(&mut self) -> Option<Reminder> {
        let (answer, _) = self.answer.as_mut()?;
        let reminder = answer.try_recv();
        if !matches!(reminder, Err(oneshot::error::TryRecvError::Empty)) {
            self.answer = None;
        }
        reminder.ok()
    }
}

struct Work {
    questions: mpsc::Receiver<Question>,
    state: Arc<State>,
    patience: Duration,
}

/// Why a stream ended.
enum End {
    /// Another task begins.
    Next(Box<Question>),
    /// Nobody asks any more.
    Done,
    Broken(Status),
}

impl Work {
    async fn run(mut self, memory: Memory) {
        let Some(mut task) = self.start().await else { return };
        let mut pause = FIRST_PAUSE;
        loop {
            let client = match self.silent(memory.client()).await {
                Ok(Some(client)) => client,
                Ok(None) | Err(End::Done | End::Broken(_)) => return,
                Err(End::Next(next)) => {
                    task = *next;
                    continue;
                }
            };
            let begun = Instant::now();
            let end = self.stream(&client, &mut task).await;
            self.state.open.store(false, Ordering::Release);
            match end {
                End::Done => return,
                End::Next(next) => task = *next,
                End::Broken(status) => {
                    memory.failed("watching", &status);
                    if begun.elapsed() > LONGEST_PAUSE {
                        pause = FIRST_PAUSE;
                    }
                    match self.silent(tokio::time::sleep(pause)).await {
                        Ok(()) => pause = (pause * 2).min(LONGEST_PAUSE),
                        Err(End::Next(next)) => task = *next,
                        Err(_) => return,
                    }
                }
            }
        }
    }

    /// The first start.
    async fn start(&mut self) -> Option<Question> {
        loop {
            let question = self.questions.recv().await?;
            if matches!(question.event, Event::Start(_)) {
                return Some(question);
            }
        }
    }

    /// Waits for `other`; what is asked meanwhile is met with silence.
    async fn silent<T>(&mut self, other: impl Future<Output = T>) -> Result<T, End> {
        tokio::pin!(other);
        loop {
            tokio::select! {
                done = &mut other => return Ok(done),
                question = self.questions.recv() => match question {
                    None => return Err(End::Done),
                    Some(next) if matches!(next.event, Event::Start(_)) => return Err(End::Next(Box::new(next))),
                    Some(_) => {}
                },
            }
        }
    }

    async fn stream(&mut self, client: &Client, task: &mut Question) -> End {
        let (sender, receiver) = mpsc::channel(QUESTIONS);
        let mut asked = VecDeque::new();
        // Said once, the start is not said again on a stream that takes the place of a broken one.
        let (again, _) = oneshot::channel();
        let start = Question {
            event: task.event.clone(),
            answer: std::mem::replace(&mut task.answer, again),
            asked: task.asked,
        };
        if let Event::Start(start) = &mut task.event {
            start.goal.clear();
        }
        let mut sequence = 0;
        let mut send = |question: Question, asked: &mut VecDeque<(u64, Question)>| {
            sequence += 1;
            let request = WatchRequest { sequence, event: Some(question.event.clone()) };
            if asked.len() < OPEN && sender.try_send(request).is_ok() {
                asked.push_back((sequence, question));
            }
        };
        send(start, &mut asked);
        let mut recaller = client.recaller();
        let mut answers = match self.silent(recaller.watch(ReceiverStream::new(receiver))).await {
            Ok(Ok(answers)) => answers.into_inner(),
            Ok(Err(status)) => return End::Broken(status),
            Err(end) => return end,
        };
        self.state.open.store(true, Ordering::Release);
        loop {
            tokio::select! {
                question = self.questions.recv() => match question {
                    None => return End::Done,
                    Some(next) if matches!(next.event, Event::Start(_)) => return End::Next(Box::new(next)),
                    Some(question) => send(question, &mut asked),
                },
                answer = answers.message() => match answer {
                    Ok(Some(answer)) => self.answered(answer, &mut asked),
                    Ok(None) => return End::Broken(Status::unavailable("the stream ended")),
                    Err(status) => return End::Broken(status),
                },
            }
        }
    }

    fn answered(&self, response: WatchResponse, asked: &mut VecDeque<(u64, Question)>) {
        let Some(place) = asked.iter().position(|(sequence, _)| *sequence == response.in_reply_to) else {
            return;
        };
        // Answers come in order: what was asked before is not answered any more.
        let Some((_, question)) = asked.drain(..=place).next_back() else { return };
        if question.asked.elapsed() <= self.patience {
            self.state.late.store(0, Ordering::Relaxed);
        }
        match response.said {
            // Nobody may wait any more.
            Some(Said::Reminder(reminder)) => drop(question.answer.send(reminder)),
            Some(Said::Rejection(why)) => tracing::debug!(why.reason, why.message, "a question was refused"),
            Some(Said::Silence(_)) | None => {}
        }
    }
}
