"""A program that runs in each host, in a fork of its init (Host.interpret): it sends datagrams to
one host and receives those of another, at absolute times, over the real devices. It uses modules in
C only, since the host may have no other files.

No host sends before all can receive: each writes into the shared file of descriptor 5 that its
socket is bound, and the first one then writes the time to begin. A datagram counts as seen when the
kernel took it from the device, and not when this process reads it, so that a busy machine does not
look like a slow link.

ARGUMENTS: own address, the receiver's address, the port, own index, number of hosts, after_ns (the time
until its own turn, from the beginning), longest_ns, after_end_ns, count, interval_ns, burst, burst
bytes, and how far the host's clock is ahead of the clock of all times here. Descriptor 4 takes the
result, marshalled: {"sent": [small, burst], "seen": [(kind, number, sent_ns, seen_ns)]}.
"""

import _socket
import marshal
import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # the host's init gives them, and a host may have no other files
    from collections.abc import Callable

    ARGUMENTS: list[str] = []

SMALL, BURST, END = 0, 1, 2
SMALL_BYTES = 32
ENDS = 8
RESULT_FD, SHARED_FD = 4, 5
WORD = 8
SO_TIMESTAMPNS = 35
PATIENCE_NS, LEAD_NS = 5_000_000_000, 2_000_000


def read_word(index: int) -> int:
    return int.from_bytes(os.pread(SHARED_FD, WORD, index * WORD), "little")


def write_word(index: int, value: int) -> None:
    os.pwrite(SHARED_FD, value.to_bytes(WORD, "little"), index * WORD)


def agree_on_begin(index: int, host_count: int, now: "Callable[[], int]") -> int:
    """Waits until all hosts are ready. Returns the time to begin."""
    write_word(index, 1)
    late_ns = now() + PATIENCE_NS
    while now() < late_ns:
        if begin_ns := read_word(host_count):
            return begin_ns
        if index == 0 and all(read_word(other) for other in range(host_count)):
            write_word(host_count, now() + LEAD_NS)
        else:
            time.sleep(2e-4)
    raise TimeoutError("the others are not ready")


def open_socket(own_address: str, port: int) -> "_socket.socket":
    """Opens a socket whose datagrams the kernel stamps when it takes them from the device."""
    sock = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    sock.setsockopt(_socket.SOL_SOCKET, _socket.SO_RCVBUF, 4 << 20)
    sock.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDBUF, 4 << 20)
    sock.setsockopt(_socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    sock.bind((own_address, port))
    sock.setblocking(False)
    return sock


def wall_ahead(now: "Callable[[], int]") -> int:
    """How far the clock of the kernel's stamps is ahead of `now`."""
    readings = [(now(), time.time_ns(), now()) for _ in range(20)]
    before_ns, wall_ns, behind_ns = min(readings, key=lambda reading: reading[2] - reading[0])
    return wall_ns - (before_ns + behind_ns) // 2


def receive(
    sock: "_socket.socket", now: "Callable[[], int]", wall_ahead_ns: int
) -> "list[tuple[bytes, int]]":
    """Receives the datagrams that have arrived, with the times at which the kernel took them."""
    datagrams: list[tuple[bytes, int]] = []
    while True:
        try:
            data, stamps, _, _ = sock.recvmsg(2048, 64)
        except BlockingIOError:
            return datagrams
        seen_ns = now()
        for _, kind, stamp in stamps:
            if kind == SO_TIMESTAMPNS:
                seconds, rest = (int.from_bytes(stamp[at : at + 8], "little") for at in (0, 8))
                seen_ns = min(seen_ns, seconds * 1_000_000_000 + rest - wall_ahead_ns)
        datagrams.append((data, seen_ns))


def sending_plan(
    start_ns: int, count: int, interval_ns: int, burst: int
) -> "list[tuple[int, int, int]]":
    """The (kind, number, time) of each datagram to send. The burst follows a little after the last
    small one, so that it meets an empty queue."""
    burst_ns = start_ns + count * interval_ns + 5_000_000
    return [
        *((SMALL, number, start_ns + number * interval_ns) for number in range(count)),
        *((BURST, number, burst_ns) for number in range(burst)),
        *((END, number, burst_ns + 2_000_000) for number in range(ENDS)),
    ]


def sleep_for(poll: "select.poll", rest_ns: int) -> None:
    """Sleeps about this time, or until a datagram comes."""
    if rest_ns > 2_000_000:
        poll.poll(rest_ns // 1_000_000 - 1)
    elif not poll.poll(0):
        # no time is left where the device was full
        time.sleep(min(rest_ns, 100_000) / 1e9 if rest_ns > 0 else 1e-4)


def main(own_address: str, other_address: str, *numbers: int) -> None:
    port, index, host_count, after_ns, longest_ns, after_end_ns = numbers[:6]
    count, interval_ns, burst, size, ahead_ns = numbers[6:]

    def now() -> int:
        return time.monotonic_ns() - ahead_ns

    sock = open_socket(own_address, port)
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLIN)
    begin_ns = agree_on_begin(index, host_count, now)
    start_ns, deadline_ns = begin_ns + after_ns, begin_ns + longest_ns
    wall_ahead_ns = wall_ahead(now)
    seen: list[tuple[int, int, int, int]] = []
    sent = [0, 0]
    plan = sending_plan(start_ns, count, interval_ns, burst)
    next_, first_end_ns = 0, 0
    while True:
        now_ns = now()
        while next_ < len(plan) and plan[next_][2] <= now_ns:
            kind, number, _ = plan[next_]
            body = bytes([kind]) + number.to_bytes(4, "little") + now().to_bytes(8, "little")
            try:
                sock.sendto(
                    body.ljust(size if kind == BURST else SMALL_BYTES, b"\0"), (other_address, port)
                )
            except BlockingIOError:
                break  # the device takes no more for now
            next_ += 1
            if kind != END:
                sent[kind] += 1
            if kind == BURST and next_ % 8 == 0:
                break  # to receive in between
        for data, seen_ns in receive(sock, now, wall_ahead_ns):
            number, sent_ns = (int.from_bytes(data[a:b], "little") for a, b in ((1, 5), (5, 13)))
            if data[0] == END:
                first_end_ns = first_end_ns or seen_ns
            else:
                seen.append((data[0], number, sent_ns, seen_ns))
        now_ns, all_sent, end_ns = now(), next_ == len(plan), deadline_ns
        if all_sent and first_end_ns:
            end_ns = min(deadline_ns, first_end_ns + after_end_ns)
        if now_ns >= deadline_ns or now_ns > end_ns:
            break
        sleep_for(poll, (end_ns if all_sent else min(end_ns, plan[next_][2])) - now_ns)
    os.pwrite(RESULT_FD, marshal.dumps({"sent": sent, "seen": seen}), 0)


if __name__ == "__main__":
    main(ARGUMENTS[0], ARGUMENTS[1], *map(int, ARGUMENTS[2:]))
