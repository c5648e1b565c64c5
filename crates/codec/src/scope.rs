use hindsight_proto::common::v1 as pb;
use hindsight_types::{AgentId, Invalid, Scope, TaskType, TenantId, UserId, Visibility};

pub fn scope_to_proto(scope: &Scope) -> pb::Scope {
    visibility_to_proto(&scope.visibility)
}

/// A scope without its tenant, which is never in a message.
pub(crate) fn visibility_to_proto(visibility: &Visibility) -> pb::Scope {
    let (level, id) = match visibility {
        Visibility::Tenant => (pb::ScopeLevel::Tenant, String::new()),
        Visibility::User(u) => (pb::ScopeLevel::User, u.to_string()),
        Visibility::Task(t) => (pb::ScopeLevel::Task, t.to_string()),
        Visibility::Agent(a) => (pb::ScopeLevel::Agent, a.to_string()),
    };
    pb::Scope { level: level as i32, id }
}

/// A scope that must be stated.
pub fn scope_from_proto(tenant: &TenantId, scope: Option<pb::Scope>) -> Result<Scope, Invalid> {
    stated(tenant, scope)?.ok_or_else(|| Invalid::new("scope", "is required"))
}

/// The stated scope; without one, the user's own when there is a user, else the whole tenant.
pub fn scope_or_default(
    tenant: &TenantId,
    scope: Option<pb::Scope>,
    user: Option<&UserId>,
) -> Result<Scope, Invalid> {
    let default = || user.cloned().map_or(Visibility::Tenant, Visibility::User);
    Ok(stated(tenant, scope)?.unwrap_or_else(|| Scope::new(tenant.clone(), default())))
}

fn stated(tenant: &TenantId, scope: Option<pb::Scope>) -> Result<Option<Scope>, Invalid> {
    let Some(pb::Scope { level, id }) = scope else { return Ok(None) };
    let Ok(level) = pb::ScopeLevel::try_from(level) else {
        return Err(Invalid::new("scope.level", format!("{level} is not a value of this enum")));
    };
    let named = |e: Invalid| Invalid::new("scope.id", e.fields[0].problem.clone());
    let visibility = match level {
        pb::ScopeLevel::Unspecified if id.is_empty() => return Ok(None),
        pb::ScopeLevel::Unspecified => {
            return Err(Invalid::new("scope.level", "is required when scope.id is given"));
        }
        pb::ScopeLevel::Tenant if !id.is_empty() => {
            return Err(Invalid::new(
                "scope.id",
                "must be empty for TENANT; the credential names the tenant",
            ));
        }
        pb::ScopeLevel::Tenant => Visibility::Tenant,
        pb::ScopeLevel::User => Visibility::User(UserId::new(id).map_err(named)?),
        pb::ScopeLevel::Task => Visibility::Task(TaskType::new(id).map_err(named)?),
        pb::ScopeLevel::Agent => Visibility::Agent(AgentId::new(id).map_err(named)?),
    };
    Ok(Some(Scope::new(tenant.clone(), visibility)))
}

/// An optional identifier: empty means absent.
pub(crate) fn optional<T>(
    value: String,
    new: impl FnOnce(String) -> Result<T, Invalid>,
) -> Result<Option<T>, Invalid> {
    if value.is_empty() { Ok(None) } else { new(value).map(Some) }
}

pub(crate) fn text<T: ToString>(value: Option<&T>) -> String {
    value.map(T::to_string).unwrap_or_default()
}
