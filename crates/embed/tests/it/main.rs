mod contract;
mod directory;
mod support;
