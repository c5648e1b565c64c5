use std::{pin::Pin, sync::Arc};

use futures::Stream;
use hindsight_api::{deadline, status};
use hindsight_codec::{arm_to_proto, feedback_to_proto, receipt_to_proto};
use hindsight_proto::recall::v1::{
    ExplainRecallRequest, ExplainRecallResponse, RecallRequest, RecallResponse, ReportOutcomeRequest,
    ReportOutcomeResponse, WatchRequest, WatchResponse, recall_service_server::RecallService,
};
use hindsight_types::{Invalid, MemoryId, ReceiptId};
use tonic::{Request, Response, Status, Streaming};

use super::{explain::expected as expected_to_proto, invalid, reader, store, writer};
use crate::{
    NAME,
    ask::{Ask, viewer},
    engine::{Answer, Engine},
    report::Report,
    watch::{Streams, recalled},
};

pub(crate) struct Recalls(pub(crate) Arc<Engine>, pub(crate) Arc<Streams>);

#[tonic::async_trait]
impl RecallService for Recalls {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<WatchResponse, Status>> + Send>>;

    async fn watch(
        &self,
        request: Request<Streaming<WatchRequest>>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let caller = reader(&request)?;
        Ok(Response::new(Box::pin(self.1.open(caller, request.into_inner())?)))
    }

    async fn recall(&self, request: Request<RecallRequest>) -> Result<Response<RecallResponse>, Status> {
        let caller = reader(&request)?;
        let patience = deadline(&request);
        let ask = Ask::new(caller.tenant, request.into_inner()).map_err(invalid)?;
        let answer = self.0.recall(ask, patience).await?;
        Ok(Response::new(response(answer)))
    }

    async fn report_outcome(
        &self,
        request: Request<ReportOutcomeRequest>,
    ) -> Result<Response<ReportOutcomeResponse>, Status> {
        let caller = writer(&request)?;
        let mut request = request.into_inner();
        let viewer = viewer(caller.tenant, std::mem::take(&mut request.user)).map_err(invalid)?;
        let report = Report::new(request).map_err(invalid)?;
        let reported = self.0.report(&viewer, report).await?;
        Ok(Response::new(ReportOutcomeResponse {
            feedback: reported.feedback.iter().map(feedback_to_proto).collect(),
            evidence: u32::try_from(reported.evidence).unwrap_or(u32::MAX),
        }))
    }

    async fn explain_recall(
        &self,
        request: Request<ExplainRecallRequest>,
    ) -> Result<Response<ExplainRecallResponse>, Status> {
        let caller = reader(&request)?;
        let ExplainRecallRequest { receipt_id, user, expect } = request.into_inner();
        let viewer = viewer(caller.tenant, user).map_err(invalid)?;
        let id = ReceiptId::parse(&receipt_id).map_err(invalid)?;
        let expect = (!expect.is_empty()).then(|| MemoryId::parse(&expect)).transpose();
        let expect = expect.map_err(|e| invalid(Invalid::new("expect", e.to_string())))?;
        let receipt = self.0.store.receipt(&viewer, id).await.map_err(store)?;
        let receipt = receipt.ok_or_else(|| status::not_found(NAME, "receipt", id))?;
        let expected = match expect {
            Some(expect) => Some(self.0.expect(&viewer, &receipt, expect).await.map_err(store)?),
            None => None,
        };
        let mut message = receipt_to_proto(&receipt);
        let feedback = self.0.feedback(&viewer, &receipt).await.map_err(store)?;
        message.feedback = feedback.iter().map(feedback_to_proto).collect();
        Ok(Response::new(ExplainRecallResponse {
            receipt: Some(message),
            expected: expected.as_ref().map(expected_to_proto),
        }))
    }
}

fn response(answer: Answer) -> RecallResponse {
    let receipt = answer.receipt;
    RecallResponse {
        receipt_id: receipt.id.to_string(),
        block: answer.block,
        items: answer.items.into_iter().map(recalled).collect(),
        empty_reason: receipt.empty_reason,
        degraded: answer.degraded,
        arms: receipt.arms.iter().map(arm_to_proto).collect(),
        tokens: receipt.tokens,
    }
}
