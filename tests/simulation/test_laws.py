"""Order statistics that are drawn without their messages are those of drawn messages."""

import numpy as np
import pytest

from tests.simulation.laws import SCENES, order_statistics

pytestmark = pytest.mark.long

QUANTILES = (0.5, 0.9, 0.99)
TRIALS = 3000
MESSAGES = 300
INDEPENDENT = {scene.name: scene.a for scene in SCENES if scene.a.at is not None}


@pytest.mark.parametrize("scene", INDEPENDENT)
def test_a_shortcut_draws_what_messages_have(scene):
    """Means, spreads and correlations of the logarithms within four of their standard errors, and
    the share of infinite ones."""
    law = INDEPENDENT[scene]
    short = order_statistics(law, np.random.default_rng(1), (TRIALS,), MESSAGES, QUANTILES)
    drawn = np.sort(law.draw(np.random.default_rng(2), (TRIALS, MESSAGES)), axis=1)[
        :, [149, 269, 296]
    ]
    lost = [np.isinf(x).mean(0) for x in (short, drawn)]
    share = (lost[0] + lost[1]) / 2
    assert (np.abs(lost[0] - lost[1]) <= 4 * np.sqrt(2 * share * (1 - share) / TRIALS)).all()
    a, b = (np.log(x[np.isfinite(x).all(1)]) for x in (short, drawn))
    assert min(len(a), len(b)) > TRIALS / 3
    error = np.sqrt(a.var(0) / len(a) + b.var(0) / len(b))
    assert (np.abs(a.mean(0) - b.mean(0)) < 4 * error).all()
    assert np.allclose(a.std(0), b.std(0), rtol=0.12)
    assert np.allclose(np.corrcoef(a.T), np.corrcoef(b.T), atol=0.1)
