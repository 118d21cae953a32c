"""Reads the messages of a db3 file. SQLite knows the length of a message from the header of its
row, so large payloads are not read."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from rmwbench.errors import UserError
from rmwbench.robot.twin import compression
from rmwbench.robot.twin.qos_offer import offers
from rmwbench.robot.twin.stream import BagTopic, Message

ROWS_PER_STEP = 5_000
_ROWS = f"SELECT id, topic_id, timestamp, length(data), substr(data, 1, {compression.HEAD_BYTES}) FROM messages"


def sqlite_messages(
    path: Path, progress: Callable[[float], None], users_path: Path | None = None
) -> Iterator[Message]:
    """The messages of a db3 file. `users_path` is the path for errors, if another one. Calls
    `progress` with the share of the rows now and then. Raises UserError for a file that is damaged
    or not the storage of a bag."""
    try:
        with closing(_connection(path)) as database:
            topics = _topics(database)
            (last,) = database.execute("SELECT max(id) FROM messages").fetchone()
            for number, (row, topic, log_ns, stored, head) in enumerate(database.execute(_ROWS)):
                if number % ROWS_PER_STEP == 0:
                    progress(row / last)
                size = compression.message_bytes(head, stored, _whole(database, row))
                yield Message(topics[topic], log_ns, None, size)
    except (sqlite3.Error, KeyError, TypeError, ValueError, *compression.BROKEN) as error:
        raise UserError(
            "this is not the storage of a bag, or it is damaged",
            where=str(users_path or path),
            expected="a db3 file of rosbag2",
            actual=f"{type(error).__name__}: {error}",
            fix="SQLite's `.recover` saves the undamaged part",
        ) from None


def _connection(path: Path) -> sqlite3.Connection:
    """A read-only connection; in a read-only directory it ignores the log of an open writer."""
    uri = path.absolute().as_uri()
    database = sqlite3.connect(f"{uri}?mode=ro", uri=True)
    try:
        database.execute("SELECT count(*) FROM topics")
    except sqlite3.OperationalError:
        database.close()
        database = sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True)
    return database


def _topics(database: sqlite3.Connection) -> dict[int, BagTopic]:
    """Topic number -> topic. Bags of Eloquent and before have no column of offers."""
    columns = {name for _, name, *_ in database.execute("PRAGMA table_info(topics)")}
    offered = "offered_qos_profiles" if "offered_qos_profiles" in columns else "''"
    rows = database.execute(f"SELECT id, name, type, {offered} FROM topics")
    return {
        number: BagTopic(name=name, type=kind, offers=offers(profiles))
        for number, name, kind, profiles in rows
    }


def _whole(database: sqlite3.Connection, row: int) -> Callable[[], bytes]:
    def read() -> bytes:
        (data,) = database.execute("SELECT data FROM messages WHERE id = ?", (row,)).fetchone()
        return bytes(data)

    return read
