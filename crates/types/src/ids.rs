use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Invalid, Timestamp, limits};

/// Namespace of every UUIDv5 that Hindsight derives: UUIDv5(DNS, "hindsight").
const NAMESPACE: Uuid = Uuid::from_u128(0x7d6b_8a42_9f0e_5c1b_8d37_4e5a_6f2c_9b10);

/// UUIDv5 of parts, each with its length before it so that `("ab","c")` and `("a","bc")` differ.
pub(crate) fn derive(kind: &str, parts: &[&str]) -> Uuid {
    let mut name = String::from(kind);
    for p in parts {
        name.push_str(&format!("\u{1f}{}\u{1f}{p}", p.len()));
    }
    Uuid::new_v5(&NAMESPACE, name.as_bytes())
}

fn check_id(field: &str, value: &str) -> Result<(), Invalid> {
    let problem = if value.is_empty() {
        "is required".to_owned()
    } else if value.len() > limits::ID_BYTES {
        format!("is {} bytes long; at most {} are accepted", value.len(), limits::ID_BYTES)
    } else if value.chars().any(char::is_control) {
        "contains control characters; remove them".to_owned()
    } else if value.trim() != value {
        "begins or ends with white space; trim it".to_owned()
    } else {
        return Ok(());
    };
    Err(Invalid::new(field, problem))
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $field:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            pub fn new(value: impl Into<String>) -> Result<Self, Invalid> {
                let value = value.into();
                check_id($field, &value)?;
                Ok(Self(value))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Invalid;
            fn try_from(value: String) -> Result<Self, Invalid> {
                Self::new(value)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    };
}

text_id!(
    /// Who owns the data. Always comes from the credential, never from a request body.
    TenantId, "tenant"
);
text_id!(
    /// The person an agent works for.
    UserId, "user"
);
text_id!(AgentId, "agent");
text_id!(SessionId, "session");
text_id!(
    /// One task from its goal to its conclusion, as the agent names it. Unique within a tenant.
    TraceId, "trace_id"
);
text_id!(TaskType, "task_type");
text_id!(
    /// One span of a trace, as OpenTelemetry names it: 16 hexadecimal digits.
    SpanId, "span_id"
);

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $field:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            pub fn parse(value: &str) -> Result<Self, Invalid> {
                Uuid::parse_str(value).map(Self).map_err(|e| Invalid::new($field, format!("is not a UUID: {e}")))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

uuid_id!(EventId, "event_id");
uuid_id!(MemoryId, "memory_id");
uuid_id!(ReceiptId, "receipt_id");
uuid_id!(EvidenceId, "evidence_id");
uuid_id!(ReevaluationId, "reevaluation_id");
uuid_id!(ForgettingId, "forgetting_id");
uuid_id!(ReviewId, "review_id");
uuid_id!(CompactionRunId, "compaction_run_id");
uuid_id!(CompactionTaskId, "compaction_task_id");

impl EventId {
    /// The id of an event that came without one: the same event sent twice gets the same id.
    pub fn derived(tenant: &TenantId, trace: &TraceId, natural_key: &str) -> Self {
        Self(derive("event", &[tenant.as_str(), trace.as_str(), natural_key]))
    }
}

impl MemoryId {
    pub fn experience(tenant: &TenantId, trace: &TraceId) -> Self {
        Self(derive("experience", &[tenant.as_str(), trace.as_str()]))
    }

    pub fn step(tenant: &TenantId, trace: &TraceId, index: u32) -> Self {
        Self(derive("step", &[tenant.as_str(), trace.as_str(), &index.to_string()]))
    }

    /// `visibility` is part of the key: what one user's runs taught must not merge with another's.
    pub fn failure_pattern(tenant: &TenantId, visibility: &str, signature: &str) -> Self {
        Self(derive("failure_pattern", &[tenant.as_str(), visibility, signature]))
    }

    pub fn lesson(tenant: &TenantId, visibility: &str, content_key: &str) -> Self {
        Self(derive("lesson", &[tenant.as_str(), visibility, content_key]))
    }

    /// The id of a memory that went to another owner and whose natural key is not known.
    #[must_use]
    pub fn moved(self, tenant: &TenantId, visibility: &str) -> Self {
        Self(derive("moved memory", &[&self.to_string(), tenant.as_str(), visibility]))
    }

    pub fn fact(tenant: &TenantId, user: &UserId, key: &str) -> Self {
        Self(derive("fact", &[tenant.as_str(), user.as_str(), key]))
    }
}

impl EvidenceId {
    pub fn of(memory: MemoryId, tenant: &TenantId, trace: &TraceId) -> Self {
        Self(derive("evidence", &[&memory.to_string(), tenant.as_str(), trace.as_str()]))
    }
}

impl ReevaluationId {
    /// The same request gets the same id.
    pub fn of_request(tenant: &TenantId, request_id: &str) -> Self {
        Self(derive("reevaluation", &[tenant.as_str(), request_id]))
    }

    /// The id of the message that asks for a page of it.
    pub fn page(self, page: u32) -> Uuid {
        derive("reevaluation page", &[&self.to_string(), &page.to_string()])
    }
}

impl ReviewId {
    /// The same request gets the same id.
    pub fn of_request(tenant: &TenantId, request_id: &str) -> Self {
        Self(derive("review", &[tenant.as_str(), request_id]))
    }
}

impl ForgettingId {
    /// The same request gets the same id.
    pub fn of_request(tenant: &TenantId, request_id: &str) -> Self {
        Self(derive("forgetting", &[tenant.as_str(), request_id]))
    }

    /// Of what arrived of a forgotten subject. `cause` tells one arrival from another.
    pub fn of_late(tenant: &TenantId, subject: &crate::Subject, at: Timestamp, cause: &str) -> Self {
        let (key, at) = (subject.key().to_string(), at.to_string());
        Self(derive("late", &[tenant.as_str(), &key, &at, cause]))
    }
}

impl ReceiptId {
    /// Receipts are not idempotent: every recall is its own event. Time-ordered (UUIDv7).
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }

    /// Chance, fixed for ever by the two ids: uniform in [0, 1), the same for the same recall and lesson, and
    /// independent between any others.
    pub fn draw(self, memory: MemoryId) -> f64 {
        const BITS: u32 = 48;
        let hash = derive("draw", &[&self.to_string(), &memory.to_string()]);
        // Below these bits stands the version of the UUID, which is no chance.
        let bits = (hash.as_u128() >> (128 - BITS)) as u64;
        bits as f64 / (1_u64 << BITS) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four standard deviations; the ids are fixed, so this never changes.
    #[test]
    fn draws_are_uniform_and_stay() {
        let receipt = |n: u128| ReceiptId(Uuid::from_u128(n));
        let lesson = MemoryId(Uuid::from_u128(7));
        let below = |share: f64| (0..10_000).filter(|n| receipt(*n).draw(lesson) < share).count();
        assert!((4_800..5_200).contains(&below(0.5)), "{}", below(0.5));
        assert!((400..600).contains(&below(0.05)), "{}", below(0.05));
        assert_eq!((below(0.0), below(1.0)), (0, 10_000));
        let other = MemoryId(Uuid::from_u128(8));
        let both = (0..10_000).filter(|n| receipt(*n).draw(lesson) < 0.5 && receipt(*n).draw(other) < 0.5);
        assert!((2_300..2_700).contains(&both.count()), "two lessons of a recall are drawn for apart");
        let stays = 0.9781278118932768;
        assert!((receipt(1).draw(lesson) - stays).abs() < 1e-12, "{}", receipt(1).draw(lesson));
    }
}
