"""Plays a twin with one middleware for some seconds, and returns the traffic that its readers
received. A campaign of one trial records it, and remains as evidence."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from rich.console import Console

from rmwbench.bundle import Bundle
from rmwbench.campaign.plan.request import Request
from rmwbench.campaign.start import new_campaign
from rmwbench.errors import UserError
from rmwbench.robot.twin.bag import BagTopic, Message
from rmwbench.robot.twin.suite_text import SuiteStyle, suite_text
from rmwbench.robot.twin.traffic import BagTraffic, traffic
from rmwbench.robot.twin.twin_model import Twin, TwinTopic

ONE_BLOCK = "{planned: 1, minimum: 1}"

PublishTimes = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""A function from writers and sequence numbers to the begins of their publish calls in ns."""


def play(twin: Twin, style: SuiteStyle, directory: Path, console: Console) -> BagTraffic:
    """The received traffic. `style` has the arm and the length of the trial. Raises UserError if
    the twin cannot be played or the trial is not valid."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", prefix=f"{style.name}-") as suite:
        suite.write(suite_text(twin, style))
        suite.flush()
        campaign = new_campaign(Request(suite.name), directory, calibrated=False)
        with campaign.writer, campaign.lab:
            ending = campaign.run(console)
    if ending.stopped_by:
        raise KeyboardInterrupt
    trials = Bundle(directory).trials()
    done_trials = [trial for trial in trials if trial.status == "done"]
    if not done_trials:
        raise UserError(
            "the twin could not be played",
            where=str(directory),
            actual=next((trial.reason for trial in trials if trial.reason), None)
            or "no trial was run",
            fix="`rmwbench explain` shows the trial, `--with NAME` uses another middleware",
        )
    return traffic(_received_messages(Bundle(directory), done_trials[0].trial, twin))


def _received_messages(bundle: Bundle, trial: int, twin: Twin) -> Iterator[Message]:
    """The messages that the first reader of each topic took, with senders' stamps if the topic's
    source has them."""
    readers: dict[str, int] = {}
    for row in bundle.rows("endpoints", trial):
        if row["kind"] == "subscription":
            readers.setdefault(row["topic"], row["endpoint"])
    received = bundle.columns("received", trial, ["endpoint", "writer", "seq", "taken_ns", "bytes"])
    publish_times_ns = _publish_times(bundle, trial)
    for name, reader in readers.items():
        topic = twin.topic(name)
        of_reader = received["endpoint"] == reader
        columns = {key: column[of_reader] for key, column in received.items()}
        yield from _topic_messages(topic, columns, publish_times_ns)


def _topic_messages(
    topic: TwinTopic, columns: dict[str, np.ndarray], publish_times_ns: PublishTimes
) -> Iterator[Message]:
    source = topic.traffic
    bag_topic = BagTopic(name=source.name, type=source.type, offers=source.offers)
    around = topic.message.cdr_bytes - topic.message.payload_bytes
    sent = (
        publish_times_ns(columns["writer"], columns["seq"]).tolist()
        if source.stamp == "publish_time"
        else [None] * len(columns["seq"])
    )
    taken_ns, sizes = columns["taken_ns"].tolist(), columns["bytes"].tolist()
    for log_ns, publish_ns, size in zip(taken_ns, sent, sizes, strict=True):
        yield Message(bag_topic, log_ns, publish_ns, size + around)


def _publish_times(bundle: Bundle, trial: int) -> PublishTimes:
    sent = bundle.columns("sent", trial, ["endpoint", "seq", "call_ns"])
    keys = _key(sent["endpoint"], sent["seq"])
    order = np.argsort(keys)
    keys, times_ns = keys[order], sent["call_ns"][order]
    return lambda writers, numbers: times_ns[np.searchsorted(keys, _key(writers, numbers))]


def _key(writers: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    key: np.ndarray = (writers.astype(np.uint64) << np.uint64(40)) | numbers.astype(np.uint64)
    return key
