use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, Read as _, Write},
    path::Path,
};

use flate2::{Compression, write::GzEncoder};
use hindsight_types::Timestamp;
use hindsight_wiring::{Failure, code};
use sha2::{Digest as _, Sha256};

use super::{Entry, MANIFEST, Manifest, hex};

/// Say who holds the directory, not what is in it.
const LEFT_OUT: [&str; 3] = ["lock", "serve.json", "serve.json.new"];

/// Writes what is in `dir`, which nobody else may write to meanwhile, to `file`, which must not be there. It is there
/// whole or not at all.
pub(crate) fn pack(dir: &Path, file: &Path, now: Timestamp) -> Result<Manifest, Failure> {
    if file.exists() {
        let problem = format!("{}: is there already; name another file", file.display());
        return Err(Failure::new(code::USAGE, problem));
    }
    let failed = |e: io::Error| Failure::new(code::IO, format!("{}: {e}", file.display()));
    let mut draft = file.as_os_str().to_owned();
    draft.push(".part");
    let draft = Path::new(&draft);
    let manifest = Manifest::new(entries(dir)?, now);
    let written = write(dir, draft, &manifest).and_then(|()| fs::rename(draft, file));
    if let Err(error) = written {
        // It may not have come that far.
        let _ = fs::remove_file(draft);
        return Err(failed(error));
    }
    Ok(manifest)
}

fn entries(dir: &Path) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |e: io::Error| Failure::new(code::IO, format!("{}: {e}", folder.display()));
        for found in fs::read_dir(&folder).map_err(failed)? {
            let found = found.map_err(failed)?;
            let (path, kind) = (found.path(), found.file_type().map_err(failed)?);
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                entries.extend(entry(dir, &path)?);
            } else {
                let problem = format!("{}: is neither a file nor a folder; take it away", path.display());
                return Err(Failure::new(code::DATA, problem));
            }
        }
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

fn entry(dir: &Path, path: &Path) -> Result<Option<Entry>, Failure> {
    let below = path.strip_prefix(dir).map_err(|e| Failure::new(code::INTERNAL, e))?;
    let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
    let name = parts.map(|parts| parts.join("/")).ok_or_else(|| {
        Failure::new(code::DATA, format!("{}: its name is not UTF-8; take it away", path.display()))
    })?;
    if LEFT_OUT.contains(&name.as_str()) {
        return Ok(None);
    }
    let failed = |e: io::Error| Failure::new(code::IO, format!("{}: {e}", path.display()));
    let mut input = BufReader::new(File::open(path).map_err(failed)?);
    let (mut digest, mut bytes, mut block) = (Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        let read = input.read(&mut block).map_err(failed)?;
        if read == 0 {
            return Ok(Some(Entry { path: name, bytes, sha256: hex(digest) }));
        }
        digest.update(&block[..read]);
        bytes += read as u64;
    }
}

fn write(dir: &Path, draft: &Path, manifest: &Manifest) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    // Everything that is known stands in it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // The engine's files are large and nearly empty.
    let packed = GzEncoder::new(BufWriter::new(options.open(draft)?), Compression::fast());
    let mut archive = tar::Builder::new(packed);
    let text = serde_json::to_vec_pretty(manifest)?;
    archive.append_data(&mut header(text.len() as u64), MANIFEST, text.as_slice())?;
    for entry in &manifest.files {
        let input = File::open(dir.join(&entry.path))?;
        archive.append_data(&mut header(entry.bytes), &entry.path, input.take(entry.bytes))?;
    }
    let mut output = archive.into_inner()?.finish()?;
    output.flush()?;
    output.get_ref().sync_all()
}

fn header(bytes: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(0o600);
    header
}
