//! The network in virtual time, the classification of frames, and the examples of
//! docs/formats/link.md: one program, built once.

mod classification;
mod common;
mod engine;
mod golden;
mod links;
mod media;
mod police;
mod switching;
mod totals;
