use std::{fmt, sync::Arc};

use hindsight_forgetting::Forgetter;
use hindsight_ports::{Archive, Browse, Forget, History, Ledger, Subjects, Transfer};
use hindsight_types::EvidencePolicies;

/// Ports through which memories are looked after, beside the store itself. What needs a port that is not there
/// answers `UNIMPLEMENTED`.
#[derive(Clone, Default)]
pub struct Care {
    pub history: Option<Arc<dyn History>>,
    pub subjects: Option<Arc<dyn Subjects>>,
    pub forgetter: Option<Forgetter>,
    pub browse: Option<Arc<dyn Browse>>,
    pub transfer: Option<Arc<dyn Transfer>>,
    pub archive: Option<Arc<dyn Archive>>,
    pub forget: Option<Arc<dyn Forget>>,
    pub ledger: Option<Arc<dyn Ledger>>,
    /// When lessons serve.
    pub policies: EvidencePolicies,
}

impl fmt::Debug for Care {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Care").finish_non_exhaustive()
    }
}
