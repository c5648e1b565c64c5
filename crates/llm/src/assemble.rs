use std::{sync::Arc, time::Duration};

use hindsight_ports::{Clock, Llm, LlmError};

use crate::{
    Breaker, Budgeted, Cached, EndpointSettings, Failover, Limited, LlmSettings, MAX_ENDPOINTS, Provider,
    Retrying, anthropic::Anthropic, openai::OpenAi,
};

const FIRST_WAIT: Duration = Duration::from_millis(500);

/// Hears when an endpoint, by its place in the settings, begins to be left alone (`true`) and when it is back.
pub type OnBreaker = Arc<dyn Fn(usize, bool) + Send + Sync>;

/// Makes the models that the settings name into one; `None` when they name none. Nothing is asked yet.
pub fn build(
    settings: &LlmSettings,
    clock: Arc<dyn Clock>,
    on_breaker: OnBreaker,
) -> Result<Option<Arc<dyn Llm>>, LlmError> {
    if settings.endpoints.len() > MAX_ENDPOINTS {
        let reason = format!("{} endpoints; name at most {MAX_ENDPOINTS}", settings.endpoints.len());
        return Err(LlmError::Misconfigured { reason });
    }
    let models = settings.endpoints.iter().enumerate();
    let models = models
        .map(|(i, endpoint)| one(endpoint, i, clock.clone(), on_breaker.clone()))
        .collect::<Result<Vec<_>, _>>()?;
    let mut models = models.into_iter();
    let Some(first) = models.next() else { return Ok(None) };
    let others: Vec<_> = models.collect();
    let mut llm: Arc<dyn Llm> =
        if others.is_empty() { first } else { Arc::new(Failover::new(first, others, clock.clone())) };
    if let Some(daily) = settings.daily_tokens_per_tenant {
        llm = Arc::new(Budgeted::new(llm, clock, daily));
    }
    if settings.cache_bytes > 0 {
        llm = Arc::new(Cached::new(llm, settings.cache_bytes));
    }
    Ok(Some(llm))
}

fn one(
    settings: &EndpointSettings,
    place: usize,
    clock: Arc<dyn Clock>,
    on_breaker: OnBreaker,
) -> Result<Arc<dyn Llm>, LlmError> {
    let provider: Arc<dyn Llm> = match settings.provider {
        Provider::OpenAi => Arc::new(OpenAi::new(settings, clock.clone())?),
        Provider::Anthropic => Arc::new(Anthropic::new(settings, clock.clone())?),
    };
    let limited = Arc::new(Limited::new(provider, settings.concurrency));
    let retrying = Arc::new(Retrying::new(limited, settings.retries, FIRST_WAIT));
    let (failures, pause) = (settings.breaker_failures, settings.breaker_pause);
    Ok(Arc::new(Breaker::new(retrying, clock, failures, pause, move |open| on_breaker(place, open))))
}
