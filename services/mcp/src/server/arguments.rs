//! The arguments of a tool or prompt; mistakes in them are told in words that a model can act on.

use std::borrow::Cow;

use rmcp::{
    ErrorData,
    handler::server::{common::FromContextPart, prompt::PromptContext, tool::ToolCallContext},
    model::JsonObject,
    schemars::{JsonSchema, Schema, SchemaGenerator},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Has to be named so: by its name the schema of a tool finds it.
#[derive(Debug)]
pub(crate) struct Parameters<P>(pub P);

impl<P: JsonSchema> JsonSchema for Parameters<P> {
    fn schema_name() -> Cow<'static, str> {
        P::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        P::json_schema(generator)
    }
}

impl<S, P: DeserializeOwned> FromContextPart<ToolCallContext<'_, S>> for Parameters<P> {
    fn from_context_part(context: &mut ToolCallContext<'_, S>) -> Result<Self, ErrorData> {
        read(context.arguments.take()).map(Self)
    }
}

impl<S, P: DeserializeOwned> FromContextPart<PromptContext<'_, S>> for Parameters<P> {
    fn from_context_part(context: &mut PromptContext<'_, S>) -> Result<Self, ErrorData> {
        read(context.arguments.take()).map(Self)
    }
}

fn read<P: DeserializeOwned>(arguments: Option<JsonObject>) -> Result<P, ErrorData> {
    let arguments = Value::Object(arguments.unwrap_or_default());
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let field = error.path().to_string();
        let problem = error.into_inner();
        // Of what is missing the problem says the name.
        let problem = if field == "." { problem.to_string() } else { format!("{field}: {problem}") };
        ErrorData::invalid_params(
            format!("{problem}; correct it as the input schema says and try again"),
            None,
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::parameters::*, *};

    fn arguments(value: Value) -> Option<JsonObject> {
        value.as_object().cloned()
    }

    #[test]
    fn a_mistake_is_told_with_its_field_and_what_to_do() {
        for (wrong, problem) in [
            (json!({"task": 5}), "task: invalid type: integer `5`, expected a string"),
            (json!({"task": "t", "environment": ["k8s", 7]}), "environment[1]: invalid type: integer `7`"),
            (json!({"task": "t", "limit": "3"}), "limit: invalid type: string \"3\", expected u32"),
            (json!({}), "missing field `task`"),
            (json!({"task": null}), "task: invalid type: null"),
            (json!({"task": "t", "tsk": "t"}), "unknown field `tsk`, expected one of `task`"),
        ] {
            let said = read::<RecallExperience>(arguments(wrong)).unwrap_err().message;
            assert!(said.contains(problem) && said.ends_with("and try again"), "{said}");
        }
        assert!(read::<BeginTask>(None).unwrap_err().message.contains("missing field `task`"));
    }

    #[test]
    fn null_stands_for_what_is_left_out() {
        let nulls = json!({"task": "t", "environment": null, "task_type": null, "user": null, "limit": null});
        assert_eq!(read::<RecallExperience>(arguments(nulls)).unwrap().environment, None);
        let nulls = json!({"user": "u", "question": "q", "recent": null, "time_zone": null, "limit": null});
        assert_eq!(read::<RecallUserMemory>(arguments(nulls)).unwrap().recent, None);
        let nulls = json!({"user": "u", "content": "c", "kind": null, "key": null, "force": null});
        assert_eq!(read::<Retain>(arguments(nulls)).unwrap().force, None);
        let nulls = json!({"receipt_id": "r", "helpful": null, "harmful": null, "used": null, "ignored": null, "outcome": null});
        assert_eq!(read::<ReportOutcome>(arguments(nulls)).unwrap().helpful, None);
        read::<Explain>(arguments(json!({"receipt_id": "r", "expected_memory_id": null}))).unwrap();
    }
}
