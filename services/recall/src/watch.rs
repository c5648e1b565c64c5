//! `Watch`: the memory that speaks up. The policy is `hindsight_rank::watch`; here are the stream, what it asks the
//! store, and the receipts of what was said and withheld.

mod answer;
mod call;
mod event;
mod receipt;
mod session;
mod settings;
mod streams;

pub(crate) use answer::recalled;
pub(crate) use call::signs;
pub use settings::WatchSettings;
pub(crate) use streams::Streams;
