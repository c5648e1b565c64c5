//! When the memory speaks up by itself.
//!
//! One [`Watch`] per task, told of each event in turn. It says what to look for, is handed what was found, and
//! decides what is said: within a budget, not too often, nothing twice, nothing of another user. No I/O and no
//! clock of its own.
//!
//! ```text
//! event ──on──▶ Silent(why)
//!            ├▶ Compare          known failures like the call ──compared──▶ a warning, or why not
//!            └▶ Search(question) what a recall ranked ──────────found─────▶ a reminder, or why not
//! ```

mod arguments;
mod calls;
mod intent;
mod policy;
mod said;
mod stream;
mod warning;

pub use arguments::{arguments, completed, kept};
pub use calls::{Known, Likeness, Patterns, Signs, times};
pub use intent::asks;
pub use policy::Policy;
pub use said::Said;
pub use stream::{Event, Found, Hush, Moment, Next, Question, Refusal, Spoken, Verdict, Watch};
pub use warning::Warning;
