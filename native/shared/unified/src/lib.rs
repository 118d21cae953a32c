//! This crate has no code: its manifest unifies features.
