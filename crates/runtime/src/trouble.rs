use std::sync::{Mutex, PoisonError};

/// Why a role's last attempt at its work failed; nothing while attempts succeed. What
/// [`Role::degraded`](crate::Role::degraded) answers.
#[derive(Debug, Default)]
pub struct Trouble(Mutex<Option<String>>);

impl Trouble {
    /// Notes how the last attempt ended: with a reason, or well.
    pub fn report(&self, reason: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = reason;
    }

    pub fn reason(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
