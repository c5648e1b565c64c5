use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use hindsight_ports::{Clock, Llm, LlmError, LlmReply, LlmRequest};
use hindsight_types::{TenantId, Timestamp};
use jiff::{civil::Date, tz::TimeZone};

use crate::tokens;

/// Holds each tenant to so many tokens, input and output, in one day of UTC. What a request may take is set
/// aside before it is sent, so that calls at the same time cannot overdraw together; afterwards what it took
/// is counted. The count is this process's own and begins anew with it.
pub struct Budgeted {
    inner: Arc<dyn Llm>,
    clock: Arc<dyn Clock>,
    daily_tokens: u64,
    spent: Mutex<Day>,
}

#[derive(Debug, Default)]
struct Day {
    date: Option<Date>,
    /// Tokens spent or set aside.
    spent: HashMap<TenantId, u64>,
}

impl std::fmt::Debug for Budgeted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Budgeted").field("daily_tokens", &self.daily_tokens).finish_non_exhaustive()
    }
}

/// Tokens set aside. What is not settled, because the call was dropped, counts as spent: it may have been.
struct Reserved<'a> {
    budget: &'a Budgeted,
    tenant: &'a TenantId,
    date: Date,
    tokens: u64,
}

impl Reserved<'_> {
    fn settle(self, taken: u64) {
        let mut day = self.budget.today();
        // Of a call over midnight the day it began in has paid.
        if day.date == Some(self.date)
            && let Some(spent) = day.spent.get_mut(self.tenant)
        {
            *spent = spent.saturating_sub(self.tokens).saturating_add(taken);
        }
    }
}

impl Budgeted {
    pub fn new(inner: Arc<dyn Llm>, clock: Arc<dyn Clock>, daily_tokens: u64) -> Self {
        Self { inner, clock, daily_tokens, spent: Mutex::default() }
    }

    /// The count of today, with yesterday's forgotten.
    fn today(&self) -> MutexGuard<'_, Day> {
        let date = date_of(self.clock.now());
        let mut day = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if day.date != Some(date) {
            *day = Day { date: Some(date), spent: HashMap::new() };
        }
        day
    }

    fn reserve<'a>(&'a self, request: &'a LlmRequest) -> Result<Reserved<'a>, LlmError> {
        let tokens = tokens::estimate_input(request).saturating_add(request.max_output_tokens.into());
        let mut day = self.today();
        let date = day.date.unwrap_or_default();
        let spent = day.spent.entry(request.tenant.clone()).or_default();
        let left = self.daily_tokens.saturating_sub(*spent);
        if tokens > left {
            let (tenant, resets_at) = (request.tenant.clone(), midnight_after(date));
            return Err(LlmError::BudgetExceeded { tenant, needed: tokens, left, resets_at });
        }
        *spent = spent.saturating_add(tokens);
        Ok(Reserved { budget: self, tenant: &request.tenant, date, tokens })
    }
}

fn date_of(time: Timestamp) -> Date {
    time.to_zoned_datetime(TimeZone::UTC).date()
}

fn midnight_after(date: Date) -> Timestamp {
    let start = date.tomorrow().and_then(|d| d.to_zoned_datetime(TimeZone::UTC));
    start.map_or(Timestamp::MAX, |z| z.timestamp())
}

#[async_trait]
impl Llm for Budgeted {
    fn model(&self) -> &str {
        self.inner.model()
    }

    async fn complete(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        let reserved = self.reserve(request)?;
        let result = self.inner.complete(request).await;
        reserved.settle(match &result {
            Ok(reply) if reply.cached => 0,
            Ok(reply) => reply.usage.tokens(),
            // The answer may have been made, but how long it was is not known.
            Err(LlmError::TimedOut { .. }) => tokens::estimate_input(request),
            Err(error) => error.usage().tokens(),
        });
        result
    }
}

#[cfg(test)]
mod tests;
