mod incidents;
mod principles;
mod properties;
