"""`rmwbench types`: lists the message types that a suite may name, with their exact sizes."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmwbench.cli.console import print_blocks, print_json
from rmwbench.cli.options import json_option

if TYPE_CHECKING:
    from rmwbench.suite.workload.message_type import MessageType


def register(app: typer.Typer) -> None:
    app.command(name="types", help="List the message types that a suite may name, one line each.")(
        types
    )


def types(
    as_json: Annotated[
        bool, json_option('Print a list of {"type", "ros_type", "payload_bytes", "message_bytes"}.')
    ] = False,
) -> None:
    from rmwbench.suite.workload.message_type import FAMILIES, message_type, message_type_names

    message_types = [message_type(name) for name in message_type_names()]
    if as_json:
        print_json([_document(kind) for kind in message_types])
        return
    from rmwbench.report.view import Items, Section, Table

    columns = ("type", ("payload, bytes", True), "ROS type")
    print_blocks(
        Table(
            columns, [(kind.name, str(kind.payload_bytes), kind.ros_type) for kind in message_types]
        ),
        Section("And of any size", [Items([f"{a}: {sizes}" for a, sizes in FAMILIES.items()])]),
    )


def _document(kind: "MessageType") -> dict[str, Any]:
    return {
        "type": kind.name,
        "ros_type": kind.ros_type,
        "payload_bytes": kind.payload_bytes,
        "message_bytes": kind.cdr_bytes,
    }
