use sha2::{Digest, Sha256};

const MAGIC: &[u8; 8] = b"HSTATIC1";
/// Magic, then the SHA-256 of all that follows, then the number of rows and of dimensions (`u32`), then the
/// largest scale (`f32`). All numbers are little-endian.
const DIGEST: usize = MAGIC.len();
const BODY: usize = DIGEST + 32;
const HEADER: usize = BODY + 12;
/// Murmur3 (32 bits, seed 0) of a word.
const KEY: usize = 4;
/// Before the values of a row: its scale (`u16`), as a part of the largest one, and its weight (`u8`).
const ROW_HEAD: usize = 3;

/// What a file that is not a whole table is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Damage {
    #[error("its length of {0} bytes does not fit its content")]
    Length(usize),
    #[error("it is no table of words")]
    Foreign,
    #[error("its digest does not match its content")]
    Digest,
    #[error("it has {0} dimensions, not {1}")]
    Dimension(usize, usize),
}

/// Vectors of words, four bits a value, in memory as in the file: after the header come the keys of all
/// words, rising, then the rows in the same order. Two words may share a key: that costs one of them its row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table<'a> {
    dimension: usize,
    largest_scale: f32,
    keys: &'a [[u8; KEY]],
    rows: &'a [u8],
}

/// The vector of one word, times its rarity.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    /// How much the word tells, 0 to 1.
    pub(super) weight: f32,
    scale: f32,
    values: &'a [u8],
}

impl<'a> Table<'a> {
    pub(super) fn read(file: &'a [u8], dimension: usize) -> Result<Self, Damage> {
        let wrong_length = Damage::Length(file.len());
        let (header, content) = file.split_at_checked(HEADER).ok_or(wrong_length.clone())?;
        if !header.starts_with(MAGIC) {
            return Err(Damage::Foreign);
        }
        let number =
            |at: usize| array(&header[BODY + at..]).map(u32::from_le_bytes).ok_or(wrong_length.clone());
        let (rows, found) = (number(0)? as usize, number(4)? as usize);
        if found != dimension {
            return Err(Damage::Dimension(found, dimension));
        }
        let (keys, rest) =
            rows.checked_mul(KEY).and_then(|at| content.split_at_checked(at)).ok_or(wrong_length.clone())?;
        if rows.checked_mul(row_bytes(dimension)) != Some(rest.len()) {
            return Err(wrong_length);
        }
        if Sha256::digest(&file[BODY..])[..] != header[DIGEST..BODY] {
            return Err(Damage::Digest);
        }
        let largest_scale = f32::from_bits(number(8)?);
        Ok(Self { dimension, largest_scale, keys: keys.as_chunks().0, rows: rest })
    }

    pub(super) fn row(&self, word: &str) -> Option<Row<'a>> {
        let key = key(word);
        let at = self.keys.binary_search_by_key(&key, |bytes| u32::from_le_bytes(*bytes)).ok()?;
        let bytes = row_bytes(self.dimension);
        let (head, values) = self.rows[at * bytes..][..bytes].split_at(ROW_HEAD);
        let part = f32::from(u16::from_le_bytes([head[0], head[1]])) / f32::from(u16::MAX);
        Some(Row {
            weight: f32::from(head[2]) / f32::from(u8::MAX),
            scale: part * self.largest_scale,
            values,
        })
    }
}

impl Row<'_> {
    /// Each byte holds two values, from -7 to 7 with 8 added: the earlier one in its lower half.
    pub(super) fn add_to(&self, sum: &mut [f32], times: f32) {
        let scale = self.scale * times;
        for (byte, pair) in self.values.iter().zip(sum.chunks_exact_mut(2)) {
            pair[0] += (f32::from(byte & 15) - 8.0) * scale;
            pair[1] += (f32::from(byte >> 4) - 8.0) * scale;
        }
    }
}

fn row_bytes(dimension: usize) -> usize {
    ROW_HEAD + dimension / 2
}

fn array(bytes: &[u8]) -> Option<[u8; 4]> {
    bytes.first_chunk().copied()
}

fn key(word: &str) -> u32 {
    // Reading from a byte slice cannot fail.
    murmur3::murmur3_32(&mut word.as_bytes(), 0).unwrap_or_default()
}

#[cfg(test)]
mod tests;
