//! What a user said, before it is kept: whether it is worth keeping, what sort of thing it is, what of a long
//! text to show. Told from the words alone, in English and Chinese, and rather kept than lost.

mod gate;
mod sort;
mod summary;
mod talk;
mod words;

pub use gate::{Trivial, gate};
pub use sort::sort;
pub use summary::summarise;
