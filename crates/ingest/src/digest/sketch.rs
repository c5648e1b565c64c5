//! Reads JSON of any size into a bounded outline: lists are sampled while they are read, what is in trouble
//! before what is not, and long text is digested at once.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{
    focus::Focus,
    pool::Room,
    trouble::{self, Trouble},
};

/// Items of a list that are kept, of each sort.
const ITEMS: usize = 8;
const FIELDS: usize = 96;
/// Text in a field that is kept; of longer, a digest.
const TEXT: usize = 1_500;
/// Nodes that are kept altogether: beyond, a list keeps only what is in trouble.
const NODES: usize = 20_000;

#[derive(Debug)]
pub(super) enum Sketch {
    /// A number, a truth or null as it is written.
    Plain(String),
    Text(String),
    List {
        items: Vec<Sketch>,
        total: usize,
    },
    Fields {
        fields: Vec<(String, Sketch)>,
        total: usize,
    },
}

impl Sketch {
    /// How bad it is, as far down as it goes.
    pub(super) fn trouble(&self) -> Trouble {
        match self {
            Self::Plain(_) => Trouble::None,
            Self::Text(text) => trouble::of(text),
            Self::List { items, .. } => items.iter().map(Self::trouble).max().unwrap_or(Trouble::None),
            Self::Fields { fields, .. } => {
                fields.iter().map(|(k, v)| field_trouble(k, v)).max().unwrap_or(Trouble::None)
            }
        }
    }

    fn holds(&self, focus: &Focus) -> bool {
        match self {
            Self::Text(text) => focus.is_in(text),
            Self::List { items, .. } => items.iter().any(|i| i.holds(focus)),
            Self::Fields { fields, .. } => fields.iter().any(|(k, v)| focus.is_in(k) || v.holds(focus)),
            Self::Plain(_) => false,
        }
    }

    fn nodes(&self) -> usize {
        match self {
            Self::List { items, .. } => 1 + items.iter().map(Self::nodes).sum::<usize>(),
            Self::Fields { fields, .. } => 1 + fields.iter().map(|(_, v)| v.nodes()).sum::<usize>(),
            _ => 1,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Plain(p) => p == "null",
            Self::Text(t) => t.is_empty(),
            Self::List { total, .. } | Self::Fields { total, .. } => *total == 0,
        }
    }
}

/// `"error": "…"` is trouble whatever it says; `"failed": 0` is none.
pub(super) fn field_trouble(key: &str, value: &Sketch) -> Trouble {
    let own = match value {
        Sketch::Plain(p) => trouble::of(&format!("{key}: {p}"))
            .min(if matches!(&**p, "null" | "false" | "0") { Trouble::None } else { Trouble::Hard }),
        Sketch::Text(text) if text.len() < 200 => trouble::of(&format!("{key}: {text}")),
        _ => Trouble::None,
    };
    own.max(value.trouble())
}

/// `None` when the text is no JSON, or is deeper than the parser follows (128 levels).
/// `nested`: how many texts this one stands in.
pub(super) fn read(text: &str, focus: &Focus, nested: u8) -> Option<Sketch> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let sketch = Outline { nested, focus }.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(sketch)
}

#[derive(Clone, Copy)]
struct Outline<'f> {
    nested: u8,
    focus: &'f Focus,
}

impl<'de> DeserializeSeed<'de> for Outline<'_> {
    type Value = Sketch;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Sketch, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Outline<'_> {
    type Value = Sketch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Sketch, E> {
        Ok(Sketch::Plain(v.to_string()))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Sketch, E> {
        Ok(Sketch::Plain(v.to_string()))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Sketch, E> {
        Ok(Sketch::Plain(v.to_string()))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Sketch, E> {
        Ok(Sketch::Plain(v.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Sketch, E> {
        Ok(Sketch::Plain("null".to_owned()))
    }

    fn visit_str<E>(self, v: &str) -> Result<Sketch, E> {
        if v.len() <= TEXT {
            return Ok(Sketch::Text(v.to_owned()));
        }
        // Text in text, as the output of a command in the answer of a tool.
        let digest = super::reduce(v, Room::of(TEXT), self.focus, self.nested + 1);
        Ok(Sketch::Text(digest.into_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Sketch, A::Error> {
        let (mut first, mut bad) = (Vec::new(), Vec::new());
        let mut asked = Vec::new();
        let (mut total, mut nodes) = (0, 0);
        while let Some(item) = seq.next_element_seed(self)? {
            total += 1;
            let trouble = item.trouble() == Trouble::Hard;
            let kept = match () {
                () if trouble && bad.len() < ITEMS && nodes < 2 * NODES => &mut bad,
                () if asked.len() < ITEMS && nodes < 2 * NODES && item.holds(self.focus) => &mut asked,
                () if first.len() < ITEMS && nodes < NODES => &mut first,
                () => continue,
            };
            nodes += item.nodes();
            kept.push(item);
        }
        let items = bad.into_iter().chain(asked).chain(first).collect();
        Ok(Sketch::List { items, total })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Sketch, A::Error> {
        let mut fields = Vec::new();
        let (mut total, mut nodes) = (0, 0);
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value_seed(self)?;
            total += 1;
            let key = key[..key.floor_char_boundary(120)].to_owned();
            let most = if field_trouble(&key, &value) == Trouble::Hard { 2 } else { 1 };
            if fields.len() < most * FIELDS && nodes < most * NODES {
                nodes += value.nodes();
                fields.push((key, value));
            }
        }
        Ok(Sketch::Fields { fields, total })
    }
}
