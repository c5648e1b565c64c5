use std::fmt;

/// One thing that is wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Dotted path of the key: `auth.keys[0].hash`.
    pub key: String,
    /// Which layer it was found in: a file, an environment variable, a flag.
    pub origin: String,
    /// What is wrong and what to do.
    pub problem: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.key.as_str(), self.origin.as_str()) {
            ("", origin) => write!(f, "{origin}: {}", self.problem),
            (key, "") => write!(f, "{key}: {}", self.problem),
            (key, origin) => write!(f, "{key} ({origin}): {}", self.problem),
        }
    }
}

/// All of them, never none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Mistakes(pub Vec<Mistake>);

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the settings cannot be used:")?;
        self.0.iter().try_for_each(|m| write!(f, "\n  {m}"))
    }
}
