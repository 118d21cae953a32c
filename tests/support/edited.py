"""Files of a bundle that a test changes behind its writer's back."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def campaign_json(directory: Path) -> Iterator[dict[str, Any]]:
    """The document of campaign.json, which is written as the block leaves it."""
    path = directory / "campaign.json"
    document = json.loads(path.read_text())
    yield document
    path.write_text(json.dumps(document))


@contextmanager
def journal(directory: Path) -> Iterator[list[dict[str, Any]]]:
    """The lines of the journal, which are written as the block leaves them."""
    path = directory / "journal.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    yield lines
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def limit_median(directory: Path, at_most_ns: float) -> None:
    """Gives the plan the limit above which no arm's median is acceptable."""
    with campaign_json(directory) as document:
        document["plan"]["outcomes"] = {
            "acceptable": [{"metric": "response_latency_p50", "at_most": at_most_ns}],
            "none": {"metric": "undelivered", "at_least": 0.95},
        }
