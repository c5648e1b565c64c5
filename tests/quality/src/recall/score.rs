use std::{collections::BTreeSet, fmt};

use serde::{Serialize, Serializer};

/// Means over questions.
#[derive(Debug, Default)]
pub(crate) struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    pub(crate) fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }
}

/// Null when nothing was measured.
impl Serialize for Mean {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mean = (self.count > 0).then(|| self.sum / self.count as f64);
        mean.serialize(serializer)
    }
}

impl fmt::Display for Mean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count == 0 { f.write_str("–") } else { write!(f, "{:.3}", self.sum / self.count as f64) }
    }
}

/// Share of `wanted` among the first `k` of `found`.
pub(crate) fn recall_at<T: Ord>(k: usize, found: &[T], wanted: &BTreeSet<T>) -> f64 {
    let top: BTreeSet<&T> = found.iter().take(k).collect();
    wanted.iter().filter(|w| top.contains(w)).count() as f64 / wanted.len().max(1) as f64
}
