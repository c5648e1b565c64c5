//! From settings and parts to roles. One function per role, so that a binary of one role holds no other.

use std::{sync::Arc, time::Duration};

use clap::ValueEnum;
use hindsight_collector::{Collector, CollectorSettings};
use hindsight_compactor::{CompactionParts, Compactor, CompactorSettings, RunSettings};
use hindsight_config::Config;
use hindsight_evaluator::{Compaction, Evaluator, EvaluatorSettings, JudgeSettings};
use hindsight_ports::EmbedderId;
use hindsight_recall::{
    CacheSettings, Care, DenseScale, Recall, RecallSettings, WatchPolicy, WatchSettings, Weights,
};
use hindsight_runtime::Role;

use crate::{
    Parts,
    prepare::{Awaiting, Need},
};

/// The roles, in the order in which they are stopped: sources first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum RoleName {
    Collector,
    Compactor,
    Evaluator,
    Recall,
}

impl RoleName {
    pub const ALL: [Self; 4] = [Self::Collector, Self::Compactor, Self::Evaluator, Self::Recall];

    pub fn build(self, config: &Config, parts: &Parts) -> Arc<dyn Role> {
        match self {
            Self::Collector => collector(config, parts),
            Self::Compactor => compactor(config, parts),
            Self::Evaluator => evaluator(config, parts),
            Self::Recall => recall(config, parts),
        }
    }
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Longest time between two touches of an open task.
const TOUCH: Duration = Duration::from_secs(60);

pub fn collector(config: &Config, parts: &Parts) -> Arc<dyn Role> {
    let touch = (config.compactor.idle_after / 10).min(TOUCH);
    let settings = CollectorSettings {
        batch: config.ingest.batch,
        span_grace_ms: config.ingest.span_grace.as_millis().try_into().unwrap_or(u64::MAX),
        touch_ms: touch.as_millis().try_into().unwrap_or(u64::MAX),
        ..CollectorSettings::default()
    };
    let Parts { bus, store, embedder, clock, .. } = parts;
    let role = Collector::new(settings, bus.clone(), store.clone(), embedder.clone(), clock.clone());
    let role = role.forgetting(parts.forgetter.clone()).merging(parts.subjects.clone());
    waiting(role, Need::Later, parts)
}

pub fn evaluator(config: &Config, parts: &Parts) -> Arc<dyn Role> {
    let evaluate = &config.evaluate;
    let judge = JudgeSettings {
        judge: evaluate.judge,
        judgements: evaluate.judgements,
        fall_back: evaluate.fall_back,
        model_attempts: evaluate.model_attempts,
        model_deadline: evaluate.model_deadline,
    };
    let mut settings =
        EvaluatorSettings { concurrency: evaluate.concurrency, judge, ..EvaluatorSettings::default() };
    settings.gate.min_seconds = config.gate.min_duration.as_secs();
    settings.gate.min_tool_calls = config.gate.min_tool_calls;
    settings.gate.judge_failures = config.gate.judge_failures;
    let Parts { bus, store, embedder, llm, clock, .. } = parts;
    let role =
        Evaluator::new(settings, bus.clone(), store.clone(), embedder.clone(), llm.clone(), clock.clone());
    let role = role.forgetting(parts.forgetter.clone()).merging(parts.subjects.clone());
    let role = role.compacting(Compaction {
        upkeep: parts.upkeep.clone(),
        compactions: parts.compactions.clone(),
        ledger: parts.ledger.clone(),
        history: parts.history.clone(),
        archive: parts.archive.clone(),
        evidence: Arc::new(config.lifecycle.0.clone()),
        settings: Arc::new(config.compaction.policies.clone()),
    });
    waiting(role, Need::First, parts)
}

pub fn compactor(config: &Config, parts: &Parts) -> Arc<dyn Role> {
    let settings = CompactorSettings {
        idle_after: config.compactor.idle_after,
        every: config.compactor.every,
        receipts_kept: DAY * u32::try_from(config.compactor.receipt_days).unwrap_or(u32::MAX),
        ..CompactorSettings::default()
    };
    let Parts { bus, store, vectors, embedder, clock, .. } = parts;
    let role = Compactor::new(
        settings,
        bus.clone(),
        store.clone(),
        vectors.clone(),
        embedder.clone(),
        clock.clone(),
    );
    let role = role.merging(parts.subjects.clone()).compacting(CompactionParts {
        upkeep: parts.upkeep.clone(),
        archive: parts.archive.clone(),
        compactions: parts.compactions.clone(),
        ledger: parts.ledger.clone(),
        evidence: Arc::new(config.lifecycle.0.clone()),
        policies: Arc::new(config.compaction.policies.clone()),
        runs: RunSettings { tasks: config.compaction.tasks_per_run, ..RunSettings::default() },
    });
    waiting(role, Need::First, parts)
}

pub fn recall(config: &Config, parts: &Parts) -> Arc<dyn Role> {
    let mut settings = recall_settings(&config.recall, parts.embedder.id());
    settings.watch = watch_settings(&config.watch);
    let hindsight_config::Lifecycle(policies) = &config.lifecycle;
    settings.rank.serving = policies.default.into();
    settings.serving =
        policies.tenants.iter().map(|(tenant, policy)| (tenant.clone(), (*policy).into())).collect();
    let cache = &config.recall.cache;
    let caches = CacheSettings {
        embeddings_bytes: cache.embeddings_mib << 20,
        facts_bytes: cache.facts_mib << 20,
        facts_per_user: cache.facts_per_user,
        facts_ttl: cache.facts_ttl,
    };
    let Parts { bus, store, vectors, embedder, clock, .. } = parts;
    let (bus, store, embedder) = (bus.clone(), store.clone(), embedder.clone());
    let role = Recall::remembering(settings, &caches, bus, store, embedder, clock.clone());
    let role = role.knowing(vectors.clone());
    let role = role.caring(Care {
        history: Some(parts.history.clone()),
        subjects: Some(parts.subjects.clone()),
        browse: Some(parts.browse.clone()),
        transfer: Some(parts.transfer.clone()),
        archive: Some(parts.archive.clone()),
        forget: Some(parts.forget.clone()),
        forgetter: Some(parts.forgetter.clone()),
        ledger: Some(parts.ledger.clone()),
        policies: config.lifecycle.0.clone(),
    });
    let role = match &parts.reranker {
        Some(reranker) => role.with_reranker(reranker.clone()),
        None => role,
    };
    parts.announcer.also_tell(role.on_write());
    searching(role, parts)
}

fn recall_settings(recall: &hindsight_config::Recall, embedder: &EmbedderId) -> RecallSettings {
    let deadline_ms = recall.deadline.as_millis().try_into().unwrap_or(u64::MAX);
    let mut settings =
        RecallSettings { deadline_ms, candidates: recall.candidates, ..RecallSettings::default() };
    let weights = &recall.weights;
    settings.rank.floor = recall.floor as f32;
    settings.rank.shortlist = recall.shortlist;
    settings.rank.weights = Weights {
        words: weights.words as f32,
        own: weights.own as f32,
        entities: weights.entities as f32,
        period: weights.period as f32,
        session: weights.session as f32,
    };
    settings.rank.dense =
        weights.meaning.map(|weight| DenseScale { weight: weight as f32, ..DenseScale::of(embedder) });
    settings
}

fn watch_settings(watch: &hindsight_config::Watch) -> WatchSettings {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    WatchSettings {
        policy: WatchPolicy {
            reminders: count(watch.reminders),
            cool_down: watch.cool_down,
            min_times: count(watch.min_times),
            alike: watch.alike as f32,
            reliability: watch.reliability as f32,
            floor: watch.floor as f32,
        },
        deadline: watch.deadline,
        streams_per_key: watch.streams_per_key,
        events: watch.events as u64,
        idle: watch.idle,
        failures: watch.failures,
        failures_bytes: watch.failures_mib << 20,
        ..WatchSettings::default()
    }
}

fn waiting(role: impl Role, need: Need, parts: &Parts) -> Arc<dyn Role> {
    Arc::new(Awaiting { role, need, preparation: parts.preparation.clone(), vectors: None })
}

/// Says what searches miss while the embedder changes.
fn searching(role: impl Role, parts: &Parts) -> Arc<dyn Role> {
    let (preparation, vectors) = (parts.preparation.clone(), Some(parts.vectors.clone()));
    Arc::new(Awaiting { role, need: Need::First, preparation, vectors })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_configured_is_as_measured() {
        let embedder = EmbedderId { model: "static-v1".to_owned(), dimension: 8 };
        let recall = hindsight_config::Recall::default();
        assert_eq!(recall_settings(&recall, &embedder), RecallSettings::default());
        assert_eq!(watch_settings(&hindsight_config::Watch::default()), WatchSettings::default());
    }

    #[test]
    fn the_weight_of_meaning_leaves_the_scale_of_the_embedder() {
        let embedder = EmbedderId { model: "dir:multilingual-e5-small".to_owned(), dimension: 8 };
        let mut recall = hindsight_config::Recall::default();
        recall.weights.meaning = Some(0.25);
        let dense = recall_settings(&recall, &embedder).rank.dense;
        assert_eq!(dense, Some(DenseScale { weight: 0.25, ..DenseScale::of(&embedder) }));
    }
}
