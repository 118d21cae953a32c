"""What test processes need not do."""

import os


def flushes() -> None:
    """What a test writes need not survive a power cut, and a campaign flushes each of its thousand
    files: its test would wait for the disk longer than for anything else. That what is flushed is
    open is still asked. Commands that a test starts with a new interpreter (`COMMAND`) flush as
    ever."""
    os.fsync = os.fstat
