use std::fmt;

/// One field that does not hold what it must, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Dotted path of the field, as in `steps[3].action_name`.
    pub field: String,
    /// What is wrong and what is accepted.
    pub problem: String,
}

/// Input that was refused. Names every offending field at once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Invalid {
    pub fields: Vec<FieldError>,
}

impl Invalid {
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { fields: vec![FieldError { field: field.into(), problem: problem.into() }] }
    }

    /// Puts every field of this error below `parent`: `name` becomes `parent.name`.
    #[must_use]
    pub fn within(mut self, parent: &str) -> Self {
        for f in &mut self.fields {
            f.field = if f.field.is_empty() { parent.to_owned() } else { format!("{parent}.{}", f.field) };
        }
        self
    }

    pub fn and(mut self, other: Self) -> Self {
        self.fields.extend(other.fields);
        self
    }

    /// `Ok` when nothing was collected.
    pub fn check(fields: Vec<FieldError>) -> Result<(), Self> {
        if fields.is_empty() { Ok(()) } else { Err(Self { fields }) }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, e) in self.fields.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{}: {}", e.field, e.problem)?;
        }
        Ok(())
    }
}
