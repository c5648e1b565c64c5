//! The effect of a program that a call hands over: Python and the like, told by what it calls.

use super::{Effect, WriteKind};

/// Whether no shell command and no SQL statement has such a line.
fn is_of_program(line: &str) -> bool {
    const STARTS: [&str; 6] = ["import ", "def ", "print(", "const ", "console.log(", "try:"];
    STARTS.iter().any(|s| line.starts_with(s)) || (line.starts_with("from ") && line.contains(" import "))
}

/// Calls that change files, services or processes, and how.
const WRITES: [(&str, WriteKind); 24] = [
    ("requests.post(", WriteKind::Create),
    ("requests.put(", WriteKind::Put),
    ("requests.patch(", WriteKind::Change),
    ("requests.delete(", WriteKind::Delete),
    ("os.remove(", WriteKind::Delete),
    ("os.unlink(", WriteKind::Delete),
    (".unlink(", WriteKind::Delete),
    ("shutil.rmtree(", WriteKind::Delete),
    ("shutil.copy", WriteKind::Create),
    ("shutil.move(", WriteKind::Change),
    ("os.rename(", WriteKind::Change),
    ("os.makedirs(", WriteKind::Create),
    (".mkdir(", WriteKind::Create),
    (".write_text(", WriteKind::Put),
    (".write_bytes(", WriteKind::Put),
    (".to_csv(", WriteKind::Put),
    (".to_excel(", WriteKind::Put),
    (".to_sql(", WriteKind::Put),
    ("json.dump(", WriteKind::Put),
    ("writeFileSync(", WriteKind::Put),
    ("fs.writeFile(", WriteKind::Put),
    (".commit()", WriteKind::Change),
    ("os.kill(", WriteKind::Act),
    (".send_message(", WriteKind::Create),
];

/// `None` when the text is no such program.
pub(super) fn classify(text: &str) -> Option<Effect> {
    let program = text.lines().take(200).any(|line| is_of_program(line.trim_start()));
    if !program || !text.contains('(') {
        return None;
    }
    let write = WRITES.iter().find(|(call, _)| text.contains(call)).map(|(_, kind)| *kind);
    let write = write.or_else(|| opens_to_write(text).then_some(WriteKind::Put));
    Some(write.map_or(Effect::Read, Effect::Write))
}

/// `open(path, "w")` and the like.
fn opens_to_write(text: &str) -> bool {
    text.match_indices("open(").any(|(at, _)| {
        let call = text[at..].split(')').next().unwrap_or_default();
        ["'w", "\"w", "'a'", "\"a\"", "'x'", "\"x\""].iter().any(|mode| call.contains(mode))
    })
}
