use super::*;

#[test]
fn a_directory_is_held_by_one_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let held = DirLock::take(dir.path()).unwrap();
    let second = DirLock::take(dir.path()).unwrap_err();
    let text = second.to_string();
    assert!(text.contains(&dir.path().display().to_string()) && text.contains("another process"), "{text}");
    drop(held);
    DirLock::take(dir.path()).unwrap();
}

#[test]
fn a_description_is_read_back_with_its_indexes() {
    let dir = tempfile::tempdir().unwrap();
    let places = Places::new(dir.path().to_owned());
    assert_eq!(Description::load(&places).unwrap(), None);
    let created = CreateCollection { collection_name: "facts".to_owned(), ..CreateCollection::default() };
    let mut description = Description { created, indexes: Vec::new() };
    let index = |field: &str, kind| CreateFieldIndexCollection {
        field_name: field.to_owned(),
        field_type: Some(kind),
        ..CreateFieldIndexCollection::default()
    };
    assert!(description.add_index(index("tenant", 0)));
    assert!(description.add_index(index("at", 6)));
    assert!(!description.add_index(index("at", 6)), "known");
    assert!(description.add_index(index("at", 1)), "another type replaces the first");
    assert_eq!(description.indexes.len(), 2);
    description.save(&places).unwrap();
    assert_eq!(Description::load(&places).unwrap(), Some(description));

    std::fs::write(dir.path().join("collection.pb"), b"\xff\xff").unwrap();
    assert!(matches!(Description::load(&places), Err(StoreError::Corrupt(_))));
}

#[test]
fn only_plain_names_become_directories() {
    for name in ["events", "failure_patterns", "a-1"] {
        check_name(name).unwrap();
    }
    for name in ["", ".", "..", "a/b", "../x", "a\\b", "事件", "a b", "LOCK\0", &"x".repeat(129)] {
        assert!(matches!(check_name(name), Err(StoreError::Rejected(_))), "{name:?}");
    }
}

#[test]
fn pruning_keeps_the_newest_closed_file_and_the_open_one() {
    let dir = tempfile::tempdir().unwrap();
    prune_engine_log(dir.path()).unwrap();
    let wal = dir.path().join("wal");
    std::fs::create_dir(&wal).unwrap();
    for name in ["closed-0", "closed-90", "closed-100", "open-7", "first-index"] {
        std::fs::write(wal.join(name), b"").unwrap();
    }
    prune_engine_log(dir.path()).unwrap();
    let mut left: Vec<_> = std::fs::read_dir(&wal)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["closed-100", "first-index", "open-7"]);
}
