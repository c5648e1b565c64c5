//! MemDaily: short Chinese lists of messages of one person, and questions about them.

use std::path::Path;

use anyhow::Context;
use hindsight_types::Timestamp;
use jiff::{civil::DateTime, tz::TimeZone};
use serde::Deserialize;

pub(crate) const FILES: [&str; 3] = ["01_simple_roles", "03_comparative_events", "05_post_processing_items"];

#[derive(Deserialize)]
pub(crate) struct List {
    pub(crate) tid: u64,
    pub(crate) message_list: Vec<Message>,
    pub(crate) question_list: Vec<Question>,
}

#[derive(Deserialize)]
pub(crate) struct Message {
    pub(crate) mid: u64,
    pub(crate) message: String,
    time: String,
}

#[derive(Deserialize)]
pub(crate) struct Question {
    pub(crate) question: String,
    pub(crate) target_step_id: Vec<u64>,
}

/// The lists of one of [`FILES`].
pub(crate) fn load(data: &Path, file: &str) -> anyhow::Result<Option<Vec<List>>> {
    super::load(&data.join(format!("memdaily_zh/{file}.json")))
}

impl Message {
    /// `2024年04月01日 周一 08:39`.
    pub(crate) fn at(&self) -> anyhow::Result<Timestamp> {
        let time = self.time.split_whitespace().filter(|part| !part.starts_with('周'));
        let time = time.collect::<Vec<_>>().join(" ");
        let time = DateTime::strptime("%Y年%m月%d日 %H:%M", &time).with_context(|| self.time.clone())?;
        Ok(time.to_zoned_datetime(TimeZone::UTC)?.timestamp())
    }
}
