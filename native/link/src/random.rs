//! The random streams: one per effect and place, so that switching one effect on changes no other's
//! draws.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub type Stream = ChaCha8Rng;

/// The stream of an effect (`loss`, `jitter`, …) at a place (`robot.up`, `wifi`): the same on every
/// machine.
pub fn stream(seed: u64, place: &str, effect: &str) -> Stream {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&fnv1a(place).to_le_bytes());
    key[16..24].copy_from_slice(&fnv1a(effect).to_le_bytes());
    key[24..].copy_from_slice(b"rmw-link");
    ChaCha8Rng::from_seed(key)
}

/// A draw from [0, 1).
pub fn uniform(stream: &mut Stream) -> f64 {
    (stream.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// FNV-1a, 64 bits, makes keys from names; the only required quality is "different names, different
/// keys".
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
