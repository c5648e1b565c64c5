use hindsight_store::VectorBackend;
use qdrant_client::qdrant::{
    CountPoints, CountResponse, CountResult, CreateFieldIndexCollection, CreateVectorNameRequest,
    DeletePoints, DeleteVectorNameRequest, FacetCounts, FacetResponse, GetPoints, GetResponse,
    PointsOperationResponse, PrefetchQuery, QueryPoints, QueryResponse, ScrollPoints, ScrollResponse,
    SearchParams, SetPayloadPoints, UpdatePointVectors, UpsertPoints, points_server::Points,
};
use tonic::{Request, Response, Status};

use crate::answer::{completed, service};

service! {
    impl Points {
        async fn upsert(
            &self,
            request: Request<UpsertPoints>,
        ) -> Result<Response<PointsOperationResponse>, Status> {
            let request = request.into_inner();
            self.run(request.collection_name.clone(), |b| async move { b.upsert(request).await }).await?;
            Ok(completed())
        }

        /// As a server does, a message with a point that is not there is refused when the others are done.
        async fn update_vectors(
            &self,
            request: Request<UpdatePointVectors>,
        ) -> Result<Response<PointsOperationResponse>, Status> {
            let request = request.into_inner();
            let name = request.collection_name.clone();
            let ids = request.points.iter().filter_map(|point| point.id.clone()).collect();
            let asked = GetPoints { collection_name: name.clone(), ids, ..GetPoints::default() };
            self.run(name.clone(), |b| async move { b.update_vectors(request).await }).await?;
            let count = asked.ids.len();
            let there = self.run(name, |b| async move { b.get(asked).await }).await?;
            if there.len() < count {
                return Err(Status::not_found("Not found: No point with id found"));
            }
            Ok(completed())
        }

        async fn create_vector_name(
            &self,
            request: Request<CreateVectorNameRequest>,
        ) -> Result<Response<PointsOperationResponse>, Status> {
            let request = request.into_inner();
            let name = request.collection_name.clone();
            self.run(name, |b| async move { b.create_vector_name(request).await }).await?;
            Ok(completed())
        }

        async fn delete_vector_name(
            &self,
            request: Request<DeleteVectorNameRequest>,
        ) -> Result<Response<PointsOperationResponse>, Status> {
            let request = request.into_inner();
            let name = request.collection_name.clone();
            self.run(name, |b| async move { b.delete_vector_name(request).await }).await?;
            Ok(completed())
        }

        async fn delete(
            &self,
            request: Request<DeletePoints>,
        ) -> Result<Response<PointsOperationResponse>, Status> {
            let request = request.into_inner();
            self.run(request.collection_name.clone(), |b| async move { b.delete(request).await }).await?;
            Ok(completed())
        }

        async fn set_payload(
            &self,
            request: Request<SetPayloadPoints>,
        ) -> Result<Response<PointsOperationResponse>, Status> {
            let request = request.into_inner();
            self.run(request.collection_name.clone(), |b| async move { b.set_payload(request).await }).await?;
            Ok(completed())
        }

        async fn create_field_index(
            &self,
            request: Request<CreateFieldIndexCollection>,
        ) -> Result<Response<PointsOperationResponse>, Status> {
            let request = request.into_inner();
            let name = request.collection_name.clone();
            self.run(name, |b| async move { b.create_field_index(request).await }).await?;
            Ok(completed())
        }

        async fn get(&self, request: Request<GetPoints>) -> Result<Response<GetResponse>, Status> {
            let request = request.into_inner();
            let name = request.collection_name.clone();
            let result = self.run(name, |b| async move { b.get(request).await }).await?;
            Ok(Response::new(GetResponse { result, ..Default::default() }))
        }

        async fn query(&self, request: Request<QueryPoints>) -> Result<Response<QueryResponse>, Status> {
            let mut request = request.into_inner();
            unquantized(&mut request.params);
            request.prefetch.iter_mut().for_each(unquantized_prefetch);
            let name = request.collection_name.clone();
            let result = self.run(name, |b| async move { b.query(request).await }).await?;
            Ok(Response::new(QueryResponse { result, ..Default::default() }))
        }

        async fn scroll(&self, request: Request<ScrollPoints>) -> Result<Response<ScrollResponse>, Status> {
            let request = request.into_inner();
            let name = request.collection_name.clone();
            let scrolled = self.run(name, |b| async move { b.scroll(request).await }).await?;
            Ok(Response::new(ScrollResponse {
                next_page_offset: scrolled.next,
                result: scrolled.points,
                ..Default::default()
            }))
        }

        async fn count(&self, request: Request<CountPoints>) -> Result<Response<CountResponse>, Status> {
            let request = request.into_inner();
            let name = request.collection_name.clone();
            let count = self.run(name, |b| async move { b.count(request).await }).await?;
            Ok(Response::new(CountResponse { result: Some(CountResult { count }), ..Default::default() }))
        }

        async fn facet(&self, request: Request<FacetCounts>) -> Result<Response<FacetResponse>, Status> {
            let request = request.into_inner();
            let name = request.collection_name.clone();
            let hits = self.run(name, |b| async move { b.facet(request).await }).await?;
            Ok(Response::new(FacetResponse { hits, ..Default::default() }))
        }
    }
    unanswered {
        delete_vectors: DeletePointVectors => PointsOperationResponse,
        overwrite_payload: SetPayloadPoints => PointsOperationResponse,
        delete_payload: DeletePayloadPoints => PointsOperationResponse,
        clear_payload: ClearPayloadPoints => PointsOperationResponse,
        delete_field_index: DeleteFieldIndexCollection => PointsOperationResponse,
        search: SearchPoints => SearchResponse,
        search_batch: SearchBatchPoints => SearchBatchResponse,
        search_groups: SearchPointGroups => SearchGroupsResponse,
        recommend: RecommendPoints => RecommendResponse,
        recommend_batch: RecommendBatchPoints => RecommendBatchResponse,
        recommend_groups: RecommendPointGroups => RecommendGroupsResponse,
        discover: DiscoverPoints => DiscoverResponse,
        discover_batch: DiscoverBatchPoints => DiscoverBatchResponse,
        update_batch: UpdateBatchPoints => UpdateBatchResponse,
        query_batch: QueryBatchPoints => QueryBatchResponse,
        query_groups: QueryPointGroups => QueryGroupsResponse,
        search_matrix_pairs: SearchMatrixPoints => SearchMatrixPairsResponse,
        search_matrix_offsets: SearchMatrixPoints => SearchMatrixOffsetsResponse,
    }
}

/// Nothing is quantized here, so how to treat quantized vectors is beside the point.
fn unquantized(params: &mut Option<SearchParams>) {
    if let Some(params) = params {
        params.quantization = None;
    }
}

fn unquantized_prefetch(prefetch: &mut PrefetchQuery) {
    unquantized(&mut prefetch.params);
    prefetch.prefetch.iter_mut().for_each(unquantized_prefetch);
}
