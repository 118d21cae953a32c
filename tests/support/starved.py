"""Whether the machine starved a test: how late a thread woke up that did nothing but sleep.

A test of real traffic that fails is run once more only where this proves that the machine did not
run what was ready, and the proof is printed. Any other failure stands: a race is repaired, never
retried into green. The Rust conformance suite keeps the same rule
(`native/conformance/src/starved.rs`).
"""

import threading
import time

TICK_S = 0.001
STARVED_S = 0.1
"""A sleeper that is this late was kept from a processor, whatever the test itself does: on two
processors the scheduler gives each of a dozen busy threads its turn within some 10 ms."""


class Watch:
    """Measures from `start` until `stop`; `latest_s` is the longest delay of a wake-up so far, in
    seconds."""

    def __init__(self) -> None:
        self.latest_s = 0.0
        self._awake_s = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="starved-watch", daemon=True)

    def start(self) -> "Watch":
        self._awake_s = time.monotonic()
        self._thread.start()
        return self

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def starved(self) -> bool:
        return self.latest_s > STARVED_S

    def evidence(self) -> str:
        late, allowed = self.latest_s * 1000, STARVED_S * 1000
        return f"a sleeping thread woke up {late:.0f} ms late (starved: more than {allowed:.0f} ms)"

    def _run(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._ended.is_set()
            time.sleep(TICK_S)
            now_s = time.monotonic()
            # From one wake-up to the next: nothing between is unseen.
            self.latest_s = max(self.latest_s, now_s - self._awake_s - TICK_S)
            self._awake_s = now_s
