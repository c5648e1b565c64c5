use std::{io::BufReader, path::Path};

use hindsight_proto::memory::v1::{ExportHeader, export_line::Line};
use hindsight_wiring::{Failure, code};

use super::open;
use crate::exported::Lines;

/// A file in which nothing is missing and nothing was changed.
pub(super) struct Checked {
    pub(super) header: ExportHeader,
    pub(super) records: u64,
    /// The lines at which its checkpoints stand, with their checksums.
    pub(super) checkpoints: Vec<(u64, String)>,
}

pub(super) fn file(path: &Path) -> Result<Checked, Failure> {
    let name = path.display();
    let wrong = |line: u64, problem: &str| Failure::new(code::DATA, format!("{name}:{line}: {problem}"));
    let mut lines = Lines::new(BufReader::new(open(path)?));
    let (mut header, mut records, mut checkpoints) = (None, 0, Vec::new());
    loop {
        let Some(line) = lines.next()? else {
            let problem = "the file is not finished: go on with `hindsight export --resume`";
            return Err(wrong(lines.number + 1, problem));
        };
        let number = lines.number;
        match line.map_err(|broken| wrong(broken.line, &broken.problem))? {
            Line::Header(found) if number == 1 => header = Some(found),
            Line::Record(_) if header.is_some() => records += 1,
            Line::Checkpoint(at) if header.is_some() => {
                if at.records != records || lines.before.digest() != at.sha256 {
                    return Err(wrong(number, "the checkpoint is not of the lines before it"));
                }
                checkpoints.push((number, at.sha256));
            }
            Line::End(end) if header.is_some() => {
                if end.records != records || lines.before.digest() != end.sha256 {
                    return Err(wrong(number, "the end is not of the lines before it"));
                }
                break;
            }
            _ => return Err(wrong(number, "is out of place: a header begins the file, and there is one")),
        }
    }
    if lines.next()?.is_some() {
        return Err(wrong(lines.number + 1, "there is more after the end"));
    }
    let header = header.ok_or_else(|| wrong(1, "there is no header"))?;
    Ok(Checked { header, records, checkpoints })
}
