use std::{fs, io, os::unix::fs::MetadataExt as _, path::Path};

/// In which [`MetadataExt::blocks`](std::os::unix::fs::MetadataExt::blocks) counts.
const BLOCK: u64 = 512;

/// Bytes that all files below a directory take on the disk, as `du` counts them: the engine's are made longer than what
/// is in them. A file that vanishes meanwhile counts nothing.
pub(super) fn size(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        bytes += match entry.metadata() {
            Ok(found) if found.is_dir() => size(&entry.path()).or_else(gone)?,
            Ok(found) => found.blocks() * BLOCK,
            Err(error) => gone(error)?,
        };
    }
    Ok(bytes)
}

fn gone(error: io::Error) -> io::Result<u64> {
    if error.kind() == io::ErrorKind::NotFound { Ok(0) } else { Err(error) }
}
