"""From the link's frame log to the columns of the table `frames` (docs/formats/bundle.md)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from rmwbench.lab.network.switch import CLASSES, FLAGS, NOWHERE, VERDICTS


def frames_columns(frames: np.ndarray, hosts: Sequence[str]) -> dict[str, Any]:
    """Columns of shape (frames,) from records of `switch.RECORD`; `hosts`: the host of each port.
    Absent times and destinations are masked: 0 and 65535 in the log."""
    found: dict[str, Any] = {
        name: frames[name] for name in ("index", "in_ns", "frame_bytes", "payload_bytes")
    }
    found |= {name: np.ma.masked_equal(frames[name], 0) for name in ("due_ns", "out_ns")}
    found["from_host"] = _words(frames["from_port"], hosts)
    found["to_host"] = _words(frames["to_port"], hosts, absent=frames["to_port"] == NOWHERE)
    found["verdict"], found["class"] = (
        _words(frames["verdict"], VERDICTS),
        _words(frames["class"], CLASSES),
    )
    found |= {name: (frames["flags"] & bit) != 0 for name, bit in FLAGS.items()}
    return found | {"attempts": frames["attempts"]}


def _words(numbers: np.ndarray, words: Sequence[str], absent: np.ndarray | None = None) -> pa.Array:
    codes = pa.array(np.minimum(numbers, len(words) - 1).astype(np.int32), mask=absent)
    return pa.DictionaryArray.from_arrays(codes, pa.array(words, pa.string()))
