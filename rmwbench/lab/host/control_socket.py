"""The control socket of a process, from either end: neither reading nor writing waits."""

import socket

READ_BYTES = 1 << 16


def send_queued(sock: socket.socket, queue: bytearray) -> None:
    """Sends as much of the queue as the socket takes, and removes it from the queue. Empties the
    queue where the other end is gone: its end of file, which tells more, is on its way."""
    try:
        while queue:
            del queue[: sock.send(queue)]
    except BlockingIOError:
        pass
    except (BrokenPipeError, ConnectionResetError):
        queue.clear()


def receive(sock: socket.socket) -> bytes | None:
    """Returns at most READ_BYTES; no bytes at the end of file, None where nothing has arrived."""
    try:
        return sock.recv(READ_BYTES)
    except BlockingIOError:
        return None
    except ConnectionResetError:
        return b""
