//! Lessons and runs as resources: `hindsight://lessons/ID` and `hindsight://trajectories/TRACE`, both with
//! `?user=USER` for what belongs to one.

use hindsight_client::Client;
use hindsight_proto::{
    common::v1::{Memory, MemoryKind, memory::Kind},
    memory::v1::{GetMemoryRequest, GetTrajectoryRequest, ListMemoriesRequest},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::{
    ErrorData,
    model::{
        ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
        ResourceTemplate,
    },
};
use serde_json::json;

use super::{Access, failure::refused, json};

const LESSONS: &str = "hindsight://lessons/";
const RUNS: &str = "hindsight://trajectories/";
const JSON: &str = "application/json";
const PAGE: i32 = 50;
/// Longest title.
const TITLE: usize = 100;
/// Everything that could mean something in a URI.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What is listed, one kind after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shelf {
    Lessons,
    Runs,
}

impl Shelf {
    const ALL: [Self; 2] = [Self::Lessons, Self::Runs];

    fn name(self) -> &'static str {
        match self {
            Self::Lessons => "lessons",
            Self::Runs => "trajectories",
        }
    }

    fn kind(self) -> MemoryKind {
        match self {
            Self::Lessons => MemoryKind::Lesson,
            Self::Runs => MemoryKind::Experience,
        }
    }

    fn next(self) -> Option<Self> {
        match self {
            Self::Lessons => Some(Self::Runs),
            Self::Runs => None,
        }
    }
}

/// A page: lessons first, then runs, newest first. What belongs to one user alone is not listed.
pub(super) async fn list(
    access: &Access,
    client: &Client,
    cursor: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    let (shelf, page_token) = match &cursor {
        None => (Shelf::Lessons, ""),
        Some(cursor) => place(cursor).ok_or_else(|| {
            ErrorData::invalid_params(
                "cursor: is none that this server gave; leave it out to begin anew",
                None,
            )
        })?,
    };
    let request = ListMemoriesRequest {
        kind: shelf.kind().into(),
        page_size: PAGE,
        page_token: page_token.to_owned(),
        ..ListMemoriesRequest::default()
    };
    let page = access.note(client.list_memories(request).await).map_err(|e| refused(&e, None))?;
    let mut listed = ListResourcesResult::with_all_items(page.memories.iter().filter_map(resource).collect());
    listed.next_cursor = match page.next_page_token.as_str() {
        "" => shelf.next().map(|next| format!("{}:", next.name())),
        token => Some(format!("{}:{token}", shelf.name())),
    };
    Ok(listed)
}

fn place(cursor: &str) -> Option<(Shelf, &str)> {
    let (name, token) = cursor.split_once(':')?;
    Some((Shelf::ALL.into_iter().find(|s| s.name() == name)?, token))
}

fn resource(memory: &Memory) -> Option<Resource> {
    Some(match memory.kind.as_ref()? {
        Kind::Lesson(lesson) => Resource::new(uri(LESSONS, &lesson.memory_id), &lesson.memory_id)
            .with_title(short(&lesson.situation))
            .with_description(&lesson.advice)
            .with_mime_type(JSON),
        Kind::Experience(experience) => {
            let run = experience.trajectory.as_ref()?;
            Resource::new(uri(RUNS, &run.trace_id), &run.trace_id)
                .with_title(short(&run.task_description))
                .with_description(format!("A run of {} steps", run.steps.len()))
                .with_mime_type(JSON)
        }
        _ => return None,
    })
}

fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= TITLE {
        line.to_owned()
    } else {
        line.chars().take(TITLE - 1).chain(['…']).collect()
    }
}

fn uri(shelf: &str, id: &str) -> String {
    format!("{shelf}{}", utf8_percent_encode(id, ESCAPED))
}

pub(super) fn templates() -> ListResourceTemplatesResult {
    let template = |uri: String, name: &str, title: &str, description: &str| {
        ResourceTemplate::new(uri, name).with_title(title).with_description(description).with_mime_type(JSON)
    };
    ListResourceTemplatesResult::with_all_items(vec![
        template(
            format!("{LESSONS}{{memory_id}}{{?user}}"),
            "lesson",
            "A lesson",
            "A lesson with its situation, advice, basis and evidence. `user` for one that belongs to a user.",
        ),
        template(
            format!("{RUNS}{{trace_id}}{{?user}}"),
            "trajectory",
            "A recorded run",
            "A run step by step, with the verdict on each step and its reason. `user` for one that belongs to a user.",
        ),
    ])
}

pub(super) async fn read(
    access: &Access,
    client: &Client,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || {
        let message = format!("there is no resource {uri}; see resources/templates/list for what there is");
        ErrorData::resource_not_found(message, Some(json!({"uri": uri})))
    };
    let failed = |e| refused(&e, Some(json!({"uri": uri})));
    let text = if let Some(rest) = uri.strip_prefix(LESSONS) {
        let (memory_id, user) = parts(rest).ok_or_else(unknown)?;
        let request = GetMemoryRequest { memory_id, user, kind: MemoryKind::Lesson.into() };
        let found = access.note(client.get_memory(request).await).map_err(failed)?;
        json::of_message("hindsight.memory.v1.GetMemoryResponse", &found)?
    } else if let Some(rest) = uri.strip_prefix(RUNS) {
        let (trace_id, user) = parts(rest).ok_or_else(unknown)?;
        let request = GetTrajectoryRequest { trace_id, user };
        let found = access.note(client.get_trajectory(request).await).map_err(failed)?;
        json::of_message("hindsight.memory.v1.GetTrajectoryResponse", &found)?
    } else {
        return Err(unknown());
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(JSON)]))
}

/// Id and user of `ID` or `ID?user=USER`.
fn parts(rest: &str) -> Option<(String, String)> {
    let (id, query) = rest.split_once('?').unwrap_or((rest, ""));
    let user = match query {
        "" => "",
        _ => query.strip_prefix("user=")?,
    };
    let decode = |s| percent_decode_str(s).decode_utf8().ok().map(|s| s.into_owned());
    let id = decode(id).filter(|id| !id.is_empty() && !id.contains('/'))?;
    Some((id, decode(user)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_uri_come_back() {
        let of = |uri: &str| parts(uri).map(|(id, user)| format!("{id}|{user}"));
        assert_eq!(of("a-1").as_deref(), Some("a-1|"));
        assert_eq!(of("run%3A1?user=%E6%9D%8E").as_deref(), Some("run:1|李"));
        for wrong in ["", "?user=anna", "a/b", "a?name=x", "a?user=%FF"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
        let id = "run:1/ä?b=c%";
        let uri = uri(RUNS, id);
        assert_eq!(percent_decode_str(uri.strip_prefix(RUNS).unwrap()).decode_utf8().unwrap(), id);
    }

    #[test]
    fn a_cursor_names_its_shelf() {
        assert_eq!(place("lessons:a:b"), Some((Shelf::Lessons, "a:b")));
        assert_eq!(place("trajectories:"), Some((Shelf::Runs, "")));
        assert_eq!((place("facts:x"), place("")), (None, None));
    }

    #[test]
    fn long_titles_end_visibly() {
        assert_eq!(short("磁盘已满\nmore"), "磁盘已满");
        let title = short(&"长".repeat(200));
        assert!(title.chars().count() == TITLE && title.ends_with('…'), "{title}");
    }
}
