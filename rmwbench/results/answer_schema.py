"""The JSON Schema of each document that is made of typed answers.

python -m rmwbench.results.answer_schema NAME      prints it; `make site` has all of them
"""

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
from rmwbench.results.shown import SuiteAnswer

DOCUMENTS: Mapping[str, Any] = {
    "calibration": CalibrationDocument,
    "capacity": Searched,
    "compare": Compared,
    "decide": Decided,
    "explain": tuple[Explanation, ...],
    "show": SuiteAnswer,
}
INFINITE = {"enum": ["inf", "-inf"]}
"""Beside any number with a fraction: JSON has none that is infinite."""


def text(name: str, documents: Mapping[str, Any] = DOCUMENTS) -> str:
    """The schema of one of the documents."""
    schema = TypeAdapter(documents[name]).json_schema()
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": schema.get("title", f"rmwbench {name}"),
        **_ours(schema),
    }
    own = [key for key, held in schema.get("properties", {}).items() if "const" in held]
    if own:  # the schema's name and its version, which have a default
        document["required"] = sorted({*document.get("required", ()), *own})
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _ours(schema: Any) -> Any:
    """Numbers may be infinite; a default of ours is nobody else's, nor a title that is the key
    again; where a docstring's lines end says nothing."""
    if isinstance(schema, list):
        return [_ours(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "number":
        return {"anyOf": [{"type": "number"}, INFINITE]}
    if isinstance(schema.get("description"), str):
        schema = schema | {"description": " ".join(schema["description"].split())}
    return {key: _ours(held) for key, held in schema.items() if not _is_ours(key, held)}


def _is_ours(key: str, held: Any) -> bool:
    return key == "default" or (key == "title" and isinstance(held, str))


def main(documents: Mapping[str, Any]) -> None:
    if sys.argv[1:] not in [[name] for name in documents]:
        sys.exit(f"expected one of {', '.join(documents)}")
    sys.stdout.write(text(sys.argv[1], documents))


if __name__ == "__main__":
    main(DOCUMENTS)
