"""What one thing does: by the rules of a verdict, so that a feature that breaks trials does not
look fast."""

import dataclasses
import json

import pytest

from rmwbench.bundle import Bundle
from tests.support import kept, synthetic_bundle
from tests.support.shown import show_document

(BASE,) = [arm for arm in synthetic_bundle.ARMS if arm.arm == "fastdds tuned"]
FAST = dataclasses.replace(
    BASE, arm="feature", base_ns=BASE.base_ns / 1.4, bytes_per_ns=BASE.bytes_per_ns * 1.4
)


@pytest.fixture
def effect(tmp_path, monkeypatch):
    """The effect of a feature that is 1.4 times as fast, with `fails` and with what its definition
    says besides."""
    usual = synthetic_bundle._cell_row
    monkeypatch.delenv(kept.VARIABLE)  # what is written depends on more than what is asked for

    def made(fails=(), **definition):
        def row(cell):
            found = usual(cell)
            if found["arm"] != "feature":
                return found
            known = json.loads(found["definition"])
            known["arm"] = {**known.get("arm", {}), "against": BASE.arm}
            return found | {"definition": json.dumps(known | definition)}

        monkeypatch.setattr(synthetic_bundle, "_cell_row", row)
        arms = (BASE, dataclasses.replace(FAST, fails=fails))
        synthetic_bundle.write(tmp_path, arms=arms, workloads=("camera",), blocks=10, sd=0.02)
        (found,) = show_document(Bundle(tmp_path))["workloads"][0]["effects"]
        return found

    return made


def test_a_feature_that_is_faster_lowers_latencies(effect):
    assert "lowers response_latency_p50" in effect()["text"]


def test_a_feature_that_loses_four_of_ten_blocks_is_not_faster_for_the_other_six(effect):
    found = effect(fails=(1, 4, 6, 8))
    assert "response_latency_p50" not in found["text"] and "publish_call_p50" not in found["text"]
    assert found["ratios"]["response_latency_p50"]["no_data"].startswith(
        "in 4 of 10 blocks a side is infinite"
    )
    assert found["ratios"]["pss"]["blocks"] == 6, "what a lost block would have cost is not known"


def test_untimed_trials_have_no_times_to_compare(effect):
    found = effect(sampling={"allocations": True})
    assert (
        set(found["ratios"]) & {"response_latency_p50", "cpu_per_message"} == set()
        and "pss" in found["ratios"]
    )
