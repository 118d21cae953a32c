"""`rmwbench clean DIR` removes what a killed step of that campaign left, and no file of anybody
else."""

import pytest

from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.journal import ResourceCreated
from rmwbench.campaign.dead_campaign import settle
from rmwbench.errors import UserError
from rmwbench.lab.host import marker
from tests.support import synthetic_bundle

OURS = (
    "tables/sent/000099.parquet",
    "tables/sent/000099.parquet.partial",
    "tables/received/merged-000000.parquet.partial",
    f"files/{'a' * 64}.partial",
    "campaign.json.partial",
)
FOREIGN = (
    "notes.txt",
    "tables/notes.txt",
    "tables/sent/thesis.csv",
    "tables/sent/mine.parquet",
    "tables/sent/000099.parquet.bak",
    "tables/sent/below/000099.parquet",
    "tables/of mine/000099.parquet",
    "files/photo.jpg",
    "files/" + "b" * 64,
)


@pytest.fixture
def littered(tmp_path):
    path = synthetic_bundle.write(tmp_path / "campaign", blocks=2, workloads=("imu",))
    for name in (*OURS, *FOREIGN):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(name)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "000001.parquet").write_text("precious")
    (path / "tables" / "spans").symlink_to(elsewhere)
    (path / "tables" / "sent" / "000098.parquet").symlink_to(elsewhere / "000001.parquet")
    return path


def test_only_what_a_step_of_the_campaign_left_is_removed(littered, tmp_path):
    whole = [
        path for name in ("trials", "sent", "received") for path in Bundle(littered).paths(name)
    ]
    settled = settle(littered, dry_run=True)
    assert len(settled) == len(OURS) and all((littered / name).exists() for name in OURS)
    assert len(settle(littered, dry_run=False)) == len(OURS)
    assert not [name for name in OURS if (littered / name).exists()]
    assert all((littered / name).read_text() == name for name in FOREIGN)
    assert (tmp_path / "elsewhere" / "000001.parquet").read_text() == "precious"
    assert (littered / "tables" / "sent" / "000098.parquet").is_symlink()
    assert all(path.exists() for path in whole) and settle(littered, dry_run=False) == []


def test_resuming_removes_no_more_than_that(littered):
    BundleWriter.reopen(littered).close()
    assert all((littered / name).exists() for name in FOREIGN)
    assert not any((littered / name).exists() for name in OURS)


def test_the_bag_of_a_campaign_that_runs_in_a_container_stays(tmp_path):
    """Its process is not seen from here; its lock is."""
    bag = tmp_path / "campaign" / "bag-000003.partial"
    inside = marker.own_marker("")._replace(pid_namespace="pid:[1]").text()
    with BundleWriter.create(tmp_path / "campaign", {"campaign": "c"}) as running:
        running.append(ResourceCreated(resource={"kind": "hosts", "marker": inside}))
        bag.mkdir()
        with pytest.raises(UserError, match="another rmwbench is writing"):
            settle(tmp_path / "campaign", dry_run=False)
        assert bag.exists()
    assert len(settle(tmp_path / "campaign", dry_run=False)) == 2
    assert not bag.exists() and not Bundle(tmp_path / "campaign").journal.left_behind()
