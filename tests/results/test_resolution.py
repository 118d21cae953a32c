"""What a design could have resolved: of the blocks that a workload had, and with what they are
worth."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rmwbench.analysis.stats.resolution import Threshold, comparisons, resolvable_ratio
from rmwbench.analysis.verdicts import sequential
from rmwbench.analysis.verdicts.ratio import spread
from rmwbench.analysis.verdicts.variances import NO_LIKENESS, NO_PRIOR, Likeness
from rmwbench.analysis.verdicts.verdict import Family, JudgedArm, Rules
from rmwbench.bundle import Bundle
from rmwbench.results.judged_campaign import judge_campaign
from rmwbench.results.show_document import _least_resolved, _resolution
from rmwbench.results.show_model import JudgedAt
from tests.support import synthetic_bundle
from tests.support.edited import journal

LOOKS = sequential.planned_looks(5, 10)
LAST = sequential.alpha_at(LOOKS, 10)
JUDGED = JudgedAt(blocks=10, alpha=LAST, look=len(LOOKS), looks=LOOKS)


def arms(*blocks):
    rng = np.random.default_rng(3)
    return [
        JudgedArm(str(n), dict(enumerate(np.exp(rng.normal(0, 0.1, count)))))
        for n, count in enumerate(blocks)
    ]


def resolved(judged_arms, alike=NO_LIKENESS):
    return _resolution(judged_arms, JUDGED, Rules(alpha=LAST), len(judged_arms), NO_PRIOR, alike)


def promise(judged_arms, blocks, **more):
    return resolvable_ratio(
        blocks,
        comparisons(len(judged_arms), len(judged_arms)),
        spread(judged_arms),
        Threshold(margin=0.05, **more),
    )


def test_a_workload_that_was_decided_at_the_first_look_has_its_blocks_and_its_share():
    """Its sentence was of the campaign's ten blocks and the last look: 1.49 instead of 2.56."""
    judged_arms = arms(5, 5, 5)
    said = resolved(judged_arms)
    assert said.blocks == 5 and "With 5 blocks" in said.text
    assert "look 1 of 3, after 5 blocks" in said.text
    first = promise(judged_arms, 5, alpha=sequential.alpha_at(LOOKS, 5))
    assert said.resolvable_ratio == pytest.approx(first, rel=1e-5)
    assert first > promise(judged_arms, 10, alpha=LAST)


def test_a_block_that_has_only_begun_does_not_make_blocks_shorter(tmp_path):
    """A sixth block with one of three trials made a block a ninth shorter, and each length of a
    campaign that would decide something."""
    path = synthetic_bundle.write(
        tmp_path / "c", arms=synthetic_bundle.ARMS[:3], workloads=("imu",), blocks=6
    )
    whole = judge_campaign(Bundle(path)).rules.minutes_per_block
    with journal(path) as lines:
        first = next(line["trial"] for line in lines if line.get("block") == 5)
        lines[:] = [x for x in lines if x.get("block") != 5 or x.get("trial") == first]
    begun = judge_campaign(Bundle(path))
    assert begun.campaign.blocks_complete == 5
    assert begun.rules.minutes_per_block == pytest.approx(whole)


def test_a_family_of_one_arm_does_not_hide_what_the_other_resolves():
    """`What resolves least is by loan. Fewer than two contenders have data …`"""
    pair, alone = resolved(arms(10, 10)), resolved(arms(10))
    assert (alone.comparisons, alone.resolvable_ratio) == (0, None)
    least = _least_resolved({(None, Family.COPY): pair, (None, Family.LOAN): alone})
    assert least.resolvable_ratio == pair.resolvable_ratio
    assert least.text.startswith("What resolves least is by copy. With 10 blocks")
    assert _least_resolved({(None, None): alone}) == alone


def test_blocks_that_resemble_each_other_resolve_less():
    judged_arms = arms(10, 10, 10)
    alike = Likeness(error=0.1, usable=True, inflates=True, used=0.48)
    said, plain = (
        math.log(resolved(judged_arms, likeness).resolvable_ratio)
        for likeness in (alike, NO_LIKENESS)
    )
    assert said > math.sqrt(alike.variance_factor(10)) * plain > 1.2 * plain


def test_where_no_ratio_exists_the_blocks_are_not_too_few():
    endless = [replace(arm, primary=dict.fromkeys(arm.primary, math.inf)) for arm in arms(10, 10)]
    assert resolved(endless).text.startswith("No two contenders have a ratio")
    assert resolved(arms(4, 4)).text.startswith("Too few blocks")
