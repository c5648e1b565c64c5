use std::{collections::BTreeMap, fs, path::PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn data(root: &TempDir) -> PathBuf {
    let dir = root.path().join("data");
    fs::create_dir_all(dir.join("facts/segments")).unwrap();
    for (name, bytes) in [
        ("lock", Vec::new()),
        ("serve.json", b"{}".to_vec()),
        ("bus.db", vec![7; 100_000]),
        ("facts/一", b"tea".to_vec()),
        ("facts/hole", [vec![1; 10], vec![0; 300_000]].concat()),
        ("facts/segments/lock", b"the engine's own".to_vec()),
    ] {
        fs::write(dir.join(name), bytes).unwrap();
    }
    dir
}

fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

fn below(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    files(dir).into_iter().map(|(path, bytes)| (path.strip_prefix(dir).unwrap().to_owned(), bytes)).collect()
}

#[test]
fn what_is_packed_is_unpacked() {
    let root = TempDir::new().unwrap();
    let dir = data(&root);
    let file = root.path().join("snapshot.tar.gz");
    let manifest = pack(&dir, &file, NOW).unwrap();
    assert_eq!((manifest.files(), manifest.bytes()), (4, 100_000 + 3 + 300_010 + 16));
    assert_eq!(pack(&dir, &file, NOW).unwrap_err().code, code::USAGE, "nothing is overwritten");

    let other = root.path().join("other");
    assert_eq!(unpack(&file, &other).unwrap(), manifest);
    let mut expected = below(&dir);
    expected.retain(|path, _| path != Path::new("lock") && path != Path::new("serve.json"));
    assert_eq!(below(&other), expected);

    let empty = root.path().join("empty");
    fs::create_dir(&empty).unwrap();
    unpack(&file, &empty).unwrap();
    assert_eq!(below(&empty), expected);
    assert_eq!(unpack(&file, &empty).unwrap_err().code, code::USAGE, "only an empty one is filled");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 4, "nothing is left beside them");
}

#[test]
fn a_snapshot_reaches_nothing_outside_of_its_directory() {
    for path in ["../x", "/etc/x", "a/../../x", "", "./x"] {
        assert!(!is_below(path), "{path}");
    }
    for path in ["x", "a/b", "…/x"] {
        assert!(is_below(path), "{path}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn a_changed_snapshot_restores_nothing_wrong(at in 0_usize..4_096, bit in 0_u8..8, cut in any::<bool>()) {
        let root = TempDir::new().unwrap();
        let dir = data(&root);
        fs::write(dir.join("bus.db"), b"short").unwrap();
        let file = root.path().join("snapshot.tar.gz");
        pack(&dir, &file, NOW).unwrap();
        let mut bytes = fs::read(&file).unwrap();
        let at = at % bytes.len();
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 1 << bit;
        }
        fs::write(&file, bytes).unwrap();
        let other = root.path().join("other");
        let mut expected = below(&dir);
        expected.retain(|path, _| path != Path::new("lock") && path != Path::new("serve.json"));
        // What does not matter may change: padding, the mode of an entry, the time in the manifest.
        match unpack(&file, &other) {
            Ok(_) => prop_assert_eq!(below(&other), expected),
            Err(_) => prop_assert!(!other.exists()),
        }
        prop_assert!(fs::read_dir(root.path()).unwrap().count() <= 3, "nothing is left beside them");
    }
}
