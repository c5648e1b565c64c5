use std::fmt;

/// A server's version, as far as features depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    major: u32,
    minor: u32,
}

impl Version {
    /// The first whose upserts know `update_filter`. Older servers do not refuse the field, they ignore it, and
    /// of two writers who compare and swap the slower would overwrite the faster.
    pub(crate) const CONDITIONAL_UPSERTS: Self = Self { major: 1, minor: 16 };
    /// The first whose upserts know `update_mode`, which older ones ignore too.
    pub(crate) const UPDATE_MODES: Self = Self { major: 1, minor: 17 };
    /// The first that adds named vectors to collections that are there.
    pub(crate) const VECTOR_NAMES: Self = Self { major: 1, minor: 18 };

    /// Reads `1.19.0`, `1.19`, `v1.19.0-dev`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().trim_start_matches('v').split(['.', '-', '+']);
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?.parse().ok()?;
        Some(Self { major, minor })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests;
