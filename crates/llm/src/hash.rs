use hindsight_ports::LlmRequest;
use sha2::{Digest as _, Sha256};

/// SHA-256, in hex, of everything in a request that can change the answer. Not the tenant, nor the model.
pub fn prompt_hash(request: &LlmRequest) -> String {
    // Named one by one, so that a new field cannot be forgotten.
    let LlmRequest { tenant: _, system, user, schema, max_output_tokens, temperature, seed } = request;
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(system.as_bytes());
    part(user.as_bytes());
    match schema {
        Some(schema) => {
            part(schema.name.as_bytes());
            part(schema.schema.to_string().as_bytes());
        }
        None => part(&[]),
    }
    part(&max_output_tokens.to_le_bytes());
    part(&temperature.to_le_bytes());
    match seed {
        Some(seed) => part(&seed.to_le_bytes()),
        None => part(&[]),
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use hindsight_ports::JsonSchema;
    use hindsight_types::TenantId;
    use serde_json::json;

    use super::*;
    use crate::tokens::tests::request;

    #[test]
    fn whatever_can_change_the_answer_changes_the_hash() {
        let base = request("sys", "user");
        let schema = |name: &str, schema| Some(JsonSchema { name: name.to_owned(), schema });
        let all = [
            base.clone(),
            request("sysu", "ser"),
            request("sys", "用户"),
            LlmRequest { schema: schema("a", json!({})), ..base.clone() },
            LlmRequest { schema: schema("b", json!({})), ..base.clone() },
            LlmRequest { schema: schema("a", json!({"type": "object"})), ..base.clone() },
            LlmRequest { max_output_tokens: 1, ..base.clone() },
            LlmRequest { temperature: 0.5, ..base.clone() },
            LlmRequest { seed: Some(0), ..base.clone() },
            LlmRequest { seed: Some(1), ..base.clone() },
        ];
        let hashes: HashSet<_> = all.iter().map(prompt_hash).collect();
        assert_eq!(hashes.len(), all.len());
        let other = LlmRequest { tenant: TenantId::new("other").unwrap(), ..base.clone() };
        assert_eq!(prompt_hash(&other), prompt_hash(&base), "a recording serves every tenant");
    }
}
