//! The bus of a cluster, on RabbitMQ (3.10 or later).
//!
//! Everything hangs on one topic exchange, `hindsight`: for each work queue the queue itself, five retry
//! queues (100 ms, 1 s, 5 s, 30 s, 5 min) whose messages expire back to it, and its dead letters, all of them
//! quorum queues. Publishing is confirmed and mandatory, and only an acknowledgement that returns nothing
//! counts. A retry is published to a retry queue and then acknowledged here, so a crash in between doubles
//! it and loses nothing. Attempts and the reasons of failures travel in headers.
//!
//! What is told to all goes through the fan-out exchange `hindsight.invalidate`. Each listener binds a short
//! queue of its own to it, which ends with its connection, and sends itself an echo now and then: while the
//! echo comes back in time nothing can have been missed for longer than that; else the listener says so.
//!
//! What a dead process held comes again without counting as an attempt; after fifty such deliveries the
//! broker sets it aside. A delivery must be settled within the broker's `consumer_timeout` (half an hour by
//! default).

mod bus;
mod consumer;
mod dead;
mod leadership;
mod listener;
mod message;
mod options;
mod session;
mod settle;
mod stats;
mod supervisor;
#[cfg(feature = "testkit")]
pub mod testkit;
mod topology;

pub use bus::AmqpBus;
pub use options::AmqpOptions;
