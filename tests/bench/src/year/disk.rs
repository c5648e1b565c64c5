use std::{fs, io, path::Path};

/// Bytes of all files below a directory. One that vanishes meanwhile counts nothing.
pub(super) fn size(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        bytes += match entry.metadata() {
            Ok(found) if found.is_dir() => size(&entry.path()).or_else(gone)?,
            Ok(found) => found.len(),
            Err(error) => gone(error)?,
        };
    }
    Ok(bytes)
}

fn gone(error: io::Error) -> io::Result<u64> {
    if error.kind() == io::ErrorKind::NotFound { Ok(0) } else { Err(error) }
}
