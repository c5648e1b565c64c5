//! LoCoMo: long conversations of two people.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::Context;
use hindsight_types::{Attachment, Timestamp};
use jiff::{civil::DateTime, tz::TimeZone};
use serde::Deserialize;

/// Questions of this category have no answer in the conversation.
pub(crate) const UNANSWERABLE: u32 = 5;

#[derive(Deserialize)]
pub(crate) struct Conversation {
    pub(crate) sample_id: String,
    conversation: BTreeMap<String, serde_json::Value>,
    pub(crate) qa: Vec<Question>,
}

#[derive(Deserialize)]
pub(crate) struct Question {
    pub(crate) question: String,
    pub(crate) category: u32,
    #[serde(default)]
    evidence: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct Turn {
    pub(crate) speaker: String,
    pub(crate) dia_id: String,
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) blip_caption: String,
}

pub(crate) struct Session {
    /// `session_3`.
    pub(crate) name: String,
    pub(crate) number: i64,
    pub(crate) date: String,
    pub(crate) turns: Vec<Turn>,
}

pub(crate) fn load(data: &Path) -> anyhow::Result<Option<Vec<Conversation>>> {
    super::load(&data.join("locomo/dev.json"))
}

impl Conversation {
    /// In the order in which they took place.
    pub(crate) fn sessions(&self) -> anyhow::Result<Vec<Session>> {
        let mut sessions = Vec::new();
        for (name, value) in self.conversation.iter().filter(|(_, v)| v.is_array()) {
            let number = name.trim_start_matches("session_").parse().with_context(|| format!("`{name}`"))?;
            let date = self.conversation.get(&format!("{name}_date_time")).and_then(|d| d.as_str());
            sessions.push(Session {
                name: name.clone(),
                number,
                date: date.unwrap_or_default().to_owned(),
                turns: serde_json::from_value(value.clone()).with_context(|| format!("`{name}`"))?,
            });
        }
        sessions.sort_by_key(|s| s.number);
        Ok(sessions)
    }
}

impl Session {
    /// Its date reads `1:56 pm on 8 May, 2023`; taken as UTC.
    pub(crate) fn began(&self) -> anyhow::Result<Timestamp> {
        let date = self.date.to_lowercase().replace(',', "");
        let began = DateTime::strptime("%I:%M %p on %d %B %Y", &date);
        Ok(began.with_context(|| self.date.clone())?.to_zoned_datetime(TimeZone::UTC)?.timestamp())
    }
}

impl Turn {
    /// The photo that was shown, by its caption.
    pub(crate) fn photo(&self) -> Vec<Attachment> {
        let shown = (!self.blip_caption.is_empty()).then(|| Attachment {
            uri: format!("https://example.com/{}", self.dia_id),
            media_type: "image/jpeg".to_owned(),
            caption: self.blip_caption.clone(),
        });
        shown.into_iter().collect()
    }
}

impl Question {
    /// `D8:6; D9:17` names two turns.
    pub(crate) fn evidence(&self) -> BTreeSet<String> {
        let ids = self.evidence.iter().flat_map(|e| e.split([';', ' ', ',']));
        ids.map(str::trim).filter(|e| e.starts_with('D') && e.contains(':')).map(str::to_owned).collect()
    }
}
