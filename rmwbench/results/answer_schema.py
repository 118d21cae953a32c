"""Prints the JSON Schema of each document that is written from a typed answer.

`python -m rmwbench.results.answer_schema NAME` prints one of them; `make site` writes all."""

import json
import sys
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from rmwbench.results.capacity.capacity_model import Searched
from rmwbench.results.compare.compare_model import Compared
from rmwbench.results.decide.decide_model import Decided
from rmwbench.results.explain.explain_model import Explanation
from rmwbench.results.machine.machine_model import CalibrationDocument
from rmwbench.results.show_model import SuiteAnswer

DOCUMENTS: Mapping[str, Any] = {
    "calibration": CalibrationDocument,
    "capacity": Searched,
    "compare": Compared,
    "decide": Decided,
    "explain": tuple[Explanation, ...],
    "show": SuiteAnswer,
}
INFINITE = {"enum": ["inf", "-inf"]}
"""This stands beside any number that may have a fraction: JSON has no infinite number."""


def text(name: str, documents: Mapping[str, Any] = DOCUMENTS) -> str:
    """Return the schema of one of the documents as JSON text."""
    schema = TypeAdapter(documents[name]).json_schema()
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": schema.get("title", f"rmwbench {name}"),
        **_public(schema),
    }
    constants = [key for key, value in schema.get("properties", {}).items() if "const" in value]
    if constants:  # the schema's name and its version, which have a default
        document["required"] = sorted({*document.get("required", ()), *constants})
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _public(schema: Any) -> Any:
    """Return the part of a schema that is for users: defaults of our classes and titles that repeat
    their key are left out, a description is one line, and any number may be infinite."""
    if isinstance(schema, list):
        return [_public(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "number":
        return {"anyOf": [{"type": "number"}, INFINITE]}
    if isinstance(schema.get("description"), str):
        schema = schema | {"description": " ".join(schema["description"].split())}
    return {
        key: _public(value)
        for key, value in schema.items()
        if key != "default" and not (key == "title" and isinstance(value, str))
    }


def main(documents: Mapping[str, Any]) -> None:
    if sys.argv[1:] not in [[name] for name in documents]:
        sys.exit(f"expected one of {', '.join(documents)}")
    sys.stdout.write(text(sys.argv[1], documents))


if __name__ == "__main__":
    main(DOCUMENTS)
