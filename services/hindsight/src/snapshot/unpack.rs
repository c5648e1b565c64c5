use std::{
    fs::{self, File},
    io::{self, BufReader, Read, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use hindsight_wiring::{Failure, code};
use sha2::{Digest as _, Sha256};

use super::{Entry, MANIFEST, Manifest, hex};

/// Larger manifests are not ours.
const MANIFEST_BYTES: u64 = 256 * 1024 * 1024;

/// Brings a snapshot into `dir`, which must be empty or not there: whole, or nothing of it.
pub(crate) fn unpack(file: &Path, dir: &Path) -> Result<Manifest, Failure> {
    check_empty(dir)?;
    let beside = beside(dir)?;
    let brought = bring(file, &beside).and_then(|manifest| {
        let failed = |e: io::Error| Failure::new(code::IO, format!("{}: {e}", dir.display()));
        if dir.exists() {
            fs::remove_dir(dir).map_err(failed)?;
        }
        fs::rename(&beside, dir).map_err(failed)?;
        sync_folder(dir.parent()).map_err(failed)?;
        Ok(manifest)
    });
    if brought.is_err() {
        // It may not have come that far.
        let _ = fs::remove_dir_all(&beside);
    }
    brought
}

fn check_empty(dir: &Path) -> Result<(), Failure> {
    match fs::read_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(Failure::new(code::IO, format!("{}: {e}", dir.display()))),
        Ok(mut found) => match found.next() {
            None => Ok(()),
            Some(_) => {
                let problem =
                    format!("{}: is not empty; name an empty directory with --data-dir", dir.display());
                Err(Failure::new(code::USAGE, problem))
            }
        },
    }
}

/// Where everything is put until it is known to be right: on the same disk.
fn beside(dir: &Path) -> Result<PathBuf, Failure> {
    let dir = std::path::absolute(dir)?;
    let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else {
        return Err(Failure::new(
            code::USAGE,
            format!("{}: name a directory with --data-dir", dir.display()),
        ));
    };
    fs::create_dir_all(parent)?;
    let mut beside = name.to_owned();
    beside.push(format!(".restoring-{}", std::process::id()));
    Ok(parent.join(beside))
}

fn bring(file: &Path, to: &Path) -> Result<Manifest, Failure> {
    let wrong = |problem: String| Failure::new(code::DATA, format!("{}: {problem}", file.display()));
    let input =
        File::open(file).map_err(|e| Failure::new(code::NO_INPUT, format!("{}: {e}", file.display())))?;
    let mut archive = tar::Archive::new(GzDecoder::new(BufReader::new(input)));
    let no_archive = |e: io::Error| wrong(format!("is no snapshot, or was changed: {e}"));
    let mut entries = archive.entries().map_err(no_archive)?;
    let first = entries.next().transpose().map_err(no_archive)?;
    let manifest = first.ok_or_else(|| wrong("is empty".to_owned())).and_then(|first| {
        if first.path().ok().as_deref() != Some(Path::new(MANIFEST)) {
            return Err(wrong("is no snapshot: it does not begin with a manifest".to_owned()));
        }
        let manifest = serde_json::from_reader::<_, Manifest>(first.take(MANIFEST_BYTES));
        manifest.map_err(|e| wrong(format!("its manifest cannot be read: {e}")))
    })?;
    manifest.check().map_err(|failure| wrong(failure.message))?;
    fs::create_dir_all(to)?;
    for expected in &manifest.files {
        let entry = entries.next().transpose().map_err(no_archive)?;
        let entry = entry.ok_or_else(|| wrong(format!("breaks off before `{}`", expected.path)))?;
        if entry.path().ok().as_deref() != Some(Path::new(&expected.path))
            || !entry.header().entry_type().is_file()
        {
            return Err(wrong(format!("does not hold `{}` where its manifest says", expected.path)));
        }
        copy(entry, expected, &to.join(&expected.path)).map_err(|problem| wrong(problem.to_string()))?;
    }
    match entries.next().transpose().map_err(no_archive)? {
        Some(_) => Err(wrong("holds more than its manifest says".to_owned())),
        None => {
            sync_folder(Some(to))?;
            Ok(manifest)
        }
    }
}

fn copy(mut entry: impl Read, expected: &Entry, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut output = options.open(to)?;
    let (mut digest, mut bytes, mut block) = (Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        let read = entry.read(&mut block)?;
        if read == 0 {
            break;
        }
        digest.update(&block[..read]);
        bytes += read as u64;
        // Zeros take no place on the disk, as where they are from.
        if block[..read].iter().all(|byte| *byte == 0) {
            output.seek(SeekFrom::Start(bytes))?;
        } else {
            output.write_all(&block[..read])?;
        }
    }
    output.set_len(bytes)?;
    if bytes != expected.bytes || hex(digest) != expected.sha256 {
        let problem = format!("`{}` is not as it was written: its checksum does not fit", expected.path);
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    output.sync_all()
}

/// Makes the names in a folder durable, where the system can.
fn sync_folder(folder: Option<&Path>) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
        File::open(folder)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}
