//! The effects of one direction of a link on a frame, besides making it wait. They are drawn at the
//! frame's arrival, so that the k-th frame gets the k-th draw of each effect's own stream; they are
//! applied after the frame has crossed.

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
    /// The position of the flipped bit, as a share of the payload's bits.
    pub corrupt: Option<f64>,
    /// The number of attempts on this direction's medium.
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

    /// Sets other laws from now on; the streams continue.
    pub fn set(&mut self, spec: &Spec, now_ns: i64) {
        self.loss.set(spec.loss.clone(), now_ns);
        self.jitter.set(spec.jitter.clone());
        self.chances = chances(spec);
    }

    /// Draws from every stream for every frame, whichever effects are switched on.
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
