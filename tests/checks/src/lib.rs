//! What the workspace promises about its own shape. The rules are tests, so that they hold.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// A workspace member: what it is called, where it stands, which other members it links (not its tests).
#[derive(Debug, Clone)]
pub struct Member {
    pub name: String,
    pub folder: PathBuf,
    pub imports: Vec<String>,
}

/// Asked when the tests run, since what was compiled may be shared by several copies of the workspace.
pub fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| ".".into());
    Path::new(&here).join("../..")
}

/// Every member by its name without the `hindsight-` before it.
pub fn members() -> BTreeMap<String, Member> {
    ["crates", "services", "tests"]
        .iter()
        .flat_map(|area| folders(&root().join(area)))
        .filter_map(|folder| member(&folder))
        .map(|m| (m.name.clone(), m))
        .collect()
}

fn folders(area: &Path) -> Vec<PathBuf> {
    fs::read_dir(area)
        .map(|entries| entries.flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect())
        .unwrap_or_default()
}

fn member(folder: &Path) -> Option<Member> {
    let manifest: toml::Table = fs::read_to_string(folder.join("Cargo.toml")).ok()?.parse().ok()?;
    let short = |name: &str| name.strip_prefix("hindsight-").map(str::to_owned);
    let name = manifest.get("package")?.get("name")?.as_str()?;
    let name = short(name).unwrap_or_else(|| name.to_owned());
    let dependencies = manifest.get("dependencies").and_then(|d| d.as_table());
    let imports = dependencies.map(|d| d.keys().filter_map(|k| short(k)).collect()).unwrap_or_default();
    Some(Member { name, folder: folder.to_owned(), imports })
}

/// Every Rust file of the workspace with its number of lines, sorted by path.
pub fn sources() -> Vec<(PathBuf, usize)> {
    let mut all = Vec::new();
    for m in members().values() {
        collect(&m.folder, &mut all);
    }
    all.sort();
    all
}

fn collect(folder: &Path, all: &mut Vec<(PathBuf, usize)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_none_or(|n| n != "target") {
            collect(&path, all);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let lines = fs::read_to_string(&path).map_or(0, |text| text.lines().count());
            all.push((path, lines));
        }
    }
}
