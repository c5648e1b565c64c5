"""What the sync and the async client share."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Sequence

from . import _convert
from ._connection import Connection
from ._convert import Where
from ._errors import InvalidArgument
from ._schema import fill, message, method
from .recorder import Recorder
from .task import Task, credit, current_task
from .types import Recall

TIMEOUT = 10.0
"""Seconds for a call with its repetitions."""


class Shared:
    def __init__(
        self,
        server: Optional[str] = None,
        *,
        api_key: Optional[str] = None,
        ca_file: "Optional[str | os.PathLike[str]]" = None,
        timeout: float = TIMEOUT,
    ) -> None:
        """``server``: ``http://HOST:PORT`` or ``https://HOST:PORT``; else ``HINDSIGHT_SERVER``, else this machine.
        ``api_key``: else ``HINDSIGHT_API_KEY``. ``ca_file``: certificates to trust instead of the usual ones.
        ``timeout``: seconds for a call with its repetitions."""
        self._connection = Connection.of(server, api_key, ca_file)
        self._timeout = timeout
        self.recorder = Recorder(self._connection)

    def task(
        self,
        goal: str,
        *,
        user: str = "",
        agent: str = "",
        session: str = "",
        task_type: str = "",
        environment: Where = None,
        receipts: Sequence[str] = (),
        trace_id: str = "",
        shared: bool = False,
    ) -> Task:
        """A task to record, to be used with ``with`` or ``async with``. What is learned of a task that names a
        user is theirs alone, unless it is ``shared`` with the tenant. ``environment``: tags such as ``docker``.
        ``receipts``: of the recalls that shape it."""
        return Task(
            self.recorder,
            goal,
            user=user,
            agent=agent,
            session=session,
            task_type=task_type,
            environment=environment,
            receipts=receipts,
            trace_id=trace_id,
            shared=shared,
        )


def recalled(answer: Any) -> Recall:
    """What a recall brought; it belongs to the task of its context."""
    credit(answer.receipt_id)
    return _convert.recall(answer)


def unary(channel: Any, service: str, name: str, request: Any) -> "tuple[Any, Any]":
    """A call of the schema on a channel, and its request, which may be given by its fields."""
    called = method(service, name)
    if called.client_streaming or called.server_streaming:
        raise InvalidArgument.of("name", f"is {name!r}, a stream; use client.task or client.watch")
    kind = message(called.input_type.full_name[len("hindsight.") :])
    if request is None or isinstance(request, Mapping):
        request = fill(kind, request or {})
    elif getattr(getattr(request, "DESCRIPTOR", None), "full_name", "") != called.input_type.full_name:
        raise InvalidArgument.of("request", f"is no {called.input_type.full_name}; give one, or its fields by name")
    stub = channel.unary_unary(
        f"/{called.containing_service.full_name}/{called.name}",
        request_serializer=lambda r: r.SerializeToString(),
        response_deserializer=message(called.output_type.full_name[len("hindsight.") :]).FromString,
    )
    return stub, request


def watch_start(goal: str, *, trace_id: str = "", **about: Any) -> Any:
    """The start of a watch. In the context of a task it is a watch of that run."""
    task = current_task()
    return _convert.watch_start(goal, trace_id=trace_id or (task.trace_id if task else ""), **about)
