mod blame;
mod chains;
mod incidents;
mod metamorphic;
mod principles;
mod properties;
