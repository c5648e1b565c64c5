use hindsight_ports::LlmRequest;

/// How the shape of an answer is asked for, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Format {
    /// The server holds the model to the schema.
    #[default]
    JsonSchema,
    /// The server holds the model to JSON, the prompt to the schema.
    JsonObject,
    /// The prompt alone.
    Prompt,
}

/// Which features of the protocol a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) format: Format,
    /// OpenAI's reasoning models want `max_completion_tokens` in place of `max_tokens`.
    pub(super) completion_tokens: bool,
    pub(super) temperature: bool,
    pub(super) seed: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { format: Format::default(), completion_tokens: false, temperature: true, seed: true }
    }
}

impl Dialect {
    /// The next way to ask after a refusal in words (`why`), or after an answer that was no JSON. `None` when
    /// there is nothing left to give up.
    pub(super) fn simpler(self, request: &LlmRequest, why: Option<&str>) -> Option<Self> {
        let why = why.unwrap_or_default();
        let format = match self.format {
            Format::JsonSchema => Some(Format::JsonObject),
            Format::JsonObject => Some(Format::Prompt),
            Format::Prompt => None,
        };
        if !self.completion_tokens && why.contains("max_completion_tokens") {
            Some(Self { completion_tokens: true, ..self })
        } else if self.temperature && why.contains("temperature") {
            Some(Self { temperature: false, ..self })
        } else if self.seed && request.seed.is_some() && why.contains("seed") {
            Some(Self { seed: false, ..self })
        } else {
            // Servers find too many words for this one, so any refusal may mean it.
            format.filter(|_| request.schema.is_some()).map(|format| Self { format, ..self })
        }
    }
}
