//! Where a run took place and with what, from the attributes of spans and of what sent them.

use hindsight_types::{Environment, SpanRole, limits};

use super::{
    Attributes,
    value::{count, text, words},
};

/// Attributes of a resource that say where a run took place.
const PLACES: [&str; 11] = [
    "service.",
    "deployment.",
    "os.",
    "host.arch",
    "host.type",
    "cloud.",
    "k8s.",
    "container.image.",
    "process.runtime.name",
    "process.runtime.version",
    "telemetry.sdk.language",
];
/// Longest value that is kept.
const VALUE_BYTES: usize = 1024;

/// Tokens that the calls of models took, to be summed up over a run.
pub(super) const TOKENS: [&str; 2] = ["input_tokens", "output_tokens"];
/// The models of a run.
pub(super) const MODEL: &str = "model";

pub(super) fn of(role: SpanRole, resource: &Attributes, attributes: &Attributes) -> Environment {
    match role {
        SpanRole::Agent | SpanRole::Root => place(resource),
        SpanRole::Model => model(attributes),
        SpanRole::Tool => Environment::default(),
    }
}

fn place(resource: &Attributes) -> Environment {
    let mut environment = Environment::default();
    let said = resource.keys().filter(|key| PLACES.iter().any(|place| key.starts_with(place)));
    for key in said.filter(|k| k.len() <= limits::ID_BYTES).take(limits::TAGS / 2) {
        if let Some(value) = words(resource, &[key]) {
            let cut = value.floor_char_boundary(VALUE_BYTES);
            environment.attributes.insert(key.clone(), value[..cut].to_owned());
        }
    }
    let has = |prefix: &str| resource.keys().any(|k| k.starts_with(prefix));
    if has("k8s.") {
        environment.tags.push("k8s".to_owned());
    } else if has("container.") {
        environment.tags.push("docker".to_owned());
    }
    let cloud = match text(resource, &["cloud.provider"]) {
        Some("alibaba_cloud") => Some("aliyun"),
        Some("tencent_cloud") => Some("tencent-cloud"),
        Some(known @ ("aws" | "gcp" | "azure")) => Some(known),
        _ => None,
    };
    environment.tags.extend(cloud.map(str::to_owned));
    environment
}

fn model(attributes: &Attributes) -> Environment {
    let mut environment = Environment::default();
    let models =
        ["gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "llm.response.model_name"];
    if let Some(model) = text(attributes, &models) {
        let cut = model.floor_char_boundary(limits::ID_BYTES);
        environment.attributes.insert(MODEL.to_owned(), model[..cut].to_owned());
    }
    let usage = [
        ["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"],
        ["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"],
    ];
    for (name, keys) in TOKENS.iter().zip(usage) {
        if let Some(tokens) = count(attributes, &keys) {
            environment.attributes.insert((*name).to_owned(), tokens.to_string());
        }
    }
    environment
}
