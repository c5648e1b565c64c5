use std::{
    collections::{BTreeSet, HashSet},
    io::{self, Read},
};

/// Bytes of a text that are looked for together.
const WINDOW: usize = 16;
/// Most places of one text that are looked for.
const PLACES: usize = 8;
/// Most fingerprints that one search looks for.
pub const MOST_PROBES: usize = 4_096;
/// Bytes that a place must differ in, so that rules and blanks are not taken for somebody's words.
const DISTINCT: usize = 6;

/// Arithmetic is modulo this prime, 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;
/// Base of the polynomial; any large number will do that stays the same.
const BASE: u64 = 0x0bad_5eed_ca5c_ade5 % PRIME;
const READ: usize = 1 << 16;
/// Files are laid out ahead of use: what is blank is passed over in blocks of this size.
const BLOCK: usize = 1 << 12;
static BLANK: [u8; BLOCK] = [0; BLOCK];
/// Bits of the sieve that most bytes of a file do not pass.
const SIEVE: usize = 1 << 18;

/// Texts to be looked for in files without being kept: each of a few places of a text stands as a fingerprint, a
/// polynomial hash of its 16 bytes (Karp and Rabin 1987, modulo 2^61 - 1), once as it is and once for each of the
/// three ways in which base64 may cut it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Probes(BTreeSet<u64>);

impl Probes {
    /// Adds a text, as long as there is room. Texts shorter than 16 bytes say too little and are left out.
    pub fn add(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let Some(last) = bytes.len().checked_sub(WINDOW) else { return };
        let places = (last / WINDOW + 1).min(PLACES);
        for place in 0..places {
            let start = if places == 1 { 0 } else { place * last / (places - 1) };
            let window = &bytes[start..start + WINDOW];
            if window.iter().collect::<HashSet<_>>().len() < DISTINCT {
                continue;
            }
            if self.0.len() + 4 > MOST_PROBES {
                return;
            }
            self.0.insert(fingerprint(window));
            self.0.extend((0..3).map(|skipped| fingerprint(&encoded(window, skipped))));
        }
    }

    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut probes = Self::default();
        texts.into_iter().for_each(|text| probes.add(text));
        probes
    }

    pub fn from_fingerprints(fingerprints: impl IntoIterator<Item = u64>) -> Self {
        Self(fingerprints.into_iter().take(MOST_PROBES).collect())
    }

    pub fn fingerprints(&self) -> &BTreeSet<u64> {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Reads to the end. Returns how many bytes there were and the fingerprints among them that are looked for.
    pub fn scan(&self, mut from: impl Read) -> io::Result<(u64, BTreeSet<u64>)> {
        let mut scanner = Scanner::new(self);
        let (mut buffer, mut total) = (vec![0; READ], 0);
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return Ok((total, scanner.found)),
                Ok(read) => {
                    total += read as u64;
                    for block in buffer[..read].chunks(BLOCK) {
                        if *block == BLANK[..block.len()] { scanner.blank() } else { scanner.feed(block) }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

struct Scanner<'a> {
    wanted: &'a BTreeSet<u64>,
    sieve: Vec<u64>,
    /// What a byte weighs that leaves the window.
    leaving: Vec<u64>,
    /// The bytes of the window, as a ring.
    window: [u8; WINDOW],
    next: usize,
    seen: usize,
    hash: u64,
    found: BTreeSet<u64>,
}

impl<'a> Scanner<'a> {
    fn new(probes: &'a Probes) -> Self {
        let mut sieve = vec![0; SIEVE / 64];
        for wanted in &probes.0 {
            let bit = sieve_bit(*wanted);
            sieve[bit / 64] |= 1 << (bit % 64);
        }
        let power = (0..WINDOW).fold(1, |power, _| times(power, BASE));
        Self {
            wanted: &probes.0,
            sieve,
            leaving: (0..=u64::from(u8::MAX)).map(|byte| times(byte, power)).collect(),
            window: [0; WINDOW],
            next: 0,
            seen: 0,
            hash: 0,
            found: BTreeSet::new(),
        }
    }

    /// As after so many zeros that nothing else is in the window.
    fn blank(&mut self) {
        (self.window, self.seen, self.hash) = ([0; WINDOW], WINDOW, 0);
    }

    fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let left = std::mem::replace(&mut self.window[self.next], *byte);
            self.next = (self.next + 1) % WINDOW;
            let shifted = times(self.hash, BASE) + u64::from(*byte) + PRIME - self.leaving[usize::from(left)];
            self.hash = reduced(shifted);
            self.seen = WINDOW.min(self.seen + 1);
            let bit = sieve_bit(self.hash);
            if self.seen == WINDOW
                && self.sieve[bit / 64] & (1 << (bit % 64)) != 0
                && self.wanted.contains(&self.hash)
            {
                self.found.insert(self.hash);
            }
        }
    }
}

fn sieve_bit(hash: u64) -> usize {
    (hash % SIEVE as u64) as usize
}

/// Of two numbers below the prime, below the prime.
fn times(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    reduced((product as u64 & PRIME) + (product >> 61) as u64)
}

/// 2^61 is 1 here.
fn reduced(n: u64) -> u64 {
    let folded = (n & PRIME) + (n >> 61);
    if folded >= PRIME { folded - PRIME } else { folded }
}

fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |hash, byte| reduced(times(hash, BASE) + u64::from(*byte)))
}

/// As many characters as a window has, of the base64 of bytes that have these in them, `skipped` bytes after a
/// multiple of three: only characters that are made of them alone.
fn encoded(window: &[u8], skipped: usize) -> [u8; WINDOW] {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let first_bit = (skipped * 8).div_ceil(6) * 6 - skipped * 8;
    let bit = |n: usize| (window[n / 8] >> (7 - n % 8)) & 1;
    std::array::from_fn(|i| {
        let start = first_bit + i * 6;
        let value = (start..start + 6).fold(0, |value, n| value << 1 | bit(n));
        ALPHABET[usize::from(value)]
    })
}

#[cfg(test)]
mod tests;
