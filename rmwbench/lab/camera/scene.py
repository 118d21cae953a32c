"""Draws frames of a scene, with and without the noise of a sensor, the same on every machine.

The ratio of compression depends on the content of a frame alone: zeros and test pictures overstate
it by far, random bytes understate it. `photo` is the scene that a camera's sensor sees by day: a
sky that is partly overexposed, walls with fading light, edges, grass, and the noise of photons and
of the read-out (Poisson's law and a constant, EMVA 1288). `rendered` is the same scene from a
simulator's camera, without noise. The camera turns a little from frame to frame.

The ratios of real frames were measured once with LZ4 in blocks of 65 000 bytes, as Zenoh compresses
them: six colour photographs by day (scikit-image's and scikit-learn's) shrink by 1.01 to 1.29, with
a noise of two grey levels by 1.00 to 1.05; two that are mostly black shrink by 1.6 and 3.1. `photo`
is meant to shrink like the better of the six.
"""

from functools import lru_cache

import numpy as np
import pyarrow as pa

from rmwbench.suite.workload.camera import PHOTO, PixelFormat

FRAMES = 6
"""The number of different frames; after them the first one comes again."""
TURN_PIXELS = 4
"""The turn of the camera from frame to frame."""
SEED = 20261123
BLOCK_BYTES = 65_000
"""It is less than a batch of Zenoh can hold (65 535 bytes)."""

READ_NOISE, PHOTON_NOISE = 1.2, 0.02
"""The standard deviation in the dark, in grey levels of 255, and the variance per grey level."""
HORIZON, GROUND = 0.45, 0.8
"""The upper edges of the walls and of the grass, as fractions of the height."""
OBJECTS = 24
"""The number of doors, boxes and people, which have edges."""


@lru_cache(maxsize=2)
def frames(kind: str, format_: PixelFormat) -> tuple[bytes, ...]:
    """Draws all frames of a kind, RGB without padding."""
    random = np.random.default_rng([SEED, format_.width, format_.height])
    scene = _scene(format_.width + TURN_PIXELS * (FRAMES - 1), format_.height, random)
    views = (scene[:, TURN_PIXELS * number :][:, : format_.width] for number in range(FRAMES))
    return tuple(_to_bytes(_with_noise(view, random) if kind == PHOTO else view) for view in views)


def lz4_ratio(frame: bytes) -> float:
    """The ratio of a frame's bytes to those after LZ4 in blocks, as Zenoh compresses."""
    blocks = [frame[at : at + BLOCK_BYTES] for at in range(0, len(frame), BLOCK_BYTES)]
    shrunk = sum(
        min(len(block), len(pa.compress(block, codec="lz4_raw", asbytes=True))) for block in blocks
    )
    return len(frame) / shrunk


def _scene(width: int, height: int, random: np.random.Generator) -> np.ndarray:
    """The brightness, shape (height, width, 3): 0 to 255, and more where overexposed."""
    y, x = np.linspace(0, 1, height)[:, None, None], np.linspace(0, 1, width)[None, :, None]
    horizon, ground = int(HORIZON * height), int(GROUND * height)
    sun = 420 * np.exp(-((x - 0.7) ** 2) / 0.06) * np.exp(-((y - 0.1) ** 2) / 0.035)
    scene: np.ndarray = (np.array([120, 150, 190]) + 60 * y + sun).astype(np.float32)
    scene[horizon:] = (np.array([150, 140, 125]) * (0.55 + 0.4 * x * (1.2 - y)))[horizon:]
    for _ in range(OBJECTS):
        across = slice(*(int(width * part) for part in _random_span(random, 0.0, 0.95, 0.02, 0.12)))
        down = slice(*(int(height * part) for part in _random_span(random, 0.3, 0.75, 0.05, 0.3)))
        scene[down, across] = random.uniform(15, 200, 3) * (0.8 + 0.3 * y[down])
    grass = 22 * random.standard_normal((height - ground, width, 1), np.float32)
    scene[ground:] = np.array([60, 95, 40], np.float32) + grass
    return scene


def _random_span(
    random: np.random.Generator, first: float, last: float, least: float, most: float
) -> tuple[float, float]:
    """A random begin and end, as fractions of the whole."""
    begin = random.uniform(first, last)
    return begin, begin + random.uniform(least, most)


def _with_noise(light: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The brightness with the noise of a sensor; overexposed parts stay overexposed."""
    deviation = np.sqrt(READ_NOISE**2 + PHOTON_NOISE * light.clip(0, 255))
    return light + deviation * random.standard_normal(light.shape, np.float32)


def _to_bytes(light: np.ndarray) -> bytes:
    return light.clip(0, 255).round().astype(np.uint8).tobytes()
