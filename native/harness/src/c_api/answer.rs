//! The result of a function of the header that returns a text and may fail.

use std::ffi::{c_char, c_int};

use super::{raw, reports};
use crate::middleware::Error;

/// Writes the text and its NUL to `place` and returns 1, or writes what is wrong to `error` and
/// returns 0. A text that is too long is cut.
pub fn answer(
    text: Result<impl AsRef<[u8]>, Error>,
    place: &mut [c_char],
    error: &mut raw::Error,
) -> c_int {
    match text {
        Ok(text) => {
            write(place, text.as_ref());
            1
        }
        Err(failure) => {
            error.kind = reports::number(failure.kind);
            write(&mut error.object, failure.object.as_bytes());
            write(&mut error.message, failure.message.as_bytes());
            0
        }
    }
}

fn write(place: &mut [c_char], text: &[u8]) {
    let length = text.len().min(place.len() - 1);
    for (to, from) in place.iter_mut().zip(&text[..length]) {
        *to = *from as c_char;
    }
    place[length] = 0;
}
