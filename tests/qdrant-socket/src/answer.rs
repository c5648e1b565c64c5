//! How a server words what came of a call.

use hindsight_ports::StoreError;
use qdrant_client::qdrant::{PointsOperationResponse, UpdateResult, UpdateStatus};
use tonic::{Response, Status};

/// `missing`: the collection does not exist.
pub(crate) fn status(error: StoreError, missing: bool) -> Status {
    match error {
        StoreError::Rejected(why) if missing => Status::not_found(why),
        StoreError::Rejected(why) => Status::invalid_argument(why),
        StoreError::Unavailable(why) => Status::unavailable(why),
        other => Status::internal(other.to_string()),
    }
}

pub(crate) fn completed() -> Response<PointsOperationResponse> {
    let result = UpdateResult { operation_id: None, status: UpdateStatus::Completed as i32 };
    Response::new(PointsOperationResponse { result: Some(result), ..PointsOperationResponse::default() })
}

/// Writes the service of a trait: calls that are answered, and those that are not.
macro_rules! service {
    (impl $trait:ident { $($answered:tt)* } unanswered { $($call:ident: $request:ident => $reply:ident,)* }) => {
        #[tonic::async_trait]
        impl $trait for crate::service::Service {
            $($answered)*
            $(
                async fn $call(
                    &self,
                    _: tonic::Request<qdrant_client::qdrant::$request>,
                ) -> Result<tonic::Response<qdrant_client::qdrant::$reply>, tonic::Status> {
                    Err(tonic::Status::unimplemented(concat!(stringify!($call), ": not part of this test server")))
                }
            )*
        }
    };
}
pub(crate) use service;
