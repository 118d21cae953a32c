"""The loss ledger: the fate of every message that a schedule wanted, per writer and reader.

Sequence numbers are dense per writer, so a message's sequence number *is* its place in an array:
the ledger is an index, not a join. Every wanted message is in exactly one part of the ledger:
delivered, under way, vanished, after the drain, corrupt, failed, not attempted. Messages that did
not arrive have one of three fates: lost, late, never sent.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from enum import Enum, StrEnum

import numpy as np

from rmwbench.codes import CORRUPT, FOREIGN, LATE, LOANED, WARMUP

ABSENT = np.iinfo(np.int64).min
"""A stamp that was not taken (the bundle's null), in signed 64-bit arrays."""


class UnsentBy(StrEnum):
    """Why a message that was due was not sent. `call`: its writer's own publish call held it;
    `sibling`: the publish call of another writer held its thread; `machine`: no call held it, but
    its thread did not come to it in time; `refused`: its publish call returned an error."""

    CALL = "call"
    SIBLING = "sibling"
    MACHINE = "machine"
    REFUSED = "refused"


@dataclass(frozen=True)
class Ledger:
    """Counts over the steady window, added over pairs of writer and reader. All are messages.

    wanted = delivered + under_way + vanished + after_drain + corrupt + failed + not_attempted, once
    per reader. `under_way`: of a reliable stream that had not come to its end when the trial
    stopped waiting. `vanished` (= vanished_start + vanished_middle + vanished_end): published, and
    nothing arrived. `after_drain`: of a best-effort stream, arrived after the drain. `corrupt`:
    only corrupt copies arrived. `failed`: the publish call returned an error. `not_attempted`: no
    publish call was made; `held_by_call` of these were held by their writer's own publish call and
    `held_by_sibling` by the call of another writer of its thread (unsent.py).

    Beside that partition: `corrupt_copies`, `duplicates` (further copies that were sound and in
    time), `reordered` (first arrivals after a message with a larger sequence number of the same
    writer), `foreign` (not from this trial), `unrecorded` (arrivals whose sending left no record).

    The three fates of messages that did not arrive are `lost` (sent, and no sound copy arrived),
    `late` (sent, and on its way when the trial stopped waiting) and `never_sent` (due, and not
    sent)."""

    wanted: int = 0
    delivered: int = 0
    under_way: int = 0
    vanished_start: int = 0
    vanished_middle: int = 0
    vanished_end: int = 0
    after_drain: int = 0
    corrupt: int = 0
    failed: int = 0
    not_attempted: int = 0
    corrupt_copies: int = 0
    duplicates: int = 0
    reordered: int = 0
    foreign: int = 0
    unrecorded: int = 0
    held_by_call: int = 0
    held_by_sibling: int = 0

    def __add__(self, other: "Ledger") -> "Ledger":
        return Ledger(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(Ledger)}
        )

    @property
    def vanished(self) -> int:
        return self.vanished_start + self.vanished_middle + self.vanished_end

    @property
    def published(self) -> int:
        """Deliveries that a successful publish call promised: the denominator of loss."""
        return self.wanted - self.failed - self.not_attempted

    @property
    def lost(self) -> int:
        """Published messages that vanished, or of which only corrupt copies came."""
        return self.vanished + self.corrupt

    @property
    def late(self) -> int:
        """Published messages that were on their way when the trial stopped waiting."""
        return self.under_way + self.after_drain

    @property
    def never_sent(self) -> int:
        """Wanted messages that were not sent, because no publish call was made or it failed."""
        return self.not_attempted + self.failed

    @property
    def undelivered(self) -> int:
        """Wanted messages that did not arrive sound and in time, for any reason but that they were
        under way."""
        return self.wanted - self.delivered - self.under_way

    def held(self, by: UnsentBy) -> "Ledger":
        """The ledger with the cause of its messages that were not attempted."""
        return replace(
            self,
            held_by_call=self.not_attempted if by is UnsentBy.CALL else 0,
            held_by_sibling=self.not_attempted if by is UnsentBy.SIBLING else 0,
        )

    @property
    def unsent_by(self) -> dict[UnsentBy, int]:
        """Cause -> messages that were never sent, without causes of none."""
        rest = self.not_attempted - self.held_by_call - self.held_by_sibling
        counts = (
            (UnsentBy.CALL, self.held_by_call),
            (UnsentBy.SIBLING, self.held_by_sibling),
            (UnsentBy.MACHINE, rest),
            (UnsentBy.REFUSED, self.failed),
        )
        return {by: count for by, count in counts if count}

    def still_under_way(self, waiting: int) -> "Ledger":
        """The ledger of one pair's reliable stream with `waiting` messages reclassified as under
        way, as many as `late_messages` gives: all of `after_drain`, and the others from `vanished_end`, or
        from `vanished_start` where nothing was delivered."""
        behind = waiting - self.after_drain
        at_end = min(behind, self.vanished_end)
        return replace(
            self,
            under_way=self.under_way + waiting,
            after_drain=0,
            vanished_start=self.vanished_start - (behind - at_end),
            vanished_end=self.vanished_end - at_end,
        )


@dataclass(frozen=True)
class WriterPlaces:
    """A publisher's messages by place: arrays of shape (n,), where place = seq − first_seq.

    `steady`: in the steady window; `attempted`: the publish call was made; `failed`: it returned an
    error.
    """

    first_seq: int
    steady: np.ndarray
    attempted: np.ndarray
    failed: np.ndarray
    depth: int | None = None
    """The depth of its history; None for keep all, or where it is not known."""

    @property
    def accepted(self) -> np.ndarray:
        """Whether the publish call was made and returned no error."""
        accepted: np.ndarray = self.attempted & ~self.failed
        return accepted


class Pace(Enum):
    """How a stream went when the drain ended; a best-effort stream had `ENDED`. A silent stream may
    still repeat messages from its writer's history."""

    ENDED = "ended"
    SILENT = "silent"
    MOVING = "moving"


@dataclass(frozen=True)
class Arrivals:
    """One reader's rows of one writer, in any order: arrays of shape (m,)."""

    seq: np.ndarray
    taken_ns: np.ndarray
    flags: np.ndarray


def since_call_ns(
    call_ns: np.ndarray, flags: np.ndarray, fill_ns: Callable[[], np.ndarray]
) -> np.ndarray:
    """The time from which each message is its middleware's: the publish call, for a loan later by
    the time in which we wrote the payload into it. So a wait for the loan counts as the
    middleware's time, and our writing does not, as where a message is copied. ABSENT where no call
    was made. `fill_ns` is only called where a message was loaned."""
    if not (flags & LOANED).any():
        return call_ns
    filled_ns = fill_ns()
    stamped = (call_ns != ABSENT) & (filled_ns != ABSENT)
    return call_ns + np.where(stamped, filled_ns, 0)


_UNSOUND = CORRUPT | LATE | FOREIGN


def is_sound(flags: np.ndarray) -> np.ndarray:
    """Whether each arrival was sound and in time: bool of the same shape."""
    sound: np.ndarray = (flags & _UNSOUND) == 0
    return sound


def place_order(seq: np.ndarray) -> np.ndarray | None:
    """The order that sorts a writer's rows by sequence number; None where they are sorted already.
    Raises ValueError where the numbers are not dense: without the missing records there is no
    ledger."""
    if len(seq) == 0:
        return None
    # strictly rising over a span of n−1 is dense: no difference column is needed
    if int(seq[-1]) - int(seq[0]) == len(seq) - 1 and (seq[1:] > seq[:-1]).all():
        return None
    order = np.argsort(seq, kind="stable")
    gaps = np.flatnonzero(np.diff(seq[order].astype(np.int64)) != 1)
    if len(gaps):
        a, b = int(seq[order[gaps[0]]]), int(seq[order[gaps[0] + 1]])
        raise ValueError(f"sequence numbers are not dense: {b} follows {a}")
    return order


def begins(values: np.ndarray) -> np.ndarray:
    """Whether each of the sorted values is the first of its kind."""
    return np.concatenate([[True], values[1:] != values[:-1]]) if len(values) else np.empty(0, bool)


def grouped(keys: np.ndarray) -> dict[int, np.ndarray]:
    """Key -> its rows in their order."""
    if not len(keys):
        return {}
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(begins(keys[order]))
    return {
        int(keys[order[start]]): order[start:end]
        for start, end in zip(starts, [*starts[1:], len(order)], strict=True)
    }


def reply_order(seq: np.ndarray) -> np.ndarray:
    """A service's rows by place, −1 for a reply without a record: a thread may still be writing its
    reply when the process is killed, or never return from sending it, while other threads record
    later replies. Such a request counts as not answered."""
    place = (seq - seq.min() if len(seq) else seq).astype(np.int64)
    rows = np.full(int(place.max(initial=-1)) + 1, -1, np.int64)
    rows[place] = np.arange(len(seq))
    return rows


def is_steady(
    flags: np.ndarray, intended_ns: np.ndarray, steady_begin_ns: int | None
) -> np.ndarray:
    """Whether each message is of the steady window: neither flagged as warm-up nor intended before
    the window's begin."""
    steady: np.ndarray = (flags & WARMUP) == 0
    if steady_begin_ns is not None:
        steady &= intended_ns >= steady_begin_ns
    return steady


@dataclass(frozen=True)
class Arrangement:
    """A reader's m rows of a writer of n messages, by place and time. *Sound* rows are in time."""

    arrivals: Arrivals
    first: np.ndarray
    """Per place the row of the first sound arrival, −1 without one; int32 or int64, (n,)."""
    rows: np.ndarray | None
    """The s sound rows in order of time, int64 of shape (s,); None for all rows as they stand."""
    places: np.ndarray
    """The places of the sound rows in that order, of the dtype of `first`, (s,)."""
    place: np.ndarray
    """The place of every row, even outside of the n places; int64 of shape (m,)."""
    odd: np.ndarray
    """Per row its flags among CORRUPT, LATE and FOREIGN, of the flags' dtype, (m,)."""
    known: np.ndarray | None
    """Whether each row is a copy of one of the n messages, bool of shape (m,); None where every row
    is a sound copy."""

    @property
    def late_places(self) -> np.ndarray:
        """The places of every arrival that is late, and neither corrupt nor foreign."""
        return self._of(self.odd == LATE)

    @property
    def corrupt_places(self) -> np.ndarray:
        """The places of every corrupt arrival."""
        return self._of((self.odd & CORRUPT) != 0)

    def _of(self, rows: np.ndarray) -> np.ndarray:
        places: np.ndarray = self.place[:0] if self.known is None else self.place[self.known & rows]
        return places


def arrange(writer: WriterPlaces, arrivals: Arrivals) -> Arrangement:
    """The rows of one pair, arranged for its ledger."""
    n, m = len(writer.steady), len(arrivals.seq)
    # 32 bits, where they suffice, halve the memory traffic
    index = np.dtype(np.int32 if max(n, m) < 2**31 else np.int64)
    place = (
        arrivals.seq.view(np.int64)
        if arrivals.seq.dtype == np.uint64
        else arrivals.seq.astype(np.int64)
    )
    place = place - writer.first_seq
    odd = arrivals.flags & _UNSOUND
    any_odd = bool(odd.any())
    # Almost always every row is known and sound: then no selection, and no copy, is made.
    known = sound = None
    if m and (any_odd or int(place.min()) < 0 or int(place.max()) >= n):
        known = (place >= 0) & (place < n) & ((odd & FOREIGN) == 0)
        sound = known & (odd == 0)
    rows = _arrival_order(arrivals.taken_ns, sound)
    places = (place if rows is None else place[rows]).astype(index)
    first = _first_rows(n, places, rows, index)
    return Arrangement(arrivals, first, rows, places, place, odd, known)


def reconcile(writer: WriterPlaces, arrangement: Arrangement) -> Ledger:
    """The ledger of one pair."""
    n, first, places = len(writer.steady), arrangement.first, arrangement.places
    delivered = first >= 0
    delivered_steady = int(np.count_nonzero(delivered & writer.steady))
    arrived = int(np.count_nonzero(delivered))
    in_time = (
        delivered_steady if arrived == len(places) else int(np.count_nonzero(writer.steady[places]))
    )
    after_drain, corrupt = np.zeros((2, n), bool)
    after_drain[arrangement.late_places] = True
    bad = arrangement.corrupt_places
    corrupt[bad] = True
    foreign = unrecorded = 0
    if arrangement.known is not None:
        foreign = int(np.count_nonzero(arrangement.odd & FOREIGN))
        unrecorded = int(np.count_nonzero(~arrangement.known)) - foreign
    missing = writer.steady & ~delivered
    not_attempted = missing & ~writer.attempted
    failed = missing & writer.failed & ~not_attempted
    missing &= ~(not_attempted | failed)
    after_drain &= missing
    corrupt &= missing & ~after_drain
    missing &= ~(after_drain | corrupt)
    start, middle, end = _thirds(missing, delivered & writer.steady)
    return Ledger(
        wanted=int(np.count_nonzero(writer.steady)),
        delivered=delivered_steady,
        vanished_start=start,
        vanished_middle=middle,
        vanished_end=end,
        after_drain=int(np.count_nonzero(after_drain)),
        corrupt=int(np.count_nonzero(corrupt)),
        failed=int(np.count_nonzero(failed)),
        not_attempted=int(np.count_nonzero(not_attempted)),
        corrupt_copies=int(np.count_nonzero(writer.steady[bad])),
        duplicates=in_time - delivered_steady,
        reordered=_reordered(arrangement, writer.steady, unique=arrived == len(places)),
        foreign=foreign,
        unrecorded=unrecorded,
    )


def late_messages(writer: WriterPlaces, arrangement: Arrangement, pace: Pace) -> np.ndarray:
    """Which steady messages were late, shape (n,): messages that arrived after the drain, and, on a
    reliable stream that had not come to its end, messages after the last delivery, steady or not
    (all where nothing was delivered). On a silent stream these are at most as many as its writer's
    history holds, since only these are sent again."""
    is_late, corrupt = np.zeros((2, len(writer.steady)), bool)
    corrupt[arrangement.corrupt_places] = True
    delivered = np.flatnonzero(arrangement.first >= 0)
    if pace is not Pace.ENDED:
        behind = int(delivered[-1]) + 1 if len(delivered) else 0
        if pace is Pace.SILENT and writer.depth is not None:
            # Messages sent after a reader left pushed none of its messages out of the history.
            until = int(np.flatnonzero(writer.steady).max(initial=-1)) + 1
            held = np.flatnonzero(writer.accepted[:until])[-writer.depth :]
            behind = max(behind, int(held[0])) if len(held) else behind
        is_late[behind:] = ~corrupt[behind:]
    is_late[arrangement.late_places] = True
    is_late &= writer.accepted & writer.steady & (arrangement.first < 0)
    return is_late


def longest_run(missing: np.ndarray) -> int:
    """The length of the longest run of True, shape (n,)."""
    edges = np.flatnonzero(np.diff(missing.astype(np.int8), prepend=0, append=0))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def _arrival_order(taken_ns: np.ndarray, sound: np.ndarray | None) -> np.ndarray | None:
    """The `sound` rows in order of arrival, since a pool of callbacks may record out of order; None
    for all rows as they stand."""
    rows = None if sound is None else np.flatnonzero(sound)
    taken = taken_ns if rows is None else taken_ns[rows]
    if len(taken) > 1 and (taken[1:] < taken[:-1]).any():
        order = np.argsort(taken, kind="stable")
        rows = order if rows is None else rows[order]
    return rows


def _first_rows(n: int, places: np.ndarray, rows: np.ndarray | None, index: np.dtype) -> np.ndarray:
    """Per place the row that arrived first, −1 without any. `places` is in order of arrival."""
    first = np.full(n, -1, index)
    order = np.arange(len(places), dtype=index) if rows is None else rows.astype(index)
    first[places] = order
    if np.count_nonzero(first >= 0) < len(places):
        # With duplicates the last assignment would win: assign backwards.
        first[places[::-1]] = order[::-1]
    return first


def _reordered(arrangement: Arrangement, steady: np.ndarray, *, unique: bool) -> int:
    first, rows, places = arrangement.first, arrangement.rows, arrangement.places
    if len(places) < 2 or not (places[1:] < places[:-1]).any():
        return 0
    firsts = places
    if not unique:
        firsts = places[
            first[places] == (np.arange(len(places), dtype=first.dtype) if rows is None else rows)
        ]
    overtaken = firsts < np.maximum.accumulate(firsts)
    return int(np.count_nonzero(overtaken & steady[firsts]))


def _thirds(missing: np.ndarray, delivered: np.ndarray) -> tuple[int, int, int]:
    """Losses before the first delivery, between the first and the last, and after the last. Where
    nothing was delivered all losses are at the start."""
    total = int(np.count_nonzero(missing))
    if not total:
        return 0, 0, 0
    if not delivered.any():
        return total, 0, 0
    begin = int(delivered.argmax())
    end = len(delivered) - int(delivered[::-1].argmax())
    start, after = int(np.count_nonzero(missing[:begin])), int(np.count_nonzero(missing[end:]))
    return start, total - start - after, after
