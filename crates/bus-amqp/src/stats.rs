use std::{
    sync::{Mutex, PoisonError, atomic::AtomicU64, atomic::Ordering},
    time::Duration,
};

use hindsight_ports::{BusError, Queue, QueueStats};
use hindsight_types::Timestamp;
use lapin::{
    Channel,
    options::{BasicGetOptions, BasicRejectOptions},
};

use crate::{bus::Shared, message, topology::TIERS};

/// How long the age of the oldest dead letter is taken from memory while their number stays the same.
const REMEMBERED: Duration = Duration::from_secs(60);

/// What this process knows of a queue and the broker does not tell.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// Deliveries in our hands.
    pub(crate) unsettled: AtomicU64,
    /// No message that is ready is older: the queue was seen empty then, or what was published then has been
    /// delivered.
    ready_since: Mutex<Option<Timestamp>>,
    oldest_dead: Mutex<Option<OldestDead>>,
}

#[derive(Debug, Clone, Copy)]
struct OldestDead {
    count: u64,
    died_at: Timestamp,
    looked_at: Timestamp,
}

fn age(now: Timestamp, then: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(then)).unwrap_or_default()
}

impl Watched {
    fn note_ready_since(&self, at: Timestamp) -> Timestamp {
        let mut since = self.ready_since.lock().unwrap_or_else(PoisonError::into_inner);
        let latest = since.map_or(at, |known| known.max(at));
        *since = Some(latest);
        latest
    }
}

impl Shared {
    /// A delivery whose message was published at this time.
    pub(crate) fn note_delivery(&self, queue: Queue, published_at: Option<Timestamp>) {
        if let Some(at) = published_at {
            self.watched(queue).note_ready_since(at);
        }
    }

    pub(crate) async fn stats(&self, queue: Queue) -> Result<QueueStats, BusError> {
        // Letters that are being looked at do not count as ready.
        let _looking = self.browsing.lock().await;
        let session = self.supervisor.session().await?;
        let channel = session.channel().await?;
        let now = self.options.clock.now();
        let ready = session.count(&channel, &self.names.work(queue)).await?;
        let mut delayed = 0;
        for tier in TIERS {
            delayed += session.count(&channel, &self.names.retry(queue, tier)).await?;
        }
        let dead = session.count(&channel, &self.names.dead(queue)).await?;
        Ok(QueueStats {
            ready,
            delayed,
            unsettled: self.unsettled(queue).load(Ordering::Relaxed),
            dead,
            oldest: self.oldest(queue, ready, now),
            oldest_dead: self.oldest_dead(&channel, queue, dead, now).await?,
        })
    }

    fn oldest(&self, queue: Queue, ready: u64, now: Timestamp) -> Option<Duration> {
        if ready == 0 {
            self.watched(queue).note_ready_since(now);
            return None;
        }
        let known = *self.watched(queue).ready_since.lock().unwrap_or_else(PoisonError::into_inner);
        // Nothing is known on the first look: then the age counts from here.
        let since = known.unwrap_or_else(|| self.watched(queue).note_ready_since(now));
        Some(age(now, since))
    }

    async fn oldest_dead(
        &self,
        channel: &Channel,
        queue: Queue,
        count: u64,
        now: Timestamp,
    ) -> Result<Option<Duration>, BusError> {
        let remembered = &self.watched(queue).oldest_dead;
        let known = *remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if count == 0 {
            return Ok(None);
        }
        let fresh = known.filter(|k| k.count == count && age(now, k.looked_at) < REMEMBERED);
        if let Some(known) = fresh {
            return Ok(Some(age(now, known.died_at)));
        }
        let name = self.names.dead(queue);
        let got = channel.basic_get(name.as_str().into(), BasicGetOptions::default()).await;
        // Another process may be looking at them just now.
        let Some(first) = got.map_err(crate::session::unavailable)? else {
            return Ok(known.map(|k| age(now, k.died_at)));
        };
        let letter = message::dead_letter(queue, &first.delivery.properties, &first.delivery.data);
        let back = first.delivery.acker.reject(BasicRejectOptions { requeue: true }).await;
        back.map_err(crate::session::unavailable)?;
        let Some(letter) = letter else { return Ok(None) };
        let look = OldestDead { count, died_at: letter.died_at, looked_at: now };
        *remembered.lock().unwrap_or_else(PoisonError::into_inner) = Some(look);
        Ok(Some(age(now, letter.died_at)))
    }
}
