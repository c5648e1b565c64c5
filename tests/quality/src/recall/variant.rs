//! What is measured: the product as it is, and with one thing switched off.

use anyhow::Context;
use hindsight_ports::Arm;
use hindsight_rank::Settings;

/// One way to recall.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    pub(crate) name: String,
    pub(crate) settings: Settings,
    /// Arms that are not asked.
    without: Vec<&'static str>,
    /// The order of one arm alone, as the engine gives it.
    pub(crate) alone: Option<&'static str>,
    /// Whether facts are encoded with what stands around them.
    pub(crate) context: bool,
    /// Whether its floors are looked at closely.
    pub(crate) curve: bool,
    /// Whether the question has an embedding at all.
    pub(crate) meaning: bool,
}

impl Variant {
    fn new(name: &str, settings: &Settings) -> Self {
        Self {
            name: name.to_owned(),
            settings: settings.clone(),
            without: Vec::new(),
            alone: None,
            context: true,
            curve: false,
            meaning: true,
        }
    }

    pub(crate) fn all(ablate: bool, changed: &[String]) -> anyhow::Result<Vec<Self>> {
        let settings = &Settings::default();
        let mut all = vec![Self { curve: true, ..Self::new("as it is", settings) }];
        for json in changed {
            let settings = serde_json::from_str(json).with_context(|| format!("--settings {json}"))?;
            all.push(Self { curve: true, ..Self::new(json, &settings) });
        }
        for (name, arm) in [("BM25 arm alone", "bm25"), ("dense arm alone", "dense")] {
            all.push(Self { alone: Some(arm), ..Self::new(name, settings) });
        }
        if !ablate {
            return Ok(all);
        }
        for arm in ["bm25", "dense", "entities", "period"] {
            let name = format!("without the {arm} arm");
            all.push(Self { without: vec![arm], ..Self::new(&name, settings) });
        }
        all.push(Self {
            meaning: false,
            without: vec!["dense"],
            ..Self::new("without an embedding", settings)
        });
        all.push(Self { context: false, ..Self::new("without context", settings) });
        all.extend(CHANGES.iter().map(|(name, change)| {
            let mut variant = Self::new(name, settings);
            change(&mut variant.settings);
            variant
        }));
        Ok(all)
    }

    pub(crate) fn without_floors(&self) -> Self {
        let mut open = self.clone();
        (open.settings.floor, open.settings.tail_floor) = (0.0, 0.0);
        open
    }

    pub(crate) fn asks(&self, arm: &Arm) -> bool {
        !self.without.contains(&arm.name())
    }
}

type Change = fn(&mut Settings);

/// Factors, switched off.
const CHANGES: [(&str, Change); 9] = [
    ("without own words", |s| s.weights.own = 0.0),
    ("without session", |s| s.weights.session = 0.0),
    ("without names in the order", |s| s.weights.entities = 0.0),
    ("without time in the order", |s| s.weights.period = 0.0),
    ("without diversity", |s| s.diversity = 0.0),
    ("without folding", |s| s.near_duplicate = 2.0),
    ("without decay", |s| {
        (s.success_half_life_days, s.failure_half_life_days) = (1e9, 1e9);
        s.fact_decay_floor = 1.0;
    }),
    ("without floors", |s| (s.floor, s.tail_floor) = (0.0, 0.0)),
    ("shortlist of 20", |s| s.shortlist = 20),
];
