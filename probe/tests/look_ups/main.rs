//! The library against tables built here from values found without it.

mod exact;
mod files;
mod lines;
mod memory;
mod oracle;
