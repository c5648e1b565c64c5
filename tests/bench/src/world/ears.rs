use super::advice::Advice;

/// Whoever hears of each call of an agent as it happens, and may say something to it.
pub(crate) trait Ears {
    /// A command that changes something is about to be run.
    fn before(&mut self, command: &str) -> Vec<Advice>;
    /// A command failed, or a look found trouble.
    fn after(&mut self, command: &str, output: &str) -> Vec<Advice>;
}

/// Nobody.
pub(crate) struct Deaf;

impl Ears for Deaf {
    fn before(&mut self, _: &str) -> Vec<Advice> {
        Vec::new()
    }

    fn after(&mut self, _: &str, _: &str) -> Vec<Advice> {
        Vec::new()
    }
}
