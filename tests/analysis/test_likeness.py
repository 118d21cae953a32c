"""How much blocks resemble their neighbours: in a workload that tells it, and over a report."""

import numpy as np

from rmwbench.analysis.verdicts.likeness import likeness, likenesses


def independent(rng: np.random.Generator, arms: int, blocks: int) -> np.ndarray:
    return 0.2 * rng.standard_normal((arms, blocks))


def drifting(rng: np.random.Generator, arms: int, blocks: int) -> np.ndarray:
    """Each arm by itself, in its own direction."""
    slopes = rng.standard_normal((arms, 1))
    return slopes * np.linspace(-1, 1, blocks) + 0.05 * rng.standard_normal((arms, blocks))


def test_a_workload_whose_blocks_are_independent_is_not_inflated_by_the_drift_of_another():
    """Seen: five blocks of a camera left all eleven of an IMU undecided."""
    rng = np.random.default_rng(3)
    camera, imu = drifting(rng, 7, 5), independent(rng, 7, 11)
    assert likeness([camera, imu]).inflates
    of_camera, of_imu = likenesses([camera, imu], likeness([camera, imu]))
    assert of_camera == likeness([camera, imu])
    assert of_imu.used < of_camera.used / 2 and of_imu.variance_factor(11) < 1.2


def test_what_all_workloads_share_is_used_in_each():
    rng = np.random.default_rng(5)
    workloads = [drifting(rng, 7, 10) for _ in range(3)]
    assert likenesses(workloads, likeness(workloads)) == [likeness(workloads)] * 3


def test_an_arm_that_left_early_takes_no_block_from_those_that_stayed():
    """Only the five blocks of the first look told how alike blocks are, and these were too few to
    use: two arms that drift were judged at 20 blocks as if all were independent."""
    rng = np.random.default_rng(6)
    arms = drifting(rng, 4, 20)
    arms[3, 5:] = np.nan
    assert likeness([arms]) == likeness([arms[:3]])
    assert likeness([arms]).inflates and likeness([arms]).blocks == 20
    lossy = drifting(rng, 3, 12)
    lossy[1, ::2] = np.inf  # its messages did not arrive
    assert likeness([lossy]) == likeness([lossy[[0, 2]]])
    lossy[1:, 4:] = np.nan
    assert likeness([lossy]).lag_one is None, "no two arms have five blocks"
