use hindsight_api::{Permission, caller};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
    trace_service_server::TraceService,
};
use tonic::{Request, Response, Status};

use super::{Otlp, export::Accepted, wire};
use crate::message;

#[tonic::async_trait]
impl TraceService for Otlp {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let caller = caller(&request)?;
        caller.require(Permission::Write)?;
        let trace_context = message::trace_context(request.metadata());
        let resources = wire::resources(request.into_inner());
        let accepted = self.export(caller.tenant, resources, trace_context).await?;
        Ok(Response::new(response(accepted)))
    }
}

/// Nothing is said about what was accepted as a whole.
pub(super) fn response(accepted: Accepted) -> ExportTraceServiceResponse {
    let Accepted { rejected, message } = accepted;
    let partial = ExportTracePartialSuccess { rejected_spans: rejected, error_message: message };
    ExportTraceServiceResponse { partial_success: (rejected > 0).then_some(partial) }
}
