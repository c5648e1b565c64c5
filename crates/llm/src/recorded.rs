use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use hindsight_ports::{Llm, LlmError, LlmReply, LlmRequest, LlmUsage};
use serde::{Deserialize, Serialize};

use crate::prompt_hash;

/// Longest recording, in bytes.
const MAX_FILE: u64 = 256 << 20;

/// Answers from a file of what a model said before, one JSON object a line, found by the hash of the prompt.
/// With a live model what is not there is asked and added, so that a recording that was broken off goes on.
/// Prompts are not written, only what came back.
pub struct Recorded {
    model: String,
    known: Mutex<HashMap<String, Line>>,
    live: Option<(Arc<dyn Llm>, Mutex<File>)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    prompt: String,
    model: String,
    end: End,
    text: String,
    input_tokens: u64,
    output_tokens: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum End {
    Complete,
    Truncated,
    Malformed,
    Declined,
}

impl std::fmt::Debug for Recorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorded").field("model", &self.model).finish_non_exhaustive()
    }
}

impl Recorded {
    /// Answers from the file alone.
    pub fn replay(path: &Path) -> io::Result<Self> {
        let (known, _) = read(path)?;
        let model = known.values().next().map_or("recorded", |line| line.model.as_str()).to_owned();
        Ok(Self { model, known: Mutex::new(known), live: None })
    }

    /// Adds to the file what is not in it yet.
    pub fn record(path: &Path, live: Arc<dyn Llm>) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let (known, whole) = read(path)?;
        file.set_len(whole)?;
        Ok(Self {
            model: live.model().to_owned(),
            known: Mutex::new(known),
            live: Some((live, Mutex::new(file))),
        })
    }

    fn find(&self, prompt: &str) -> Option<Line> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(prompt).cloned()
    }
}

/// The lines of a file and their length. A recording that was broken off may end within a line, which is left
/// out.
fn read(path: &Path) -> io::Result<(HashMap<String, Line>, u64)> {
    let mut text = String::new();
    File::open(path)?.take(MAX_FILE).read_to_string(&mut text)?;
    let whole = text.rfind('\n').map_or("", |at| &text[..=at]);
    let mut known = HashMap::new();
    for (i, line) in whole.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line: Line = serde_json::from_str(line).map_err(|error| {
            let problem = format!("{}, line {}: {error}", path.display(), i + 1);
            io::Error::new(io::ErrorKind::InvalidData, problem)
        })?;
        known.insert(line.prompt.clone(), line);
    }
    Ok((known, whole.len() as u64))
}

impl Line {
    /// What is worth keeping: whatever the model itself did. That it was away is not.
    fn of(prompt: String, model: &str, result: &Result<LlmReply, LlmError>) -> Option<Self> {
        let (end, text, model, usage) = match result {
            Ok(reply) => (End::Complete, &reply.text, reply.model.as_str(), reply.usage),
            Err(LlmError::Truncated { text, usage, .. }) => (End::Truncated, text, model, *usage),
            Err(LlmError::Malformed { reason, usage }) => (End::Malformed, reason, model, *usage),
            Err(LlmError::Declined { reason }) => (End::Declined, reason, model, LlmUsage::default()),
            Err(_) => return None,
        };
        let LlmUsage { input_tokens, output_tokens, cost_micros: _ } = usage;
        let (model, text) = (model.to_owned(), text.clone());
        Some(Self { prompt, model, end, text, input_tokens, output_tokens })
    }

    /// As it came, free of cost.
    fn again(self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        let Self { prompt: _, model, end, text, input_tokens, output_tokens } = self;
        let usage = LlmUsage { input_tokens, output_tokens, cost_micros: 0 };
        match end {
            End::Complete => Ok(LlmReply { text, model, usage, cached: true }),
            End::Truncated => {
                Err(LlmError::Truncated { text, max_output_tokens: request.max_output_tokens, usage })
            }
            End::Malformed => Err(LlmError::Malformed { reason: text, usage }),
            End::Declined => Err(LlmError::Declined { reason: text }),
        }
    }
}

#[async_trait]
impl Llm for Recorded {
    fn model(&self) -> &str {
        &self.model
    }

    async fn complete(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        let prompt = prompt_hash(request);
        if let Some(line) = self.find(&prompt) {
            return line.again(request);
        }
        let Some((live, file)) = &self.live else {
            let reason = format!("the recording has no answer to prompt {prompt}; record it anew");
            return Err(LlmError::InvalidRequest { reason });
        };
        let result = live.complete(request).await;
        if let Some(line) = Line::of(prompt.clone(), live.model(), &result) {
            append(file, &line).map_err(|e| LlmError::Misconfigured {
                reason: format!("the recording cannot be written: {e}"),
            })?;
            self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(prompt, line);
        }
        result
    }
}

fn append(file: &Mutex<File>, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    file.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use hindsight_ports::testkit::llm::{ScriptedLlm, reply};

    use super::*;
    use crate::tokens::tests::request;

    #[tokio::test]
    async fn what_was_recorded_comes_again_without_a_model() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("recording.jsonl");
        let usage = LlmUsage { input_tokens: 7, output_tokens: 100, cost_micros: 0 };
        let cut = LlmError::Truncated { text: "{\"步".into(), max_output_tokens: 100, usage };
        let away = LlmError::Unavailable { reason: "away".into(), retry_after: None };
        let script = [Ok(reply("第一\n行")), Err(cut.clone()), Err(away.clone())];
        let live = Recorded::record(&path, Arc::new(ScriptedLlm::new(script))).unwrap();
        let asks = ["a", "b", "c"].map(|user| request("s", user));
        live.complete(&asks[0]).await.unwrap();
        assert_eq!(live.complete(&asks[1]).await, Err(cut.clone()));
        assert_eq!(live.complete(&asks[2]).await, Err(away));
        assert!(live.complete(&asks[0]).await.unwrap().cached, "asked once");

        // A run that was broken off within a line goes on.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"prompt\": \"x").unwrap();
        let replay = Recorded::replay(&path).unwrap();
        assert_eq!(replay.complete(&asks[0]).await, Ok(LlmReply { cached: true, ..reply("第一\n行") }));
        assert_eq!(replay.complete(&asks[1]).await, Err(cut));
        let error = replay.complete(&asks[2]).await.unwrap_err().to_string();
        assert!(error.contains(&prompt_hash(&asks[2])), "{error}");
        assert_eq!(replay.model(), "scripted");
    }

    #[tokio::test]
    async fn a_broken_off_recording_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("recording.jsonl");
        std::fs::write(&path, "{\"prompt\": \"x").unwrap();
        for _ in 0..2 {
            let live = Recorded::record(&path, Arc::new(ScriptedLlm::saying(["ok"]))).unwrap();
            assert_eq!(live.complete(&request("s", "u")).await.unwrap().text, "ok");
        }
    }

    #[test]
    fn a_broken_recording_names_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("recording.jsonl");
        std::fs::write(&path, "\n{}\n").unwrap();
        let error = Recorded::replay(&path).unwrap_err().to_string();
        assert!(error.contains("recording.jsonl, line 2"), "{error}");
        assert!(Recorded::replay(&dir.path().join("none")).is_err());
    }
}
