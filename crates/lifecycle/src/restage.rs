use hindsight_ports::{Ledger, StoreError};
use hindsight_types::{EvidencePolicy, MemoryId, Stage, TenantId};

use crate::stage::{self, Standing};

/// Changes after which it is left to the next one: processes of different settings would change it back and forth.
const CHANGES: usize = 4;

/// A lesson's stage as it was, and where the lesson stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Restaged {
    pub from: Stage,
    pub standing: Standing,
}

impl Restaged {
    pub fn is_change(&self) -> bool {
        self.from != self.standing.stage
    }
}

/// Brings a lesson to the stage at which it stands. `None`: there is no such lesson. Whoever adds a line does this
/// afterwards. After every change the ledger is read again, so of those who do it at the same time the last one
/// leaves the lesson at the stage that follows from all lines.
pub async fn restage(
    ledger: &dyn Ledger,
    tenant: &TenantId,
    lesson: MemoryId,
    policy: &EvidencePolicy,
) -> Result<Option<Restaged>, StoreError> {
    let (mut from, mut changes) = (None, 0);
    loop {
        let Some(found) = ledger.lesson(tenant, lesson).await? else { return Ok(None) };
        let from = *from.get_or_insert(found.stage);
        let (lines, reviews) = ledger.ledger(tenant, lesson).await?;
        let standing = stage::of_lesson(&found, &lines, &reviews, policy);
        let changed = ledger.restage(tenant, lesson, standing.stage).await?;
        changes += usize::from(changed);
        if !changed || changes == CHANGES {
            return Ok(Some(Restaged { from, standing }));
        }
    }
}
