//! What a digest may be made of, and which of it goes into the budget.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
};

use super::{cut, describe, focus::Focus};

/// Something that can stand in a digest.
#[derive(Debug, Clone)]
pub(super) struct Item<'a> {
    /// Its place: twice the number of its line, so that something fits between two lines.
    pub(super) at: usize,
    pub(super) weight: u32,
    pub(super) text: Cow<'a, str>,
    shape: u64,
}

/// Weights. Within a class the more specific has more.
pub(super) mod weight {
    /// Reported trouble.
    pub(in crate::digest) const HARD: u32 = 100;
    pub(in crate::digest) const SOFT: u32 = 60;
    /// What was asked for, and warnings that call themselves so.
    pub(in crate::digest) const ASKED: u32 = 86;
    /// State of something.
    pub(in crate::digest) const STATE: u32 = 40;
    /// What something is called, and the line that was asked for.
    pub(in crate::digest) const NAME: u32 = 30;
    /// Beside trouble.
    pub(in crate::digest) const CONTEXT: u32 = 20;
    /// First and last lines.
    pub(in crate::digest) const EDGE: u32 = 10;
    /// Stands only where there is nothing better.
    pub(in crate::digest) const PLAIN: u32 = 3;
}

/// Lines that are kept as candidates; more are weeded out by their weight.
const CANDIDATES: usize = 4_096;
const SHAPES: usize = 8_192;
/// Lines of trouble whose words are looked up among the fields.
const EXPLAINED: usize = 64;
/// From this budget on, gaps say how many lines are missing.
const ROOMY: usize = 280;
/// Bytes of the longest mark of a gap.
const GAP: usize = 18;
/// What one line may take, the most generous first; the first that lets all lines of trouble in is used.
const ALLOWANCES: [usize; 6] = [400, 240, 160, 110, 72, 48];

/// What a digest may weigh, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) all: usize,
    /// What trouble alone may take, if that is more.
    pub(super) trouble: usize,
}

impl Room {
    pub(super) fn of(budget: usize) -> Self {
        Self { all: budget, trouble: budget }
    }

    /// Whether gaps say how many lines are missing.
    fn tells_gaps(self) -> bool {
        self.all >= ROOMY && self.trouble <= self.all
    }

    pub(super) fn most(self) -> usize {
        self.all.max(self.trouble)
    }
}

/// What one line may take where trouble is told beyond the budget.
const BRIEF: usize = 110;

/// Candidates, in bounded memory.
#[derive(Debug, Default)]
pub(super) struct Pool<'a> {
    items: Vec<Item<'a>>,
    times: HashMap<u64, u32>,
    /// Lines that were read.
    pub(super) lines: usize,
}

impl<'a> Pool<'a> {
    /// Adds a candidate; says whether it is the first of its shape.
    pub(super) fn add(&mut self, at: usize, weight: u32, text: Cow<'a, str>, shape: u64) -> bool {
        if let Some(times) = self.times.get_mut(&shape) {
            *times += 1;
            return false;
        }
        if self.times.len() < SHAPES {
            self.times.insert(shape, 1);
        } else if weight <= weight::PLAIN {
            return true;
        }
        self.items.push(Item { at, weight, text, shape });
        if self.items.len() >= 2 * CANDIDATES {
            self.rank();
            self.items.truncate(CANDIDATES);
        }
        true
    }

    pub(super) fn heaviest(&self) -> u32 {
        self.items.iter().map(|i| i.weight).max().unwrap_or(0)
    }

    /// The heaviest first; among equals the first and the last in turn.
    fn rank(&mut self) {
        self.items.sort_by_key(|i| (u32::MAX - i.weight, i.at));
        let mut ranked = Vec::with_capacity(self.items.len());
        for class in self.items.chunk_by(|a, b| a.weight == b.weight) {
            let (mut low, mut high) = (0, class.len());
            while low < high {
                ranked.push(class[low].clone());
                low += 1;
                if low < high {
                    high -= 1;
                    ranked.push(class[high].clone());
                }
            }
        }
        self.items = ranked;
    }

    /// A field that a line of trouble speaks of goes with it: `Node-Selectors: disk=ssd` with "didn't match
    /// the node selector".
    fn explain(&mut self) {
        let word = |w: &str| w.trim_end_matches('s').to_ascii_lowercase();
        let trouble = self.items.iter().filter(|i| i.weight >= weight::SOFT).take(EXPLAINED);
        let said: HashSet<String> = trouble
            .flat_map(|i| i.text[..i.text.floor_char_boundary(600)].split(|c: char| !c.is_ascii_alphabetic()))
            .filter(|w| w.len() >= 5)
            .map(word)
            .collect();
        for item in self.items.iter_mut().filter(|i| i.weight < weight::SOFT && i.weight != weight::CONTEXT) {
            let key = describe::key(&item.text).and_then(|k| k.rsplit(['-', ' ', '_', '.']).next());
            if key.is_some_and(|k| k.len() >= 5 && said.contains(&word(k))) {
                item.weight = weight::ASKED;
            }
        }
    }

    /// The best of the candidates, in their order: in at most `room.all` bytes, trouble in at most `room.trouble`.
    pub(super) fn render(mut self, room: Room, focus: &Focus) -> String {
        let budget = room.most();
        self.explain();
        self.rank();
        let heaviest = self.heaviest();
        // Beside trouble, what is merely there says nothing.
        let least = if heaviest >= weight::SOFT { weight::EDGE } else { 0 };
        self.items.retain(|i| i.weight >= least);
        let top = if heaviest >= weight::HARD { weight::HARD } else { heaviest.max(1) };
        let wanted = self.items.iter().filter(|i| i.weight >= top).count();
        // Where trouble takes more than its share, its lines are kept short.
        let widest = if room.trouble > room.all { BRIEF } else { budget.max(ALLOWANCES[5]) };
        let mut best = None;
        for allowance in ALLOWANCES.into_iter().filter(|a| *a <= widest) {
            let chosen = self.choose(room, allowance, focus);
            let whole = chosen.values().filter(|(i, _)| self.items[*i].weight >= top).count() >= wanted;
            best = Some(chosen);
            if whole {
                break;
            }
        }
        let chosen = best.unwrap_or_else(|| self.choose(room, budget, focus));
        self.write(&chosen, room)
    }

    /// Place → (item, its text).
    fn choose(&self, limit: Room, allowance: usize, focus: &Focus) -> BTreeMap<usize, (usize, String)> {
        let roomy = limit.tells_gaps();
        let mut chosen: BTreeMap<usize, (usize, String)> = BTreeMap::new();
        let reserved = if roomy { 2 * GAP } else { 4 };
        let mut texts = HashSet::new();
        let mut used = 0;
        // The worst there is may take more room.
        let hard = self.items.first().is_some_and(|i| i.weight >= weight::HARD);
        let must = if hard { weight::ASKED } else { weight::SOFT };
        for (index, item) in self.items.iter().enumerate() {
            let most = if item.weight >= must { limit.most() } else { limit.all };
            let room = most.saturating_sub(reserved + used);
            if room < 12 {
                break;
            }
            if chosen.contains_key(&item.at) {
                continue;
            }
            let count = self.count(item);
            // A new line can part one gap into two.
            let beside =
                chosen.contains_key(&(item.at + 2)) || item.at >= 2 && chosen.contains_key(&(item.at - 2));
            let mark = if roomy && !beside { GAP } else { 0 };
            let Some(free) = room.checked_sub(count.len() + mark + 1) else { continue };
            if free < 12
                || free < 40 && item.text.len() > free && !chosen.is_empty() && item.weight < weight::SOFT
            {
                continue;
            }
            let mut text = cut::line(&item.text, free.min(allowance), focus).into_owned();
            if text.is_empty() || !texts.insert(text.clone()) {
                continue;
            }
            text.push_str(&count);
            used += text.len() + mark + 1;
            chosen.insert(item.at, (index, text));
        }
        chosen
    }

    fn count(&self, item: &Item<'_>) -> String {
        match self.times.get(&item.shape) {
            Some(times) if *times > 1 => format!(" (×{times})"),
            _ => String::new(),
        }
    }

    fn write(&self, chosen: &BTreeMap<usize, (usize, String)>, room: Room) -> String {
        let roomy = room.tells_gaps();
        let mut out = String::new();
        let mut next = 0;
        for (at, (_, text)) in chosen {
            gap(&mut out, (at / 2).saturating_sub(next), roomy);
            out.push_str(text);
            out.push('\n');
            next = next.max(at / 2 + 1);
        }
        gap(&mut out, self.lines.saturating_sub(next), roomy);
        out.truncate(out.trim_end().len());
        if !roomy && self.lines > chosen.len() && !out.ends_with('…') {
            out.push('…');
        }
        out
    }
}

fn gap(out: &mut String, lines: usize, told: bool) {
    if lines > 0 && told {
        out.push_str(&format!("… {lines} lines\n"));
    }
}
