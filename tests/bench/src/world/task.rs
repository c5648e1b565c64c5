//! The tasks of one seed: what is reported where, what is behind it, and when.

use hindsight_types::Timestamp;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::SliceRandom as _};

use super::{
    catalog::{Place, Practice, SYMPTOMS, Symptom},
    names::Names,
};

/// When the first task of every seed is reported, in seconds since 1970.
pub(crate) const BEGINS_AT: i64 = 1_790_000_000;
/// Time from one task to the next, in seconds.
const EVERY: i64 = 6 * 3600;
/// How often one call of a task times out for no reason.
const ONE_OFF: f64 = 0.15;
/// Kinds of trouble are not equally frequent: the n-th has the weight `n^-SKEW`.
const SKEW: f64 = 0.9;

/// One kind of trouble: a hidden cause of a symptom in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Fault {
    symptom: usize,
    pub(crate) cause: usize,
    pub(crate) place: Place,
}

impl Fault {
    pub(crate) fn symptom(self) -> &'static Symptom {
        SYMPTOMS[self.symptom]
    }

    pub(crate) fn practice(self) -> &'static Practice {
        self.symptom().at(self.place)
    }

    /// The command that ends it.
    pub(crate) fn fix(self, drifted: bool) -> &'static str {
        let remedy = self.symptom().causes[self.cause][self.place as usize];
        self.practice().fixes[remedy[usize::from(drifted)]]
    }

    fn all() -> Vec<Self> {
        let of =
            |symptom| (0..3).flat_map(move |cause| Place::ALL.map(|place| Self { symptom, cause, place }));
        (0..SYMPTOMS.len()).flat_map(of).collect()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) index: usize,
    pub(crate) fault: Fault,
    /// As it is told to the agent.
    pub(crate) report: String,
    pub(crate) names: Names,
    /// Whether the world has changed by then.
    pub(crate) drifted: bool,
    /// Number of the call that times out once.
    pub(crate) one_off: Option<usize>,
    pub(crate) at: Timestamp,
    /// For the choices of whoever works on it: the same whatever it remembers.
    pub(crate) seed: u64,
}

/// What happens in the life of one seed.
#[derive(Debug)]
pub(crate) struct Story {
    pub(crate) tasks: Vec<Task>,
    /// Somebody else's run that claims a ruinous fix, submitted before the task of the same index.
    pub(crate) poison: Task,
}

impl Story {
    pub(crate) fn begins_at(&self) -> Timestamp {
        self.tasks.first().map_or(self.poison.at, |task| task.at)
    }
}

/// Tells the story of a seed: `count` tasks, the poisoned run after a quarter of them, the drift after half.
pub(crate) fn story(seed: u64, count: usize) -> Story {
    let mut reports = Reports::new(seed);
    let at = |index: usize| BEGINS_AT + EVERY * i64::try_from(index).unwrap_or_default();
    let tasks = (0..count).map(|index| reports.next(at(index), 2 * index >= count)).collect();
    Story { tasks, poison: reports.frequent(count / 4, at(count / 4)) }
}

/// What people report, one after the other, without end.
#[derive(Debug)]
pub(crate) struct Reports {
    rng: StdRng,
    /// The most frequent first.
    faults: Vec<Fault>,
    weights: Vec<f64>,
    told: usize,
}

impl Reports {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut faults = Fault::all();
        faults.shuffle(&mut rng);
        let weights = (1..=faults.len()).map(|n| (n as f64).powf(-SKEW)).collect();
        Self { rng, faults, weights, told: 0 }
    }

    /// The next one, reported `at` (seconds since 1970), before the drift or after it.
    pub(crate) fn next(&mut self, at: i64, drifted: bool) -> Task {
        let fault = self.pick();
        let index = self.told;
        self.told += 1;
        self.task(fault, index, at, drifted)
    }

    /// A task of the most frequent kind, which others will meet again, with nothing that times out.
    fn frequent(&mut self, index: usize, at: i64) -> Task {
        let task = self.task(self.faults[0], index, at, false);
        Task { one_off: None, ..task }
    }

    fn pick(&mut self) -> Fault {
        let mut left = self.rng.random::<f64>() * self.weights.iter().sum::<f64>();
        let at = self.weights.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        self.faults[at.unwrap_or_default()]
    }

    fn task(&mut self, fault: Fault, index: usize, at: i64, drifted: bool) -> Task {
        let rng = &mut self.rng;
        let names = Names::draw(rng);
        let reports = fault.symptom().reports;
        Task {
            index,
            fault,
            report: names.fill(reports[rng.random_range(0..reports.len())]),
            names,
            drifted,
            one_off: rng.random_bool(ONE_OFF).then(|| rng.random_range(1..8)),
            at: Timestamp::from_second(at).unwrap_or_default(),
            seed: rng.random(),
        }
    }
}
