//! Where a chain breaks, as messages.

use hindsight_api::Caller;
use hindsight_proto::memory::v1::{
    DiagnoseRequest, DiagnoseResponse, DiagnosisLink, DiagnosisStage, DiagnosisState, DiagnosisSubject,
};
use hindsight_types::{Invalid, TraceId};
use tonic::Status;

use super::{Memories, invalid, store};
use crate::{
    ask::viewer,
    doctor::{About, Chain, Link, Stage},
};

impl Memories {
    pub(super) async fn diagnosis(
        &self,
        caller: Caller,
        request: DiagnoseRequest,
    ) -> Result<DiagnoseResponse, Status> {
        let DiagnoseRequest { subject, user } = request;
        let viewer = viewer(caller.tenant, user).map_err(invalid)?;
        let subject = TraceId::new(subject).map_err(|e| {
            let problem = e.fields.into_iter().map(|f| f.problem).collect::<Vec<_>>().join("; ");
            invalid(Invalid::new("subject", problem))
        })?;
        let (about, chain) = self.doctor(viewer)?.look(&subject).await.map_err(store)?;
        Ok(response(about, chain))
    }
}

fn response(about: About, Chain { links }: Chain) -> DiagnoseResponse {
    let subject = match about {
        About::Run => DiagnosisSubject::Run,
        About::Memory => DiagnosisSubject::Memory,
        About::Receipt => DiagnosisSubject::Receipt,
        About::Nothing => DiagnosisSubject::Unspecified,
    };
    let last = links.last().map(|link| link.stage);
    let rest = Stage::ALL.into_iter().filter(|stage| last.is_none_or(|last| *stage > last));
    let not_reached = rest.map(|stage| DiagnosisLink {
        stage: to_proto(stage) as i32,
        state: DiagnosisState::NotReached as i32,
        ..DiagnosisLink::default()
    });
    let links = links.iter().map(link).chain(not_reached).collect();
    DiagnoseResponse { subject: subject as i32, links }
}

fn link(link: &Link) -> DiagnosisLink {
    let state = if link.is_whole { DiagnosisState::Whole } else { DiagnosisState::Broken };
    DiagnosisLink {
        stage: to_proto(link.stage) as i32,
        state: state as i32,
        reason: link.reason.to_owned(),
        finding: link.finding.clone(),
        remedy: link.remedy.clone(),
    }
}

fn to_proto(stage: Stage) -> DiagnosisStage {
    match stage {
        Stage::Collected => DiagnosisStage::Collected,
        Stage::Judged => DiagnosisStage::Judged,
        Stage::Stored => DiagnosisStage::Stored,
        Stage::Recalled => DiagnosisStage::Recalled,
        Stage::Injected => DiagnosisStage::Injected,
        Stage::Helped => DiagnosisStage::Helped,
    }
}
