use hindsight_codec::{environment_from_proto, memory_kind_from_proto};
use hindsight_proto::{common::v1 as common, recall::v1::RecallRequest};
use hindsight_types::{
    AgentId, Environment, FieldError, Invalid, MemoryKind, Scope, TaskType, TenantId, UserId, Viewer,
    Visibility, limits,
};

const DEFAULT_LIMIT: usize = 3;
const MAX_LIMIT: usize = 10;
const DEFAULT_TOKENS: usize = 1_500;
const MAX_TOKENS: usize = 8_000;

/// A recall as it was asked for, checked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ask {
    pub(crate) viewer: Viewer,
    pub(crate) query: String,
    pub(crate) environment: Environment,
    pub(crate) kinds: Vec<MemoryKind>,
    pub(crate) limit: usize,
    pub(crate) token_budget: usize,
    pub(crate) strict: bool,
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
        Invalid::check(wrong)?;
        Ok(Self {
            viewer: Viewer::of_tenant(tenant).with_user(user).with_agent(agent).with_task_type(task_type),
            query,
            environment,
            kinds,
            limit: limit.unwrap_or(DEFAULT_LIMIT),
            token_budget: tokens.unwrap_or(DEFAULT_TOKENS),
            strict: request.strict,
        })
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
fn note<T>(wrong: &mut Vec<FieldError>, result: Result<T, Invalid>) -> Option<T> {
    result.map_err(|e| wrong.extend(e.fields)).ok()
}

fn optional<T>(value: String, new: impl Fn(String) -> Result<T, Invalid>) -> Result<Option<T>, Invalid> {
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

fn environment(environment: Option<common::Environment>) -> Result<Environment, Invalid> {
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

fn amount(field: &str, value: u32, default: usize, most: usize) -> Result<usize, Invalid> {
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
mod tests {
    use super::*;

    fn ask(change: impl Fn(&mut RecallRequest)) -> Result<Ask, Invalid> {
        let mut request = RecallRequest { query: "磁盘满了".to_owned(), ..RecallRequest::default() };
        change(&mut request);
        Ask::new(TenantId::new("acme").unwrap(), request)
    }

    #[test]
    fn defaults_leave_facts_out_until_a_user_is_named() {
        let plain = ask(|_| ()).unwrap();
        assert_eq!((plain.limit, plain.token_budget, plain.strict), (3, 1_500, false));
        assert!(!plain.kinds.contains(&MemoryKind::Fact));
        assert_eq!(plain.scope().visibility, Visibility::Tenant);
        let named = ask(|r| r.user = "ann".to_owned()).unwrap();
        assert!(named.kinds.contains(&MemoryKind::Fact));
        assert_eq!(named.scope().visibility, Visibility::User(UserId::new("ann").unwrap()));
    }

    #[test]
    fn everything_wrong_is_named_at_once() {
        let wrong = ask(|r| {
            r.query = "  ".to_owned();
            r.user = "a\nb".to_owned();
            r.kinds = vec![99];
            (r.limit, r.token_budget) = (11, 9_000);
            r.environment = Some(common::Environment { tags: vec!["t".repeat(200)], ..Default::default() });
        });
        let fields: Vec<String> = wrong.unwrap_err().fields.into_iter().map(|f| f.field).collect();
        assert_eq!(
            fields,
            ["query", "user", "environment.tags[0]", "kinds[0].kind", "limit", "token_budget"]
        );
    }

    #[test]
    fn facts_without_a_user_are_refused() {
        let wrong = ask(|r| r.kinds = vec![common::MemoryKind::Fact as i32]).unwrap_err();
        assert_eq!(wrong.fields[0].field, "user");
    }
}
