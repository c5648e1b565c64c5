use serde::{Deserialize, Serialize};

use crate::{AgentId, Invalid, TaskType, TenantId, UserId};

/// Who may see a record, within its tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Visibility {
    /// Everyone in the tenant.
    Tenant,
    /// All sessions of one user, nobody else.
    User(UserId),
    /// Runs of one task type.
    Task(TaskType),
    /// One agent.
    Agent(AgentId),
}

impl Visibility {
    /// The keyword under which it is indexed: `tenant`, `user:U`, `task:T`, `agent:A`.
    pub fn keyword(&self) -> String {
        match self {
            Self::Tenant => "tenant".to_owned(),
            Self::User(u) => format!("user:{u}"),
            Self::Task(t) => format!("task:{t}"),
            Self::Agent(a) => format!("agent:{a}"),
        }
    }

    pub fn parse(keyword: &str) -> Result<Self, Invalid> {
        match keyword.split_once(':') {
            None if keyword == "tenant" => Ok(Self::Tenant),
            Some(("user", u)) => Ok(Self::User(UserId::new(u)?)),
            Some(("task", t)) => Ok(Self::Task(TaskType::new(t)?)),
            Some(("agent", a)) => Ok(Self::Agent(AgentId::new(a)?)),
            _ => {
                Err(Invalid::new("visibility", format!("`{keyword}` is not tenant, user:, task: or agent:")))
            }
        }
    }
}

/// Where a record belongs. Every record has one; nothing is stored without it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Scope {
    pub tenant: TenantId,
    pub visibility: Visibility,
}

impl Scope {
    pub fn new(tenant: TenantId, visibility: Visibility) -> Self {
        Self { tenant, visibility }
    }

    pub fn user(&self) -> Option<&UserId> {
        match &self.visibility {
            Visibility::User(u) => Some(u),
            _ => None,
        }
    }
}

/// On whose behalf something is read. The store answers only to a viewer, so a query without a scope
/// cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Viewer {
    pub tenant: TenantId,
    pub user: Option<UserId>,
    pub agent: Option<AgentId>,
    pub task_type: Option<TaskType>,
}

impl Viewer {
    pub fn of_tenant(tenant: TenantId) -> Self {
        Self { tenant, user: None, agent: None, task_type: None }
    }

    /// Who sees what is in this scope.
    pub fn of_scope(scope: &Scope) -> Self {
        let viewer = Self::of_tenant(scope.tenant.clone());
        match scope.visibility.clone() {
            Visibility::Tenant => viewer,
            Visibility::User(u) => viewer.with_user(Some(u)),
            Visibility::Agent(a) => viewer.with_agent(Some(a)),
            Visibility::Task(t) => viewer.with_task_type(Some(t)),
        }
    }

    #[must_use]
    pub fn with_user(mut self, user: Option<UserId>) -> Self {
        self.user = user;
        self
    }

    #[must_use]
    pub fn with_agent(mut self, agent: Option<AgentId>) -> Self {
        self.agent = agent;
        self
    }

    #[must_use]
    pub fn with_task_type(mut self, task_type: Option<TaskType>) -> Self {
        self.task_type = task_type;
        self
    }

    /// Every visibility this viewer may read. The one place where the rule is written.
    pub fn visibilities(&self) -> Vec<Visibility> {
        let mut all = vec![Visibility::Tenant];
        all.extend(self.user.clone().map(Visibility::User));
        all.extend(self.task_type.clone().map(Visibility::Task));
        all.extend(self.agent.clone().map(Visibility::Agent));
        all
    }

    pub fn may_see(&self, scope: &Scope) -> bool {
        self.tenant == scope.tenant && self.visibilities().contains(&scope.visibility)
    }
}
