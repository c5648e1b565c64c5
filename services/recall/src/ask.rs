use std::sync::Arc;

use hindsight_codec::{environment_from_proto, memory_kind_from_proto, optional_time_from_proto};
use hindsight_proto::{
    common::v1 as common,
    recall::v1::{BlockFormat as PbFormat, RecallRequest},
};
use hindsight_rank::{
    Query,
    block::{BlockFormat, Language, Style},
    watch::Said,
};
use hindsight_types::{
    AgentId, Environment, FieldError, Invalid, MemoryId, MemoryKind, Scope, TaskType, TenantId, Timestamp,
    UserId, Viewer, Visibility, Watched, limits,
};
use jiff::tz::TimeZone;

const DEFAULT_LIMIT: usize = 3;
const MAX_LIMIT: usize = 10;
pub(crate) const DEFAULT_TOKENS: usize = 1_500;
pub(crate) const MAX_TOKENS: usize = 8_000;
/// Most previous turns.
const TURNS: usize = 20;

/// A recall as it was asked for, checked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ask {
    pub(crate) viewer: Viewer,
    pub(crate) query: String,
    /// What was said just before, the last turn last.
    pub(crate) recent: Vec<String>,
    pub(crate) asked_at: Option<Timestamp>,
    pub(crate) time_zone: TimeZone,
    pub(crate) style: Style,
    pub(crate) environment: Environment,
    pub(crate) kinds: Vec<MemoryKind>,
    pub(crate) limit: usize,
    pub(crate) token_budget: usize,
    pub(crate) strict: bool,
    pub(crate) watch: Watching,
}

/// What a stream adds to a recall that it makes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Watching {
    /// The event. `None`: a recall of its own.
    pub(crate) event: Option<Watched>,
    /// What was said on it already.
    pub(crate) said: Arc<Said>,
    /// Instead of the floor of any recall.
    pub(crate) floor: Option<f32>,
    /// Failure patterns that are looked at in any case.
    pub(crate) exact: Vec<MemoryId>,
}

impl Ask {
    pub(crate) fn new(tenant: TenantId, request: RecallRequest) -> Result<Self, Invalid> {
        let mut wrong = Vec::new();
        let query = note(&mut wrong, query(request.query)).unwrap_or_default();
        let user = note(&mut wrong, optional(request.user, UserId::new)).flatten();
        let agent = note(&mut wrong, optional(request.agent, AgentId::new)).flatten();
        let task_type = note(&mut wrong, optional(request.task_type, TaskType::new)).flatten();
        let environment = note(&mut wrong, environment(request.environment)).unwrap_or_default();
        let kinds = note(&mut wrong, kinds(&request.kinds, user.is_some())).unwrap_or_default();
        let limit = note(&mut wrong, amount("limit", request.limit, DEFAULT_LIMIT, MAX_LIMIT));
        let tokens =
            note(&mut wrong, amount("token_budget", request.token_budget, DEFAULT_TOKENS, MAX_TOKENS));
        let recent = note(&mut wrong, recent(request.recent)).unwrap_or_default();
        let asked_at = note(&mut wrong, optional_time_from_proto("asked_at", request.asked_at)).flatten();
        let time_zone = note(&mut wrong, time_zone(&request.time_zone)).unwrap_or(TimeZone::UTC);
        let format = note(&mut wrong, format(request.format)).unwrap_or_default();
        let language = note(&mut wrong, language(&request.language)).flatten();
        Invalid::check(wrong)?;
        Ok(Self {
            viewer: Viewer::of_tenant(tenant).with_user(user).with_agent(agent).with_task_type(task_type),
            query,
            recent,
            asked_at,
            time_zone,
            style: Style { format, language },
            environment,
            kinds,
            limit: limit.unwrap_or(DEFAULT_LIMIT),
            token_budget: tokens.unwrap_or(DEFAULT_TOKENS),
            strict: request.strict,
            watch: Watching::default(),
        })
    }

    /// The question as it is searched and ranked by; `now` unless the caller said when it asks.
    pub(crate) fn query(&self, now: Timestamp) -> Query {
        Query::new(&self.query, &self.recent, self.asked_at.unwrap_or(now), &self.time_zone)
    }

    /// Who may see the receipt: what was asked for a user is that user's.
    pub(crate) fn scope(&self) -> Scope {
        let visibility = self.viewer.user.clone().map_or(Visibility::Tenant, Visibility::User);
        Scope::new(self.viewer.tenant.clone(), visibility)
    }
}

/// On whose behalf a request that only names a user reads.
pub(crate) fn viewer(tenant: TenantId, user: String) -> Result<Viewer, Invalid> {
    Ok(Viewer::of_tenant(tenant).with_user(optional(user, UserId::new)?))
}

/// Collects what is wrong, so that all of it is reported at once.
pub(crate) fn note<T>(wrong: &mut Vec<FieldError>, result: Result<T, Invalid>) -> Option<T> {
    result.map_err(|e| wrong.extend(e.fields)).ok()
}

pub(crate) fn optional<T>(
    value: String,
    new: impl Fn(String) -> Result<T, Invalid>,
) -> Result<Option<T>, Invalid> {
    if value.is_empty() { Ok(None) } else { new(value).map(Some) }
}

fn query(query: String) -> Result<String, Invalid> {
    if query.trim().is_empty() {
        return Err(Invalid::new("query", "is required: the task, question or state, in words"));
    }
    if query.len() > limits::TEXT_BYTES {
        let problem = format!("is {} bytes long; at most {} are accepted", query.len(), limits::TEXT_BYTES);
        return Err(Invalid::new("query", problem));
    }
    Ok(query)
}

pub(crate) fn environment(environment: Option<common::Environment>) -> Result<Environment, Invalid> {
    let environment = environment_from_proto(environment);
    let tags = environment.tags.len();
    if tags > limits::TAGS {
        let problem = format!("has {tags} tags; at most {} are accepted", limits::TAGS);
        return Err(Invalid::new("environment.tags", problem));
    }
    if let Some(at) = environment.tags.iter().position(|tag| tag.len() > limits::ID_BYTES) {
        let problem = format!("is longer than the {} bytes accepted", limits::ID_BYTES);
        return Err(Invalid::new(format!("environment.tags[{at}]"), problem));
    }
    Ok(environment)
}

fn recent(turns: Vec<String>) -> Result<Vec<String>, Invalid> {
    if turns.len() > TURNS {
        let problem = format!("has {} turns; at most {TURNS} are accepted, the last ones", turns.len());
        return Err(Invalid::new("recent", problem));
    }
    let bytes: usize = turns.iter().map(String::len).sum();
    if bytes > limits::TEXT_BYTES {
        let problem = format!("is {bytes} bytes long; at most {} are accepted together", limits::TEXT_BYTES);
        return Err(Invalid::new("recent", problem));
    }
    Ok(turns)
}

pub(crate) fn time_zone(name: &str) -> Result<TimeZone, Invalid> {
    if name.is_empty() {
        return Ok(TimeZone::UTC);
    }
    TimeZone::get(name).map_err(|_| {
        let shown = hindsight_text::truncate_chars(name, limits::ID_BYTES);
        Invalid::new("time_zone", format!("`{shown}` is not known; give an IANA name such as Asia/Shanghai"))
    })
}

pub(crate) fn format(format: i32) -> Result<BlockFormat, Invalid> {
    match PbFormat::try_from(format) {
        Ok(PbFormat::Unspecified | PbFormat::Markdown) => Ok(BlockFormat::Markdown),
        Ok(PbFormat::Json) => Ok(BlockFormat::Json),
        Err(_) => Err(Invalid::new("format", format!("{format} is not a value of this enum"))),
    }
}

pub(crate) fn language(language: &str) -> Result<Option<Language>, Invalid> {
    match language {
        "" => Ok(None),
        "en" => Ok(Some(Language::English)),
        "zh" => Ok(Some(Language::Chinese)),
        _ => {
            Err(Invalid::new("language", "is neither `en` nor `zh`; leave it empty for that of the question"))
        }
    }
}

fn kinds(kinds: &[i32], has_user: bool) -> Result<Vec<MemoryKind>, Invalid> {
    let unspecified = common::MemoryKind::Unspecified as i32;
    let mut asked = Vec::new();
    for (at, kind) in kinds.iter().enumerate().filter(|(_, kind)| **kind != unspecified) {
        let kind = memory_kind_from_proto(*kind).map_err(|e| e.within(&format!("kinds[{at}]")))?;
        if !asked.contains(&kind) {
            asked.push(kind);
        }
    }
    if asked.contains(&MemoryKind::Fact) && !has_user {
        return Err(Invalid::new("user", "is required to recall facts: they belong to one user"));
    }
    if asked.is_empty() {
        asked = vec![MemoryKind::Experience, MemoryKind::Lesson, MemoryKind::FailurePattern];
        if has_user {
            asked.insert(0, MemoryKind::Fact);
        }
    }
    Ok(asked)
}

pub(crate) fn amount(field: &str, value: u32, default: usize, most: usize) -> Result<usize, Invalid> {
    match usize::try_from(value) {
        Ok(0) => Ok(default),
        Ok(n) if n <= most => Ok(n),
        _ => Err(Invalid::new(
            field,
            format!("is {value}; give 0 for the default of {default}, or 1 to {most}"),
        )),
    }
}

#[cfg(test)]
mod tests;
