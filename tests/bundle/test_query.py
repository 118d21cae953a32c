"""`rmwbench query`: SQL over what the journal names, and nothing else on the machine."""

import csv
import io
import json
import shutil

import pyarrow.parquet as pq
import pytest

from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.newest import newest_campaign
from rmwbench.bundle.schema import TABLES
from rmwbench.bundle.sql import ask
from rmwbench.errors import UserError
from tests.support import synthetic_bundle
from tests.support.command import captured


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    # a quote in the path: file names go into SQL
    return Bundle(
        synthetic_bundle.write(
            tmp_path_factory.mktemp("o'query") / "c", blocks=1, workloads=("pointcloud",)
        )
    )


def test_a_join_over_trials_and_cells(bundle):
    result = ask(
        bundle,
        "select arm, count(*) as n from received join trials using (trial) join cells using (cell) "
        "group by arm order by arm",
    )
    assert result.columns == ["arm", "n"]
    assert len(result.rows) == 8
    assert all(n == 23 for _, n in result.rows)


def test_every_table_has_a_view_with_the_documented_columns(bundle):
    for name, schema in TABLES.items():
        result = ask(bundle, f"select * from {name} limit 0")
        assert result.columns == schema.names


def test_files_that_the_journal_does_not_name_are_not_there(bundle, tmp_path):
    with BundleWriter.create(tmp_path / "c", {}) as writer:
        writer.write_tables(0, {"trials": {"trial": [0]}})
    assert ask(Bundle(tmp_path / "c"), "select count(*) from trials").rows == [(0,)]


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("select * from recieved", "did you mean the table received"),
        ("selct 1", "Parser Error"),
        ("select counter, at, value from counters", 'write the column as "at"'),
        ("select latency from sent", "latency"),
        (" ; ", "the query is empty"),
        ("select * from read_csv('/etc/passwd')", "Permission Error"),
        ("copy cells to 'out.csv'", "Permission Error"),
        ("set enable_external_access = true", "the query failed"),
    ],
)
def test_a_wrong_or_reaching_query_is_one_clear_error(bundle, sql, says):
    with pytest.raises(UserError) as error:
        ask(bundle, sql)
    assert says in str(error.value)


def test_a_truncated_table_is_named(bundle, tmp_path):
    shutil.copytree(bundle.directory, tmp_path / "c")
    (tmp_path / "c/tables/sent/000002.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match=r"sent/000002\.parquet"):
        ask(Bundle(tmp_path / "c"), "select 1")


def test_newest_campaign_is_by_creation_and_ignores_rubbish(tmp_path):
    for name, created in (("z-old", "2026-01-01T00:00:00Z"), ("a-new", "2026-02-01T00:00:00Z")):
        BundleWriter.create(tmp_path / name, {"created_utc": created}).close()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/campaign.json").write_text("{")
    assert newest_campaign(tmp_path).name == "a-new"
    with pytest.raises(UserError, match="no campaign yet"):
        newest_campaign(tmp_path / "none")


def test_output_as_table_json_and_csv(bundle, capsys):
    def printed(*form):
        return captured(capsys, "query", sql, bundle.directory, *form)[1]

    sql = "select cell, arm, null as nothing, 'a [b], c' as text from cells order by cell limit 2"
    text = printed()
    assert "floor futex" in text
    assert "a [b], c" in text
    assert "–" in text
    rows = json.loads(printed("--json"))
    assert rows[0] == {"cell": 0, "arm": "floor futex", "nothing": None, "text": "a [b], c"}
    table = list(csv.reader(io.StringIO(printed("--csv"))))
    assert table[0] == ["cell", "arm", "nothing", "text"]
    assert table[1] == ["0", "floor futex", "", "a [b], c"]


def test_every_value_of_a_row_is_in_its_json_object(bundle, capsys):
    """A join lost one of two columns of the same name, a decimal was a text, and a number within a
    list that JSON does not have was a crash."""
    sql = (
        "select cell, cell + 1 as cell, [1.5::double, 'nan'::double] as listed, 0.5 as half, "
        "map {'a': 'inf'::double} as mapped from cells order by 1 limit 1"
    )
    code, out, _ = captured(capsys, "query", sql, bundle.directory, "--json")
    assert code == 0 and json.loads(out) == [
        {"cell": 0, "cell_1": 1, "listed": [1.5, None], "half": 0.5, "mapped": {"a": None}}
    ]


@pytest.mark.parametrize("folder", ["arm=mine", "run[1]", "run*"])
def test_a_folder_above_the_campaign_is_neither_a_column_nor_a_pattern(bundle, tmp_path, folder):
    """Every arm was called `mine`, and the tables of `run1` were read."""
    other = shutil.copytree(bundle.directory, tmp_path / "run1" / "c")
    (cells,) = Bundle(other).paths("cells")
    pq.write_table(pq.read_table(cells).slice(0, 1), cells)
    directory = shutil.copytree(bundle.directory, tmp_path / folder / "c")
    sql = "select arm from cells order by arm"
    assert ask(Bundle(directory), sql) == ask(bundle, sql)
