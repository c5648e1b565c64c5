//! The effect of a program that a call hands over: Python and the like, told by what it calls.

use super::{Effect, WriteKind};

/// Beginnings of lines that no shell command and no SQL statement has.
const STARTS: [&str; 10] =
    ["import ", "from ", "def ", "class ", "print(", "const ", "let ", "for ", "try:", "with "];

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
    let mut lines = text.lines().map(str::trim_start);
    let starts = lines.by_ref().take(200).filter(|l| STARTS.iter().any(|s| l.starts_with(s))).count();
    let called = text.contains('(') && text.contains(')');
    if starts == 0 || !called || text.trim_start().starts_with("for i in $") {
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
