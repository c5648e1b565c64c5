use axum::Router;
use hindsight_api::EdgeLayer;
use tonic::service::Routes;
use tonic_health::{pb::health_server::HealthServer, server::HealthService};
use tonic_reflection::server::Builder;

use crate::{Role, RuntimeError};

/// The services of all roles, health and reflection (v1 and v1alpha), behind the edge.
pub(crate) fn build<'a>(
    roles: impl Iterator<Item = &'a dyn Role>,
    health: HealthService,
    edge: &EdgeLayer,
) -> Result<Routes, RuntimeError> {
    let mut builder = Routes::builder();
    let mut http = Router::new();
    for role in roles {
        role.register(&mut builder);
        if let Some(router) = role.http() {
            http = http.merge(router);
        }
    }
    builder.add_service(HealthServer::new(health));
    builder.add_service(reflection().build_v1()?);
    builder.add_service(reflection().build_v1alpha()?);
    Ok(Routes::from(builder.routes().into_axum_router().merge(http).layer(edge.clone())).prepare())
}

fn reflection() -> Builder<'static> {
    Builder::configure()
        .register_encoded_file_descriptor_set(hindsight_proto::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}
