"""The JSON Schemas of docs/formats are those of the typed answers."""

import json

import pytest

from rmwbench.results import schema


@pytest.mark.parametrize("name", schema.DOCUMENTS)
def test_the_schema_is_the_classes(name):
    path = schema.FOLDER / f"{name}.schema.json"
    assert path.read_text(encoding="utf-8") == schema.text(name), (
        "python -m rmwbench.results.schema"
    )


def test_what_is_absent_need_not_be_there_and_what_is_infinite_is_a_word():
    made = json.loads(schema.text("compare"))
    ratio = made["$defs"]["Ratio"]
    assert (
        "required" not in ratio
        and schema.INFINITE in ratio["properties"]["high"]["anyOf"][0]["anyOf"]
    )
    assert {"schema", "version", "verdict"} <= set(made["required"])
