"""What test_rclpy.py asks of the rclpy worker's own objects: `python -m tests.ros2.rclpy_cases CASE`.
A process for each, since an RMW is chosen once in a process."""

import queue
import sys
import threading
import time
from contextlib import contextmanager

import pytest
from rmwbench_workers import rclpy_worker
from rmwbench_workers.middleware import EndpointConfig, Layout, Qos, SessionConfig, WorkerError

PATIENCE_S = 60
QOS = Qos(reliable=True, transient_local=False, keep_all=False, depth=37)


@contextmanager
def a_node(executor="single_threaded"):
    config = SessionConfig("untouched", "", {}, {"executor": executor}, domain_id=77)
    session = rclpy_worker.Middleware().open(config)
    node = session.node("n")
    try:
        yield node
    finally:
        node.close()
        session.close()


def asked(endpoint, name, ros_type):
    """Of four bytes, an array's or a request's."""
    layout = Layout("", ros_type, "", 4, b"\0\1\0\0\4\0\0\0", b"")
    return EndpointConfig(endpoint, name, "", layout, None, "", QOS, "callback")


def called(endpoint):
    return asked(endpoint, "call", "rmwbench_msgs/srv/Bytes_Request")


def streamed(endpoint, name):
    return asked(endpoint, name, "rmwbench_msgs/msg/Bytes")


def until(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def services_have_the_qos_that_was_asked():
    with a_node() as node:
        client = node.client(called(1), lambda *_: None)
        service = node.service(called(2), lambda *_: None)
        for made in (client.client, service.service):
            assert made.qos_profile.depth == QOS.depth


def services_of_another_type_are_refused():
    with a_node() as node:
        other = asked(1, "call", "rmwbench_msgs/msg/Bytes")
        for make in (node.client, node.service):
            with pytest.raises(WorkerError, match="services have rmwbench_msgs/srv/Bytes"):
                make(other, lambda *_: None)


def a_request_that_is_not_to_be_answered_is_not():
    with a_node() as node:
        heard = queue.Queue()

        def handle(request, notified_ns, taken_ns, reply):
            if bytes(request) != b"none":
                reply(request)

        node.service(called(1), handle)
        client = node.client(called(2), lambda payload, *_: heard.put(bytes(payload)))
        until(client.matched)
        for request in (b"none", b"some"):
            client.publish(memoryview(request))
        assert heard.get(timeout=PATIENCE_S) == b"some"


def a_service_that_ends_before_its_reply_leaves_the_others_served():
    with a_node() as node:
        heard = queue.Queue()

        def handle(request, notified_ns, taken_ns, reply):
            reply(request)
            service.close()
            heard.put("closed")

        service = node.service(called(1), handle)
        client = node.client(called(2), lambda *_: None)
        publisher = node.publisher(streamed(3, "topic"))
        node.subscription(streamed(4, "topic"), lambda payload, *_: heard.put(bytes(payload)))
        until(client.matched)
        until(publisher.matched)
        client.publish(memoryview(b"some"))
        assert heard.get(timeout=PATIENCE_S) == "closed"
        publisher.publish(memoryview(b"more"))
        assert heard.get(timeout=PATIENCE_S) == b"more"


def several_threads_serve_the_endpoints_of_a_node_at_once():
    with a_node("multi_threaded") as node:
        other_came, waited = threading.Event(), queue.Queue()
        node.subscription(streamed(1, "one"), lambda *_: waited.put(other_came.wait(PATIENCE_S)))
        node.subscription(streamed(2, "other"), lambda *_: other_came.set())
        one, other = node.publisher(streamed(3, "one")), node.publisher(streamed(4, "other"))
        for publisher in (one, other):
            until(publisher.matched)
            publisher.publish(memoryview(b"some"))
        assert waited.get(timeout=2 * PATIENCE_S)


CASES = {
    case.__name__: case
    for case in (
        services_have_the_qos_that_was_asked,
        services_of_another_type_are_refused,
        a_request_that_is_not_to_be_answered_is_not,
        a_service_that_ends_before_its_reply_leaves_the_others_served,
        several_threads_serve_the_endpoints_of_a_node_at_once,
    )
}

if __name__ == "__main__":
    CASES[sys.argv[1]]()
