use std::sync::Arc;

use hindsight_api::{deadline, status};
use hindsight_codec::{arm_to_proto, factors_to_proto, memory_to_proto, receipt_to_proto};
use hindsight_proto::recall::v1::{
    ExplainRecallRequest, ExplainRecallResponse, RecallRequest, RecallResponse, RecalledMemory,
    recall_service_server::RecallService,
};
use hindsight_types::ReceiptId;
use tonic::{Request, Response, Status};

use super::{invalid, reader, store};
use crate::{
    NAME,
    ask::{Ask, viewer},
    engine::{Answer, Engine},
};

pub(crate) struct Recalls(pub(crate) Arc<Engine>);

#[tonic::async_trait]
impl RecallService for Recalls {
    async fn recall(&self, request: Request<RecallRequest>) -> Result<Response<RecallResponse>, Status> {
        let caller = reader(&request)?;
        let patience = deadline(&request);
        let ask = Ask::new(caller.tenant, request.into_inner()).map_err(invalid)?;
        let answer = self.0.recall(ask, patience).await?;
        Ok(Response::new(response(answer)))
    }

    async fn explain_recall(
        &self,
        request: Request<ExplainRecallRequest>,
    ) -> Result<Response<ExplainRecallResponse>, Status> {
        let caller = reader(&request)?;
        let ExplainRecallRequest { receipt_id, user } = request.into_inner();
        let viewer = viewer(caller.tenant, user).map_err(invalid)?;
        let id = ReceiptId::parse(&receipt_id).map_err(invalid)?;
        let receipt = self.0.store.receipt(&viewer, id).await.map_err(store)?;
        let receipt = receipt.ok_or_else(|| status::not_found(NAME, "receipt", id))?;
        Ok(Response::new(ExplainRecallResponse { receipt: Some(receipt_to_proto(&receipt)) }))
    }
}

fn response(answer: Answer) -> RecallResponse {
    let receipt = answer.receipt;
    RecallResponse {
        receipt_id: receipt.id.to_string(),
        block: answer.block,
        items: answer
            .items
            .into_iter()
            .map(|item| RecalledMemory {
                memory: Some(memory_to_proto(&item.memory)),
                factors: Some(factors_to_proto(&item.factors)),
                why: item.why,
            })
            .collect(),
        empty_reason: receipt.empty_reason,
        degraded: answer.degraded,
        arms: receipt.arms.iter().map(arm_to_proto).collect(),
        tokens: receipt.tokens,
    }
}
