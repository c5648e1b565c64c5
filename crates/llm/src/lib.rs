//! Language models behind [`ports::Llm`](hindsight_ports::Llm): any OpenAI-compatible endpoint, and
//! Anthropic's Messages.
//!
//! What keeps them affordable and out of the way is one decorator each: [`Cached`], [`Budgeted`],
//! [`Failover`], [`Breaker`], [`Retrying`], [`Limited`]. [`build`] puts them together, in that order from the
//! outside in; the last three once per endpoint. [`Recorded`] answers from a file of earlier replies.

mod anthropic;
mod assemble;
mod breaker;
mod budgeted;
mod cached;
mod endpoint;
mod failover;
mod hash;
mod json;
mod limited;
mod openai;
mod recorded;
mod retrying;
mod settings;
#[cfg(test)]
mod testing;
mod tokens;

pub use assemble::{OnBreaker, build};
pub use breaker::Breaker;
pub use budgeted::Budgeted;
pub use cached::Cached;
pub use failover::Failover;
pub use hash::prompt_hash;
pub use limited::Limited;
pub use recorded::Recorded;
pub use retrying::Retrying;
pub use settings::{EndpointSettings, LlmSettings, MAX_ENDPOINTS, Prices, Provider};
