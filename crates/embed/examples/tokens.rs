//! The tokens of texts, for the script that makes the static table: one JSON string per line in, one list of
//! `[token, kind]` per line out.

use std::io::{BufRead, Write};

use hindsight_text::tokenize;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let text: String = serde_json::from_str(&line?)?;
        let tokens: Vec<(String, String)> =
            tokenize(&text).into_iter().map(|token| (token.text, format!("{:?}", token.kind))).collect();
        serde_json::to_writer(&mut out, &tokens)?;
        writeln!(out)?;
    }
    Ok(())
}
