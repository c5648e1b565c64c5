//! Every metric of Hindsight, with what it counts and by what. Nothing else makes metrics: the macros of
//! the `metrics` crate are a lint error outside of this file.
#![allow(clippy::disallowed_macros, reason = "the one place that may")]

/// By what a metric is split. Values are constants of the program, so that what people and agents send
/// (tenants, users, traces, texts) can never become a time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    Attempt,
    Cache,
    Code,
    Degraded,
    End,
    Endpoint,
    Judge,
    Kind,
    Label,
    Method,
    Operation,
    Purpose,
    Queue,
    Result,
    Role,
    TokenType,
}

impl Label {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attempt => "attempt",
            Self::Cache => "cache",
            Self::Code => "code",
            Self::Degraded => "degraded",
            Self::End => "end",
            Self::Endpoint => "endpoint",
            Self::Judge => "judge",
            Self::Kind => "kind",
            Self::Label => "label",
            Self::Method => "method",
            Self::Operation => "operation",
            Self::Purpose => "purpose",
            Self::Queue => "queue",
            Self::Result => "result",
            Self::Role => "role",
            // As OpenTelemetry names it.
            Self::TokenType => "gen_ai_token_type",
        }
    }
}

/// What a metric is, and in what it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Only rises.
    Counter,
    Gauge,
    /// Spread of times, in seconds.
    Seconds,
    /// Spread of amounts.
    Amounts,
    /// Spread of tokens of a language model.
    Tokens,
    /// Spread of shares, 0 to 1.
    Shares,
}

impl Shape {
    /// Upper bounds of the buckets of a histogram.
    pub(crate) const fn buckets(self) -> &'static [f64] {
        match self {
            Self::Counter | Self::Gauge => &[],
            Self::Seconds => {
                &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0]
            }
            Self::Amounts => &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 250.0, 500.0, 1000.0],
            Self::Tokens => &[4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0],
            Self::Shares => &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99],
        }
    }
}

macro_rules! metrics {
    ($($metric:ident = $name:literal, $shape:ident, [$($label:ident),*], $help:literal;)+) => {
        /// A metric.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Metric {
            $(#[doc = $help] $metric,)+
        }

        impl Metric {
            pub const ALL: &'static [Self] = &[$(Self::$metric),+];

            /// As Prometheus knows it; the unit is its end.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$metric => $name),+ }
            }

            pub const fn shape(self) -> Shape {
                match self { $(Self::$metric => Shape::$shape),+ }
            }

            pub const fn labels(self) -> &'static [Label] {
                match self { $(Self::$metric => &[$(Label::$label),*]),+ }
            }

            pub const fn help(self) -> &'static str {
                match self { $(Self::$metric => $help),+ }
            }
        }
    };
}

metrics! {
    RpcCalls = "hindsight_rpc_calls_total", Counter, [Method, Code], "Calls that ended, by canonical status code.";
    RpcDuration = "hindsight_rpc_duration_seconds", Seconds, [Method], "Time from the start of a call to its status.";
    QueueReady = "hindsight_queue_ready", Gauge, [Queue], "Messages that wait to be delivered.";
    QueueDelayed = "hindsight_queue_delayed", Gauge, [Queue], "Messages that wait for the delay of their retry.";
    QueueUnsettled = "hindsight_queue_unsettled", Gauge, [Queue], "Messages in the hands of consumers.";
    QueueOldest = "hindsight_queue_oldest_seconds", Gauge, [Queue], "Age of the oldest message that waits.";
    DeadLetters = "hindsight_dead_letters", Gauge, [Queue], "Messages set aside for people to look at.";
    DeadLetterOldest = "hindsight_dead_letter_oldest_seconds", Gauge, [Queue], "Time since the oldest dead letter died.";
    BusPublished = "hindsight_bus_published_total", Counter, [Queue, Result], "Messages handed to the bus.";
    BusPublishDuration = "hindsight_bus_publish_duration_seconds", Seconds, [Queue], "Time until the bus has confirmed a batch.";
    BusPublishBatch = "hindsight_bus_publish_batch_messages", Amounts, [Queue], "Messages of one publish.";
    BusDelivered = "hindsight_bus_delivered_total", Counter, [Queue, Attempt], "Deliveries taken, the first of a message or one again.";
    BusSettled = "hindsight_bus_settled_total", Counter, [Queue, End, Result], "Deliveries ended: acknowledged, sent to be retried, or set aside.";
    BusBroadcast = "hindsight_bus_broadcast_total", Counter, [Result], "Messages told to every process that listens.";
    BusHeard = "hindsight_bus_heard_total", Counter, [Result], "What a listener heard: a message, that it listens from now on (joined), that it hears nothing for now (lost).";
    IngestBatch = "hindsight_ingest_batch_messages", Amounts, [], "Messages that the ingester writes together.";
    OtlpSpans = "hindsight_otlp_spans_total", Counter, [Result], "Spans of traces that arrived: kept, ignored because they tell nothing of an agent's work, refused because they are malformed.";
    StoreCalls = "hindsight_store_calls_total", Counter, [Operation, Result], "Calls of the store.";
    StoreDuration = "hindsight_store_duration_seconds", Seconds, [Operation], "Time a call of the store takes.";
    EmbedCalls = "hindsight_embed_calls_total", Counter, [Purpose, Result], "Calls of the embedder.";
    EmbedDuration = "hindsight_embed_duration_seconds", Seconds, [Purpose], "Time a call of the embedder takes.";
    EmbedTexts = "hindsight_embed_texts_total", Counter, [Purpose], "Texts given to the embedder.";
    ReembedMemories = "hindsight_reembed_memories", Gauge, [], "Memories there are while the embedder changes; 0 otherwise.";
    ReembedDone = "hindsight_reembed_done", Gauge, [], "Memories that have their vector by the new embedder.";
    ReembedSkipped = "hindsight_reembed_skipped", Gauge, [], "Memories that the new embedder refuses.";
    Evaluations = "hindsight_evaluations_total", Counter, [Result], "Looks at a finished task, by what they came to: judged, skipped, waiting, failed.";
    EvaluationDuration = "hindsight_evaluation_duration_seconds", Seconds, [Result], "Time of one look at a finished task.";
    StepLabels = "hindsight_step_labels_total", Counter, [Label, Judge], "Steps judged, by their label and by who judged.";
    JudgeDuration = "hindsight_judge_duration_seconds", Seconds, [Judge], "Time to judge one run, the model included.";
    JudgeAgreement = "hindsight_judge_agreement_ratio", Shares, [], "Share of the steps of a run on which slice and model agree.";
    JudgeConsistency = "hindsight_judge_consistency_ratio", Shares, [], "Share of the steps of a run that all judgements of the model label alike.";
    JudgeFallbacks = "hindsight_judge_fallbacks_total", Counter, [], "Runs judged without the model that was asked for.";
    ModelVerdicts = "hindsight_model_verdicts_total", Counter, [Result], "Runs the model was asked to judge, by what came of it: ok, error, timeout.";
    ModelRepairs = "hindsight_model_repairs_total", Counter, [], "Answers of the model that could not be used and were asked for again.";
    Reevaluated = "hindsight_reevaluated_total", Counter, [Result], "Runs judged again on request, or not: judged, failed.";
    Evidence = "hindsight_evidence_total", Counter, [Kind, Result], "What judged runs said of memories, by their kind: supported, refuted, ignored.";
    CompactionRuns = "hindsight_compaction_runs_total", Counter, [Kind, Result], "Runs of upkeep that ended, by policy: done, failed.";
    CompactionTasks = "hindsight_compaction_tasks_total", Counter, [Kind, Result], "Pieces of upkeep, by what was to be done: done, skipped, failed.";
    Forgettings = "hindsight_forgettings_total", Counter, [Result], "Forgettings that ended: done, failed.";
    Forgotten = "hindsight_forgotten_messages_total", Counter, [Kind], "Messages dropped on arrival, their subject was forgotten: event, fact, run.";
    EventsExpired = "hindsight_events_expired_total", Counter, [], "Raw events deleted for their age.";
    Recalls = "hindsight_recalls_total", Counter, [Result, Degraded], "Recalls answered: with memories (hit) or without (empty), and whether something was not searched.";
    RecallCacheLookups = "hindsight_recall_cache_lookups_total", Counter, [Cache, Result], "What recalls looked for in memory: found (hit), not there (miss), not relied on because changes are not heard (bypass).";
    RecallCacheEvictions = "hindsight_recall_cache_evictions_total", Counter, [Cache], "Entries that made room for others.";
    RecallCacheInvalidations = "hindsight_recall_cache_invalidations_total", Counter, [Cache, Kind], "Changes after which entries are not used any more: of a user, of a tenant, of all.";
    RecallCacheBytes = "hindsight_recall_cache_bytes", Gauge, [Cache], "Room that entries take.";
    RecallItems = "hindsight_recall_items_total", Counter, [Kind], "Memories that recalls brought.";
    RecallFeedback = "hindsight_recall_feedback_total", Counter, [Kind, Result], "Memories that were reported on after a recall brought them: used, helpful, harmful, ignored.";
    WatchStreams = "hindsight_watch_streams", Gauge, [], "Streams of agents that the memory watches.";
    WatchAnswers = "hindsight_watch_answers_total", Counter, [Kind, Result], "Events of streams, by what they triggered, and what was answered: said, or why not.";
    WatchCheckDuration = "hindsight_watch_check_duration_seconds", Seconds, [Result], "Time to compare a call with known failures, by whether the memory spoke: said, silent.";
    ReceiptsExpired = "hindsight_receipts_expired_total", Counter, [], "Receipts deleted for their age, with what was reported of them.";
    GenAiDuration = "gen_ai_client_operation_duration_seconds", Seconds, [Result], "Time a call of a language model takes with its retries, by what came of it: ok, cached, budget, left_alone, timeout, another error.";
    GenAiTokens = "gen_ai_client_token_usage", Tokens, [TokenType], "Tokens of one call of a language model: input, output.";
    LlmCost = "hindsight_llm_cost_micros_total", Counter, [], "Cost of language models, in millionths of the currency of the configured prices.";
    LlmBreakerOpen = "hindsight_llm_breaker_open", Gauge, [Endpoint], "1 while a language model, by its place in the settings, is left alone because it failed often.";
    RoleReady = "hindsight_role_ready", Gauge, [Role], "1 while the role can do its work.";
}

impl Metric {
    /// Raises a counter.
    pub fn add(self, amount: u64, labels: &[(Label, &'static str)]) {
        debug_assert!(self.shape() == Shape::Counter && self.fits(labels), "{self:?} {labels:?}");
        metrics::counter!(self.name(), own(labels)).increment(amount);
    }

    /// Sets a gauge.
    pub fn set(self, value: f64, labels: &[(Label, &'static str)]) {
        debug_assert!(self.shape() == Shape::Gauge && self.fits(labels), "{self:?} {labels:?}");
        metrics::gauge!(self.name(), own(labels)).set(value);
    }

    /// Adds to a spread.
    pub fn record(self, value: f64, labels: &[(Label, &'static str)]) {
        debug_assert!(!self.shape().buckets().is_empty() && self.fits(labels), "{self:?} {labels:?}");
        metrics::histogram!(self.name(), own(labels)).record(value);
    }

    fn fits(self, labels: &[(Label, &'static str)]) -> bool {
        labels.iter().map(|(label, _)| label).eq(self.labels())
    }

    /// Tells the recorder what the metric means.
    pub(crate) fn describe(self) {
        match self.shape() {
            Shape::Counter => metrics::describe_counter!(self.name(), self.help()),
            Shape::Gauge => metrics::describe_gauge!(self.name(), self.help()),
            Shape::Seconds | Shape::Amounts | Shape::Tokens | Shape::Shares => {
                metrics::describe_histogram!(self.name(), self.help())
            }
        }
    }
}

fn own(labels: &[(Label, &'static str)]) -> Vec<metrics::Label> {
    labels.iter().map(|(label, value)| metrics::Label::from_static_parts(label.name(), value)).collect()
}

/// The value of [`Label::Result`] for what can fail.
pub fn outcome<T, E>(result: &Result<T, E>) -> &'static str {
    if result.is_ok() { "ok" } else { "error" }
}
