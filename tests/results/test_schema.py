"""The JSON Schemas are those of the typed answers."""

import json
import subprocess
import sys

import pytest
from pydantic import TypeAdapter

from rmwbench.published import imported
from rmwbench.results import answer_schema
from rmwbench.robot import robot_schema

ALL = {**answer_schema.DOCUMENTS, **imported.DOCUMENTS, **robot_schema.DOCUMENTS}


@pytest.mark.parametrize("name", ALL)
def test_a_schema_has_every_key_of_its_document(name):
    made = json.loads(answer_schema.text(name, ALL))
    keys = TypeAdapter(ALL[name]).json_schema().get("properties", {})
    assert set(made.get("properties", {})) == set(keys)
    assert made["$schema"].startswith("https://json-schema.org/")


def test_a_schema_is_printed_and_an_unknown_one_is_an_error():
    command = [sys.executable, "-m", "rmwbench.results.answer_schema"]
    done = subprocess.run([*command, "show"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, answer_schema.text("show"))
    assert subprocess.run([*command, "shown"], capture_output=True).returncode == 1


def test_what_is_absent_need_not_be_there_and_what_is_infinite_is_a_word():
    made = json.loads(answer_schema.text("compare"))
    ratio = made["$defs"]["Ratio"]
    assert "required" not in ratio
    assert answer_schema.INFINITE in ratio["properties"]["high"]["anyOf"][0]["anyOf"]
    assert {"schema", "version", "verdict"} <= set(made["required"])
