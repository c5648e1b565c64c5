use std::{collections::BTreeMap, sync::Arc};

use hindsight_api::status;
use hindsight_codec::{Record, record_from_proto};
use hindsight_forgetting::{Forgetter, Trouble};
use hindsight_ingest::encode;
use hindsight_ports::{
    Clock, Embedder, Encoded, Forget, MOST_RESTORED, MOST_SUBJECTS, MemoryStore, Restored, StoreError,
    Transfer,
};
use hindsight_proto::{
    memory::v1::{ExportHeader, ImportMemoriesRequest, ImportMemoriesResponse, ImportRefusal},
    storage::v1::Record as PbRecord,
};
use hindsight_types::{
    EvaluationRecord, EvaluationState, Event, EventBody, Forgotten, Invalid, Memory, RecordBody, Scope,
    Subject, TenantId, Timestamp, Viewer, Visibility,
};
use prost::Message as _;
use tonic::{Code, Status};
use uuid::Uuid;

use super::{FORMAT, PART_BYTES, VERSION, door, subjects::about};
use crate::NAME;

/// Takes in what was exported elsewhere.
pub(crate) struct Import {
    pub(crate) store: Arc<dyn MemoryStore>,
    pub(crate) transfer: Arc<dyn Transfer>,
    pub(crate) forget: Arc<dyn Forget>,
    /// Deletes what got in although it was forgotten.
    pub(crate) forgetter: Option<Forgetter>,
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Import {
    pub(crate) async fn run(
        &self,
        tenant: &TenantId,
        request: ImportMemoriesRequest,
    ) -> Result<ImportMemoriesResponse, Status> {
        check(tenant, &request)?;
        let mut answer = ImportMemoriesResponse::default();
        let mut records = Vec::with_capacity(request.records.len());
        for (index, record) in (0_u32..).zip(request.records) {
            match admit(tenant, record) {
                Ok(record) => records.push(record),
                Err(why) => answer.refused.push(ImportRefusal { index, message: why.to_string() }),
            }
        }
        let mut gone = self.gone(tenant, records.iter()).await.map_err(store)?;
        gone.said_by(&records);
        let (lost, kept): (Vec<_>, Vec<_>) =
            records.into_iter().partition(|record| gone.takes(record).is_some());
        answer.forgotten = size(lost.len());
        let encoded = self.encode(kept).await?;
        for restored in self.transfer.restore_all(&encoded).await.map_err(store)? {
            match restored {
                Restored::Written => answer.written += 1,
                Restored::Present => answer.present += 1,
            }
        }
        let written = || encoded.iter().map(|record| &record.value);
        // Only now: the evaluations of these runs may have come with them.
        for record in self.unjudged(written()).await.map_err(store)? {
            self.store.put_evaluation_record(&record).await.map_err(store)?;
        }
        let late = self.gone(tenant, written()).await.map_err(store)?;
        self.sweep(tenant, lost.iter().filter_map(|record| gone.takes_along(record))).await?;
        self.sweep(tenant, written().filter_map(|record| late.takes(record))).await?;
        Ok(answer)
    }

    async fn gone<'a>(
        &self,
        tenant: &TenantId,
        records: impl Iterator<Item = &'a RecordBody>,
    ) -> Result<Gone, StoreError> {
        let mut asked: BTreeMap<Uuid, Subject> = BTreeMap::new();
        for (subject, _) in records.flat_map(about) {
            asked.insert(subject.key(), subject);
        }
        let asked: Vec<Subject> = asked.into_values().collect();
        let mut gone = Gone::default();
        for subjects in asked.chunks(MOST_SUBJECTS) {
            self.forget.forgotten(tenant, subjects).await?.iter().for_each(|tombstone| gone.note(tombstone));
        }
        Ok(gone)
    }

    /// Has what got in of forgotten subjects deleted: what was forgotten while it was written, and the parts of a run
    /// that only its start says are a user's.
    async fn sweep(
        &self,
        tenant: &TenantId,
        late: impl Iterator<Item = (Subject, Timestamp)>,
    ) -> Result<(), Status> {
        let Some(forgetter) = &self.forgetter else { return Ok(()) };
        let late: BTreeMap<Uuid, (Subject, Timestamp)> = late.map(|(s, at)| (s.key(), (s, at))).collect();
        for (subject, at) in late.into_values() {
            let scope = Scope::new(tenant.clone(), Visibility::Tenant);
            let swept = forgetter.sweep(&Forgotten { scope, subject, at }, "import").await;
            swept.map_err(|trouble| match trouble {
                Trouble::Store(error) => store(error),
                Trouble::Bus(error) => status::bus(NAME, error),
            })?;
        }
        Ok(())
    }

    /// Runs that ended and were not judged where they are from: put on record, so that they are listed and can be
    /// replayed. Evaluations come before events.
    async fn unjudged<'a>(
        &self,
        records: impl Iterator<Item = &'a RecordBody>,
    ) -> Result<Vec<EvaluationRecord>, StoreError> {
        let mut unjudged = Vec::new();
        for record in records {
            let RecordBody::Event(Event { scope, trace_id, body: EventBody::Completed(end), .. }) = record
            else {
                continue;
            };
            if self.store.evaluation_record(&Viewer::of_scope(scope), trace_id).await?.is_some() {
                continue;
            }
            let reason =
                "imported before it was judged; `hindsight failures --replay` has it judged".to_owned();
            unjudged.push(EvaluationRecord {
                trace_id: trace_id.clone(),
                scope: scope.clone(),
                state: EvaluationState::Waiting { reason },
                attempts: 0,
                step_count: end.step_count,
                judge: String::new(),
                updated_at: self.clock.now(),
            });
        }
        Ok(unjudged)
    }

    /// Memories get their vectors anew, by the embedder of this store.
    async fn encode(&self, records: Vec<RecordBody>) -> Result<Vec<Encoded<RecordBody>>, Status> {
        let texts: Vec<Memory> = records.iter().filter_map(searched).cloned().collect();
        let encoded = encode::memories(&*self.embedder, texts).await.map_err(|e| status::embed(NAME, e))?;
        let mut encodings = encoded.into_iter().map(|memory| memory.encoding);
        let with_its = |value: RecordBody| {
            let encoding = searched(&value).and_then(|_| encodings.next());
            Encoded { encoding: encoding.unwrap_or_default(), value }
        };
        Ok(records.into_iter().map(with_its).collect())
    }
}

/// What was forgotten, and when.
#[derive(Debug, Default)]
struct Gone(BTreeMap<Uuid, Timestamp>);

impl Gone {
    fn note(&mut self, tombstone: &Forgotten) {
        let at = self.0.entry(tombstone.subject.key()).or_insert(tombstone.at);
        *at = (*at).max(tombstone.at);
    }

    /// By tombstones among the records themselves.
    fn said_by(&mut self, records: &[RecordBody]) {
        for record in records {
            if let RecordBody::Forgotten(tombstone) = record {
                self.note(tombstone);
            }
        }
    }

    /// The subject because of which a record is gone.
    fn takes(&self, record: &RecordBody) -> Option<(Subject, Timestamp)> {
        about(record).into_iter().find_map(|(subject, since)| {
            let at = *self.0.get(&subject.key())?;
            (at >= since).then_some((subject, at))
        })
    }

    /// The run of a start that is gone because of its user: its other events do not name the user.
    fn takes_along(&self, record: &RecordBody) -> Option<(Subject, Timestamp)> {
        let RecordBody::Event(Event { scope, trace_id, body: EventBody::Started(start), .. }) = record else {
            return None;
        };
        let (_, at) = self.takes(record)?;
        (start.user.as_ref() != scope.user()).then(|| (Subject::Run(trace_id.clone()), at))
    }
}

fn searched(record: &RecordBody) -> Option<&Memory> {
    match record {
        RecordBody::Memory(memory) => Some(memory),
        RecordBody::Archived(archived) => Some(&archived.memory),
        _ => None,
    }
}

fn check(tenant: &TenantId, request: &ImportMemoriesRequest) -> Result<(), Status> {
    let invalid = |field, problem: String| status::invalid(NAME, &Invalid::new(field, problem));
    let ExportHeader { format, version, tenant: of, .. } = request.header.clone().unwrap_or_default();
    if format != FORMAT || version != VERSION {
        let problem =
            format!("is `{format}` {version}; `{FORMAT}` {VERSION} is known here, so use a newer server");
        return Err(invalid("header", problem));
    }
    if of != tenant.as_str() {
        let message = format!(
            "the export is of tenant `{of}` and the key of `{tenant}`; ids are made from the name of the tenant, so \
             import it with a key of `{of}`"
        );
        let metadata = [("export_tenant", of), ("tenant", tenant.to_string())];
        return Err(status::error(NAME, Code::FailedPrecondition, "OTHER_TENANT", message, metadata));
    }
    let count = request.records.len();
    if count > MOST_RESTORED {
        return Err(invalid("records", format!("are {count}; at most {MOST_RESTORED} are accepted at once")));
    }
    let bytes: usize = request.records.iter().map(PbRecord::encoded_len).sum();
    if bytes > PART_BYTES && count > 1 {
        return Err(invalid(
            "records",
            format!("weigh {bytes} bytes; at most {PART_BYTES} are accepted at once"),
        ));
    }
    Ok(())
}

fn admit(tenant: &TenantId, record: PbRecord) -> Result<RecordBody, Invalid> {
    if !record.tenant.is_empty() {
        return Err(Invalid::new("tenant", "must be empty: it follows from the key"));
    }
    let Record(body) = record_from_proto(PbRecord { tenant: tenant.to_string(), ..record })?;
    door::admit(tenant, body)
}

fn size(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn store(error: StoreError) -> Status {
    status::store(NAME, error)
}
