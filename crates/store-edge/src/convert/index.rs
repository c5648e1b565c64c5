//! `on_disk` is deprecated in the protocol, not gone from it: what it asks for is honoured.
#![allow(deprecated)]

use hindsight_ports::StoreError;
use qdrant_client::qdrant::{
    BoolIndexParams, CreateFieldIndexCollection, DatetimeIndexParams, FieldType, FloatIndexParams,
    IntegerIndexParams, KeywordIndexParams, PayloadIndexParams, PayloadSchemaType, TextIndexParams,
    TokenizerType, UuidIndexParams, payload_index_params::IndexParams,
};
use qdrant_edge::{
    BoolIndexParams as EngineBool, CreateIndex, DatetimeIndexParams as EngineDatetime, FieldIndexOperations,
    FloatIndexParams as EngineFloat, IntegerIndexParams as EngineInteger,
    KeywordIndexParams as EngineKeyword, PayloadFieldSchema, PayloadSchemaParams,
    TextIndexParams as EngineText, TokenizerType as EngineTokenizer, UpdateOperation,
    UuidIndexParams as EngineUuid,
};

use super::select::path_to_engine;
use crate::refuse::{bounded, refuse, rejected, unsupported};

const FIELD: &str = "create_field_index.field_index_params";

pub(crate) fn index_to_engine(request: &CreateFieldIndexCollection) -> Result<UpdateOperation, StoreError> {
    let CreateFieldIndexCollection {
        collection_name: _,
        // Every write is durable and in order when it returns.
        wait: _,
        ordering: _,
        field_name,
        field_type,
        field_index_params,
        timeout,
    } = request;
    refuse("create_field_index", &[("timeout", timeout.is_some())])?;
    Ok(UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(CreateIndex {
        field_name: path_to_engine("create_field_index.field_name", field_name)?,
        field_schema: Some(PayloadFieldSchema::FieldParams(schema(
            *field_type,
            field_index_params.as_ref(),
        )?)),
    })))
}

/// What `collection_info` reports as the type of the index.
pub(crate) fn index_type(request: &CreateFieldIndexCollection) -> PayloadSchemaType {
    let kind = field_type(request.field_type, request.field_index_params.as_ref());
    match kind {
        Ok(FieldType::Keyword) => PayloadSchemaType::Keyword,
        Ok(FieldType::Integer) => PayloadSchemaType::Integer,
        Ok(FieldType::Float) => PayloadSchemaType::Float,
        Ok(FieldType::Geo) => PayloadSchemaType::Geo,
        Ok(FieldType::Text) => PayloadSchemaType::Text,
        Ok(FieldType::Bool) => PayloadSchemaType::Bool,
        Ok(FieldType::Datetime) => PayloadSchemaType::Datetime,
        Ok(FieldType::Uuid) => PayloadSchemaType::Uuid,
        Err(_) => PayloadSchemaType::UnknownType,
    }
}

fn field_type(kind: Option<i32>, params: Option<&PayloadIndexParams>) -> Result<FieldType, StoreError> {
    if let Some(kind) = kind {
        return FieldType::try_from(kind)
            .map_err(|_| rejected("create_field_index.field_type", format_args!("{kind} is unknown")));
    }
    match params.and_then(|params| params.index_params.as_ref()) {
        Some(IndexParams::KeywordIndexParams(_)) => Ok(FieldType::Keyword),
        Some(IndexParams::IntegerIndexParams(_)) => Ok(FieldType::Integer),
        Some(IndexParams::FloatIndexParams(_)) => Ok(FieldType::Float),
        Some(IndexParams::GeoIndexParams(_)) => Ok(FieldType::Geo),
        Some(IndexParams::TextIndexParams(_)) => Ok(FieldType::Text),
        Some(IndexParams::BoolIndexParams(_)) => Ok(FieldType::Bool),
        Some(IndexParams::DatetimeIndexParams(_)) => Ok(FieldType::Datetime),
        Some(IndexParams::UuidIndexParams(_)) => Ok(FieldType::Uuid),
        None => Err(rejected("create_field_index.field_type", "missing")),
    }
}

fn schema(kind: Option<i32>, params: Option<&PayloadIndexParams>) -> Result<PayloadSchemaParams, StoreError> {
    let kind = field_type(kind, params)?;
    let params = params.and_then(|params| params.index_params.as_ref());
    match (kind, params) {
        (FieldType::Keyword, None) => Ok(PayloadSchemaParams::Keyword(EngineKeyword::default())),
        (FieldType::Keyword, Some(IndexParams::KeywordIndexParams(params))) => keyword(params),
        (FieldType::Integer, None) => Ok(PayloadSchemaParams::Integer(EngineInteger::default())),
        (FieldType::Integer, Some(IndexParams::IntegerIndexParams(params))) => integer(params),
        (FieldType::Float, None) => Ok(PayloadSchemaParams::Float(EngineFloat::default())),
        (FieldType::Float, Some(IndexParams::FloatIndexParams(params))) => float(params),
        (FieldType::Text, None) => Ok(PayloadSchemaParams::Text(EngineText::default())),
        (FieldType::Text, Some(IndexParams::TextIndexParams(params))) => text(params),
        (FieldType::Bool, None) => Ok(PayloadSchemaParams::Bool(EngineBool::default())),
        (FieldType::Bool, Some(IndexParams::BoolIndexParams(params))) => boolean(params),
        (FieldType::Datetime, None) => Ok(PayloadSchemaParams::Datetime(EngineDatetime::default())),
        (FieldType::Datetime, Some(IndexParams::DatetimeIndexParams(params))) => time(params),
        (FieldType::Uuid, None) => Ok(PayloadSchemaParams::Uuid(EngineUuid::default())),
        (FieldType::Uuid, Some(IndexParams::UuidIndexParams(params))) => uuid(params),
        (FieldType::Geo, _) => Err(unsupported("create_field_index.field_type: geo")),
        (kind, Some(_)) => {
            Err(rejected(FIELD, format_args!("are not those of a {} index", kind.as_str_name())))
        }
    }
}

fn keyword(params: &KeywordIndexParams) -> Result<PayloadSchemaParams, StoreError> {
    let KeywordIndexParams { is_tenant, on_disk, enable_hnsw, prefix, memory, nested } = params;
    refuse(
        FIELD,
        &[("prefix", prefix.is_some()), ("memory", memory.is_some()), ("nested", nested.is_some())],
    )?;
    Ok(PayloadSchemaParams::Keyword(EngineKeyword {
        r#type: Default::default(),
        is_tenant: *is_tenant,
        on_disk: *on_disk,
        enable_hnsw: *enable_hnsw,
    }))
}

fn integer(params: &IntegerIndexParams) -> Result<PayloadSchemaParams, StoreError> {
    let IntegerIndexParams { lookup, range, is_principal, on_disk, enable_hnsw, memory, nested } = params;
    refuse(FIELD, &[("memory", memory.is_some()), ("nested", nested.is_some())])?;
    if *lookup == Some(false) && *range == Some(false) {
        return Err(rejected(FIELD, "lookup and range cannot both be off"));
    }
    Ok(PayloadSchemaParams::Integer(EngineInteger {
        r#type: Default::default(),
        lookup: *lookup,
        range: *range,
        is_principal: *is_principal,
        on_disk: *on_disk,
        enable_hnsw: *enable_hnsw,
    }))
}

fn float(params: &FloatIndexParams) -> Result<PayloadSchemaParams, StoreError> {
    let FloatIndexParams { on_disk, is_principal, enable_hnsw, memory, nested } = params;
    refuse(FIELD, &[("memory", memory.is_some()), ("nested", nested.is_some())])?;
    Ok(PayloadSchemaParams::Float(EngineFloat {
        r#type: Default::default(),
        is_principal: *is_principal,
        on_disk: *on_disk,
        enable_hnsw: *enable_hnsw,
    }))
}

fn text(params: &TextIndexParams) -> Result<PayloadSchemaParams, StoreError> {
    let TextIndexParams {
        tokenizer,
        lowercase,
        min_token_len,
        max_token_len,
        on_disk,
        stopwords,
        phrase_matching,
        stemmer,
        ascii_folding,
        enable_hnsw,
        memory,
        scoring,
        nested,
    } = params;
    refuse(
        FIELD,
        &[
            ("stopwords", stopwords.is_some()),
            ("stemmer", stemmer.is_some()),
            ("memory", memory.is_some()),
            ("scoring", scoring.is_some()),
            ("nested", nested.is_some()),
        ],
    )?;
    let tokenizer = match TokenizerType::try_from(*tokenizer) {
        Ok(TokenizerType::Unknown) => EngineTokenizer::default(),
        Ok(TokenizerType::Prefix) => EngineTokenizer::Prefix,
        Ok(TokenizerType::Whitespace) => EngineTokenizer::Whitespace,
        Ok(TokenizerType::Word) => EngineTokenizer::Word,
        Ok(TokenizerType::Multilingual) => EngineTokenizer::Multilingual,
        Ok(TokenizerType::Code) | Err(_) => return Err(unsupported(&format!("{FIELD}.tokenizer"))),
    };
    let length = |field: &str, length: Option<u64>| {
        length.map(|length| bounded(&format!("{FIELD}.{field}"), length, 1024)).transpose()
    };
    Ok(PayloadSchemaParams::Text(EngineText {
        r#type: Default::default(),
        tokenizer,
        min_token_len: length("min_token_len", *min_token_len)?,
        max_token_len: length("max_token_len", *max_token_len)?,
        lowercase: *lowercase,
        ascii_folding: *ascii_folding,
        phrase_matching: *phrase_matching,
        stopwords: None,
        on_disk: *on_disk,
        stemmer: None,
        enable_hnsw: *enable_hnsw,
    }))
}

fn boolean(params: &BoolIndexParams) -> Result<PayloadSchemaParams, StoreError> {
    let BoolIndexParams { on_disk, enable_hnsw, memory, nested } = params;
    refuse(FIELD, &[("memory", memory.is_some()), ("nested", nested.is_some())])?;
    Ok(PayloadSchemaParams::Bool(EngineBool {
        r#type: Default::default(),
        on_disk: *on_disk,
        enable_hnsw: *enable_hnsw,
    }))
}

fn time(params: &DatetimeIndexParams) -> Result<PayloadSchemaParams, StoreError> {
    let DatetimeIndexParams { on_disk, is_principal, enable_hnsw, memory, nested } = params;
    refuse(FIELD, &[("memory", memory.is_some()), ("nested", nested.is_some())])?;
    Ok(PayloadSchemaParams::Datetime(EngineDatetime {
        r#type: Default::default(),
        is_principal: *is_principal,
        on_disk: *on_disk,
        enable_hnsw: *enable_hnsw,
    }))
}

fn uuid(params: &UuidIndexParams) -> Result<PayloadSchemaParams, StoreError> {
    let UuidIndexParams { is_tenant, on_disk, enable_hnsw, memory, nested } = params;
    refuse(FIELD, &[("memory", memory.is_some()), ("nested", nested.is_some())])?;
    Ok(PayloadSchemaParams::Uuid(EngineUuid {
        r#type: Default::default(),
        is_tenant: *is_tenant,
        on_disk: *on_disk,
        enable_hnsw: *enable_hnsw,
    }))
}
