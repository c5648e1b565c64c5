//! Attacks on ranking from outside: what arms and stores may bring in any order and with any content, and what
//! recalled text may try. Only the public interface is used.

mod hostile;
mod invariants;
mod world;
