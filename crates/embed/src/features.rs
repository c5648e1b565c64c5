use std::collections::BTreeMap;

/// Weights by the hash of a feature (Weinberger et al., "Feature Hashing for Large Scale Multitask
/// Learning", 2009). They are kept squared: a feature that comes twice weighs √2, not 2.
#[derive(Default)]
pub(crate) struct Features {
    squares: BTreeMap<u64, f32>,
    key: Vec<u8>,
}

impl Features {
    pub(crate) fn is_empty(&self) -> bool {
        self.squares.is_empty()
    }

    /// One feature, named by its fields.
    pub(crate) fn add(&mut self, feature: &[&str], weight: f32) {
        self.key.clear();
        for field in feature {
            self.key.extend_from_slice(field.as_bytes());
            self.key.push(0);
        }
        *self.squares.entry(hash(&self.key)).or_default() += weight * weight;
    }

    /// The parts of a word, three to five characters each, the ends of the word marked; together of length
    /// `weight`.
    pub(crate) fn fragments(&mut self, word: &str, weight: f32) {
        let marked: Vec<char> =
            std::iter::once('<').chain(word.chars()).chain(std::iter::once('>')).collect();
        let fragments: Vec<String> = (3..=5).flat_map(|n| marked.windows(n)).map(String::from_iter).collect();
        let each = weight / (fragments.len() as f32).sqrt();
        for fragment in &fragments {
            self.add(&["part", fragment], each);
        }
    }

    /// A unit vector: every feature adds its weight, with a sign, at the place that its hash names.
    pub(crate) fn project(self, dimension: usize) -> Vec<f32> {
        let mut vector = vec![0.0; dimension];
        let mut heaviest = (0.0, 0);
        for (hash, square) in self.squares {
            let place = (hash >> 1) as usize % dimension;
            let weight = square.sqrt();
            vector[place] += if hash & 1 == 0 { weight } else { -weight };
            if weight > heaviest.0 {
                heaviest = (weight, place);
            }
        }
        crate::unit::unit(vector).unwrap_or_else(|| axis(dimension, heaviest.1))
    }
}

/// For the freak text whose features cancel out: the axis of its heaviest one.
fn axis(dimension: usize, place: usize) -> Vec<f32> {
    let mut vector = vec![0.0; dimension];
    vector[place] = 1.0;
    vector
}

/// Murmur3, lower half of 128 bits, seed 0: stable across platforms and releases, since vectors are stored.
fn hash(key: &[u8]) -> u64 {
    // Reading from a byte slice cannot fail.
    murmur3::murmur3_x64_128(&mut &key[..], 0).unwrap_or_default() as u64
}
