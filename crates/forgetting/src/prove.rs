//! Looks for what is left: in the store by its filters, in the files for the texts.

use std::time::Duration;

use hindsight_ports::{FilesRead, Probes};
use hindsight_types::{FilesSearched, Forgetting, ForgettingState, Proof};

use crate::{Files, Forgetter, Proved, Trouble};

/// Times that what is found is deleted again; something of the subject may be on its way.
const ROUNDS: u32 = 6;
const FIRST_WAIT: Duration = Duration::from_secs(1);

const COPIES: &str = "backups, snapshots and exports that were made before: delete them where they are kept";
const DISK: &str = "blocks that the file system freed, until it uses them again";

impl Forgetter {
    /// Proves that nothing is left, or has what is found deleted again.
    pub async fn prove(&self, mut f: Forgetting) -> Result<Proved, Trouble> {
        let proof = self.search(&f).await?;
        let clean = proof.is_clean();
        f.rounds += 1;
        let now = self.clock.now();
        f.updated_at = now;
        f.state = if clean {
            ForgettingState::Done
        } else if f.rounds >= ROUNDS {
            ForgettingState::Failed { reason: left(&proof) }
        } else {
            ForgettingState::Erasing
        };
        f.proof = Some(proof);
        if f.state.is_over() {
            f.ended_at = Some(now);
            f.probes.clear();
        } else {
            f.vacuumed.clear();
        }
        let wait = FIRST_WAIT * (1 << f.rounds.min(6));
        let f = self.forget.put(&f).await?;
        Ok(if f.state.is_over() { Proved::Over(f) } else { Proved::Again(f, wait) })
    }

    async fn search(&self, f: &Forgetting) -> Result<Proof, Trouble> {
        let remaining = self.forget.remaining(f).await?;
        let probes = Probes::from_fingerprints(f.probes.iter().copied());
        let mut read: Option<FilesRead> = None;
        let mut out_of_reach = vec![COPIES.to_owned()];
        for files in [&self.store_files, &self.queue_files] {
            match files {
                // Without probes nothing was deleted that could be looked for.
                Files::Here(_) if probes.is_empty() => read = Some(read.unwrap_or_default()),
                Files::Here(files) => {
                    if let Some(more) = files.find(&probes).await? {
                        read = Some(read.unwrap_or_default().and(more));
                    }
                }
                Files::OutOfReach(why) => out_of_reach.push((*why).to_owned()),
            }
        }
        let files = match read {
            None => None,
            Some(read) => {
                out_of_reach.push(DISK.to_owned());
                let found = Probes::from_fingerprints(read.found);
                let held = if found.is_empty() { 0 } else { self.forget.held(&found).await?.len() };
                Some(FilesSearched {
                    files: read.files,
                    bytes: read.bytes,
                    found: (found.len() - held) as u64,
                    said_by_others: held as u64,
                })
            }
        };
        // Each place is looked for in four forms.
        Ok(Proof { remaining, probes: (probes.len() / 4) as u64, files, out_of_reach })
    }
}

fn left(proof: &Proof) -> String {
    let records: u64 = proof.remaining.values().sum();
    let texts = proof.files.map_or(0, |files| files.found);
    format!(
        "after {ROUNDS} rounds {records} records and {texts} pieces of text are still found: is somebody writing \
         them? Ask for it again when that has ended"
    )
}
