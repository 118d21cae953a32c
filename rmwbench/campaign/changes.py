"""Nodes that join and leave within the steady state, and daemons that are killed: each at its time, and nobody waits.

A process whose nodes are all late opens its session when the first of them joins, as a node that is started then does.
What joins begins to send at once, matched or not; a match that does not come is an event and fails nothing.
"""

import time
from collections import deque
from collections.abc import Callable

from rmwbench.campaign import limits
from rmwbench.campaign.barrier import fields_of, take_created, take_opened
from rmwbench.campaign.noting import note
from rmwbench.campaign.outcome import Outcome, Window
from rmwbench.campaign.profile import Workers
from rmwbench.lab.crew import Crew, Posted
from rmwbench.lab.worker import WorkerFailed
from rmwbench.suite.cells import Change
from rmwbench.suite.timeline import to_ns

Take = Callable[[Posted], None]


class Changes:
    """The joins and leaves of one trial."""

    def __init__(self, outcome: Outcome, crew: Crew, workers: Workers, window: Window):
        self._outcome, self._crew, self._workers, self._window = outcome, crew, workers, window
        self._due = deque(outcome.order.cell.changes)
        self._endpoints = {e.endpoint: e for e in outcome.order.cell.endpoints}
        self._unopened = {p.name for p in outcome.order.cell.processes if p.opens_s is not None}
        kill_s = outcome.order.cell.workload.daemons_end_s
        self._kill_ns = None if kill_s is None else window.steady_ns + to_ns(kill_s)
        self._killed = False
        self._posted: list[tuple[Posted, Take]] = []
        self.gone: set[int] = set()
        """Endpoints that have left: nothing can be asked of them any more."""

    def watch_until(self, deadline_ns: int) -> None:
        """Sleeps until the time (CLOCK_MONOTONIC), awake for what is due and for what workers say. Raises
        WorkerFailed."""
        while (now_ns := time.monotonic_ns()) < deadline_ns:
            while self._due and self._at_ns(self._due[0]) <= now_ns:
                change = self._due.popleft()
                (self._join if change.joins else self._leave)(change)
            if self._kill_ns is not None and self._kill_ns <= now_ns:
                self._kill_ns, self._killed = None, True
                for name in self._crew.kill_daemons():
                    note(self._outcome, name, "killed", text="daemons_end_s")
            next_ns = min(
                deadline_ns, self._at_ns(self._due[0]) if self._due else deadline_ns, self._kill_ns or deadline_ns
            )
            self._crew.turn(max(0, next_ns - time.monotonic_ns()) / 1e9)
            self._hear()

    def settle(self, timeout_s: float) -> None:
        """Waits for the answers that are still owed."""
        self._crew.await_answers([posted for posted, _ in self._posted], timeout_s)
        self._hear()

    def _at_ns(self, change: Change) -> int:
        return self._window.steady_ns + to_ns(change.at_s)

    def _post(self, process: str, cmd: str, fields: dict, take: Take) -> None:
        self._posted.append((self._crew.post(process, cmd, fields), take))

    def _hear(self) -> None:
        heard = [(posted, take) for posted, take in self._posted if posted.answered]
        self._posted = [item for item in self._posted if item not in heard]
        for posted, take in heard:
            try:
                take(posted)
            except WorkerFailed as failed:
                if not self._killed:
                    raise
                # Without its daemon a node may not come up: that was asked, and the ledger shows what it missed.
                note(self._outcome, posted.worker.process, "not_joined", posted.answered_ns, text=failed.message)
                lost = {n for n, e in self._endpoints.items() if e.process == posted.worker.process}
                self._outcome.not_joined |= lost - self._outcome.granted.keys()
                self.gone |= self._outcome.not_joined

    def _join(self, change: Change) -> None:
        outcome, process = self._outcome, change.process
        note(outcome, process, "joining", text=change.node)
        if process in self._unopened:
            self._unopened.remove(process)
            fields = fields_of(outcome, self._workers, process)
            self._post(process, "open", fields, lambda posted: take_opened(outcome, posted))
        nodes = outcome.order.cell.create_command(process, outcome.order.seed, change.endpoints)
        self._post(process, "create", {"nodes": nodes}, lambda posted: self._created(posted, change))
        # A running schedule owns its publisher, which cannot be asked then: its readers tell of their first message.
        asked = [e for e in change.endpoints if self._endpoints[e].kind in ("subscription", "service")]
        if asked:
            rest_ns = max(0, self._window.end_ns - time.monotonic_ns())
            fields = {"timeout_ns": rest_ns, "endpoints": asked}
            self._post(process, "match", fields, lambda posted: self._matched(posted, asked))

    def _created(self, posted: Posted, change: Change) -> None:
        take_created(self._outcome, posted)
        senders = [e for e in change.endpoints if self._endpoints[e].writes]
        at_ns = time.monotonic_ns() + limits.JOIN_LEAD_NS
        if not senders or at_ns >= self._window.end_ns:
            return
        window, grace_ns = self._window, round(self._outcome.order.cell.timeline.grace_s * 1e9)
        times = {"at_ns": at_ns, "steady_ns": at_ns, "end_ns": window.end_ns, "grace_ns": grace_ns}
        self._outcome.started |= set(senders)
        self._post(change.process, "start", {**times, "endpoints": senders}, lambda posted: posted.take())

    def _matched(self, posted: Posted, asked: list[int]) -> None:
        time_ns, process = posted.answered_ns, posted.worker.process
        try:
            reply = posted.take()
        except WorkerFailed as failed:
            for number in asked:
                note(self._outcome, process, "unmatched", time_ns, endpoint=number, text=failed.message)
            return
        for number in asked:
            if found := reply.get("endpoints", {}).get(str(number)):
                self._outcome.matched[number] = found["matched"]
                note(self._outcome, process, "matched", found["time_ns"], endpoint=number, value=found["matched"])

    def _leave(self, change: Change) -> None:
        note(self._outcome, change.process, "leaving", text=change.node)
        self._post(change.process, "destroy", {"nodes": [change.node]}, lambda posted: self._left(posted, change))

    def _left(self, posted: Posted, change: Change) -> None:
        time_ns = posted.answered_ns
        posted.take()
        self.gone |= set(change.endpoints)
        for endpoint in change.endpoints:
            note(self._outcome, change.process, "destroyed", time_ns, endpoint=endpoint)
