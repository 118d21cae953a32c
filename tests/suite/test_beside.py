"""What runs beside a trial: a folder is all that a feature takes (rmwbench/beside)."""

import pytest

from rmwbench import beside
from rmwbench.campaign.plan.profile import beside_options
from rmwbench.campaign.plan.unsupported_cells import unsupported_reasons
from rmwbench.errors import UserError

from .suite_text import cells_of

WORKLOAD = "message: Bytes(64), rate_hz: 100"
CELL = (
    "def definition(cell): return {'hum': cell.workload.name}\ndef may_silence(cell): return True\n"
)
PLAN = """\
def missing(cell, workers, kind): return 'nobody hums here'
def options(cell, process): return {'hum': process}
"""


@pytest.fixture
def hum(tmp_path, monkeypatch):
    (tmp_path / "hum").mkdir()
    for name, text in (("__init__", ""), ("cell", CELL), ("plan", PLAN)):
        (tmp_path / "hum" / f"{name}.py").write_text(text)
    monkeypatch.setattr(beside, "__path__", [*beside.__path__, str(tmp_path)])
    monkeypatch.setattr(beside, "FEATURES", (*beside.FEATURES, "hum"))
    beside.parts.cache_clear()
    yield
    beside.parts.cache_clear()


def test_a_folder_is_a_feature_of_cells_and_of_plans(hum):
    (cell,) = cells_of(WORKLOAD)
    assert cell.definition()["hum"] == "w" and cell.may_be_silent
    assert beside_options(cell, "talker") == {"hum": "talker"}
    assert unsupported_reasons([cell], {}) == {cell.number: "nobody hums here"}


def test_a_cell_without_any_feature_says_nothing_of_them():
    (cell,) = cells_of(WORKLOAD)
    assert not {"hum", *beside.FEATURES} & {*cell.definition()}
    assert not cell.may_be_silent and beside_options(cell, "talker") == {}


def test_a_workload_is_refused_a_key_that_only_the_program_has():
    with pytest.raises(UserError, match="unknown key `beside`"):
        cells_of(f"{WORKLOAD}, beside: {{recorder: {{}}}}")
