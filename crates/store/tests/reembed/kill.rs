//! A process killed in the middle of the change, with the real engine and its files.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use hindsight_ports::Reembed;

use crate::{common::scratch, support::*};

const DIR: &str = "HINDSIGHT_REEMBED_TEST_DIR";
const MODEL: &str = "HINDSIGHT_REEMBED_TEST_MODEL";
const MEMORIES: u64 = 60;
const ROUNDS: usize = 8;

fn numbered(n: usize) -> Fake {
    model(&format!("model {n}"), 8 + n % 3)
}

/// Runs only as a child of the test below: changes the embedder, says so and waits for its end.
#[test]
#[ignore = "run by a_killed_process_leaves_what_the_next_one_finishes"]
fn changer() {
    let (Some(dir), Ok(n)) = (env::var_os(DIR).map(PathBuf::from), env::var(MODEL)) else { return };
    let embedder = numbered(n.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let world = World::open(&dir);
        std::fs::write(dir.join("begun"), "").unwrap();
        let store = world.prepared(&embedder).await;
        run_to_end(&store, &embedder).await.unwrap();
        std::fs::write(dir.join("done"), "").unwrap();
        std::future::pending::<()>().await;
    });
}

fn wait_for(what: &Path) {
    let start = Instant::now();
    while !what.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited too long for {}", what.display());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_leaves_what_the_next_one_finishes() {
    let dir = scratch();
    let world = World::open(dir.path());
    let first = numbered(0);
    world.holding(&first, 0..MEMORIES).await;
    world.backend.close().await;
    let mut finished = 0;
    for round in 1..=ROUNDS {
        let (begun, done) = (dir.path().join("begun"), dir.path().join("done"));
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "kill::changer", "--ignored"])
            .env(DIR, dir.path())
            .env(MODEL, round.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for(&begun);
        std::thread::sleep(Duration::from_millis(15 * (round as u64 % 7)));
        child.kill().unwrap();
        child.wait().unwrap();
        finished += usize::from(done.exists());
        let _ = (std::fs::remove_file(begun), std::fs::remove_file(done));
        // Only sometimes, so that one change is also begun over another that was broken off.
        if round % 2 == 0 {
            let world = World::open(dir.path());
            let embedder = numbered(round);
            let store = world.prepared(&embedder).await;
            let resumed = store.vectors().await.unwrap();
            run_to_end(&store, &embedder).await.unwrap();
            assert_eq!(world.assert_all_by(&embedder).await, 5 * MEMORIES, "after {resumed:?}");
            world.backend.close().await;
        }
    }
    assert!(finished < ROUNDS, "every kill came too late");
}
