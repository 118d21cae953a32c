//! Middlewares written in C or C++ behind the traits: one adapter over the table of
//! `include/rmwbench_worker.h`.
//!
//! The adapter adds two pointer calls to a message and nothing else: no allocation, no copy, no
//! lock. The table is checked once, when it is loaded (version, size, missing functions;
//! [`table`]), so that the hot path need not check. [`reports`] reads what the table reports,
//! [`requests`] writes the requests to it, [`session`] and [`endpoint`] are the objects; [`pump`]
//! lends the harness's receive loop, and [`answer()`] returns a text or an error to a C caller.
//!
//! A Rust crate may use it too: the Fast DDS worker's `main` passes its C++ shim's table to
//! [`CMiddleware::load`].

mod answer;
mod endpoint;
mod pump;
pub mod raw;
mod reports;
mod requests;
mod security;
mod session;
pub(crate) mod spans;
pub(crate) mod steps;
mod table;

use std::ffi::{c_char, c_int, CStr};
use std::process::ExitCode;

pub use answer::answer;
pub use session::CMiddleware;

#[no_mangle]
extern "C" fn rmwbench_now_ns() -> i64 {
    crate::clock::now_ns()
}

/// A worker's `main` for programs whose own `main` is in C, or in an interpreter.
///
/// # Safety
/// The same as for [`CMiddleware::load`]; `argv` holds `argc` texts.
#[no_mangle]
unsafe extern "C" fn rmwbench_worker_main(
    middleware: *const raw::Middleware,
    argc: c_int,
    argv: *mut *mut c_char,
) -> c_int {
    let text =
        |place: c_int| CStr::from_ptr(*argv.add(place as usize)).to_string_lossy().into_owned();
    let arguments = (0..argc).map(text).collect();
    match CMiddleware::load(middleware) {
        Ok(middleware) if crate::worker::main_with(&middleware, arguments) == ExitCode::SUCCESS => {
            0
        }
        Ok(_) => 2,
        Err(error) => {
            eprintln!("{error}");
            2
        }
    }
}

#[cfg(test)]
mod tests;
