//! What one direction of a link does to a frame besides making it wait: drawn at its arrival, so
//! that the k-th frame meets the k-th draw of each effect's own stream; applied once it has
//! crossed.

use crate::jitter::JitterModel;
use crate::loss::{Draw, LossModel};
use crate::random::{stream, uniform, Stream};
use crate::spec::Spec;

#[derive(Clone, Copy, Debug, Default)]
pub struct Fate {
    pub loss: Draw,
    pub jitter: f64,
    pub reorder: bool,
    pub duplicate: bool,
    /// Where the flipped bit is, as a share of the payload's bits.
    pub corrupt: Option<f64>,
    /// Attempts on this direction's medium.
    pub tries: u16,
}

pub struct Effects {
    pub loss: LossModel,
    pub jitter: JitterModel,
    pub phy: Stream,
    reorder: Stream,
    duplicate: Stream,
    corrupt: Stream,
    chances: [f64; 3],
}

impl Effects {
    pub fn new(seed: u64, place: &str, spec: &Spec, begin_ns: i64) -> Effects {
        Effects {
            loss: LossModel::new(seed, place, spec.loss.clone(), begin_ns),
            jitter: JitterModel::new(seed, place, spec.jitter.clone()),
            phy: stream(seed, place, "phy loss"),
            reorder: stream(seed, place, "reorder"),
            duplicate: stream(seed, place, "duplicate"),
            corrupt: stream(seed, place, "corrupt"),
            chances: chances(spec),
        }
    }

    /// Other laws from now on; the streams go on.
    pub fn set(&mut self, spec: &Spec, now_ns: i64) {
        self.loss.set(spec.loss.clone(), now_ns);
        self.jitter.set(spec.jitter.clone());
        self.chances = chances(spec);
    }

    /// Every stream moves for every frame, whatever is switched on.
    pub fn draw(&mut self) -> Fate {
        let [reorder, duplicate, corrupt] = self.chances;
        let (bit, hit) = (uniform(&mut self.corrupt), uniform(&mut self.corrupt));
        Fate {
            loss: self.loss.draw(),
            jitter: self.jitter.draw(),
            reorder: uniform(&mut self.reorder) < reorder,
            duplicate: uniform(&mut self.duplicate) < duplicate,
            corrupt: (hit < corrupt).then_some(bit),
            tries: 0,
        }
    }
}

fn chances(spec: &Spec) -> [f64; 3] {
    [spec.reorder.as_ref().map_or(0.0, |reorder| reorder.p), spec.duplicate, spec.corrupt]
}
