"""Records what an agent does, in the background. Nothing here waits or raises: a broken memory never breaks the
agent."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import deque
from dataclasses import replace
from typing import Any, Deque, Iterator, List

import grpc

from ._connection import Connection, pauses
from ._errors import of_rpc
from ._schema import message, method
from .types import RecorderState

log = logging.getLogger("hindsight_client")

QUEUE_EVENTS = 10_000
QUEUE_BYTES = 64 * 1024 * 1024
RESERVE = 16
"""The part of the queue that is kept for the ends of tasks, so that what was recorded of them is judged."""
IDLE = 5.0
"""A stream that has nothing to say for so many seconds is ended, and opened again when there is something."""
AT_EXIT = 5.0
"""Seconds that the end of the process waits for what is not sent yet."""


class Recorder:
    """A bounded queue, and a thread that sends it. What the server has not acknowledged is sent again; sending
    twice changes nothing. What finds the queue full is lost and counted."""

    def __init__(
        self, connection: Connection, *, queue_events: int = QUEUE_EVENTS, queue_bytes: int = QUEUE_BYTES
    ) -> None:
        self._connection = connection
        self._limits = (queue_events, queue_bytes)
        self._changed = threading.Condition()
        self._queue: Deque[Any] = deque()
        self._bytes = 0
        self._sent = 0
        """How many of the queue are on their way."""
        self._state = RecorderState()
        self._closed = False
        self._thread: "threading.Thread | None" = None

    @property
    def state(self) -> RecorderState:
        with self._changed:
            return replace(self._state, pending=len(self._queue))

    def offer(self, event: Any, *, is_end: bool = False) -> bool:
        """Takes an event, or counts it as lost."""
        size = event.ByteSize()
        events, size_limit = self._limits if is_end else (limit - limit // RESERVE for limit in self._limits)
        with self._changed:
            if self._closed:
                return self._lose("the recorder is closed")
            if len(self._queue) >= events or self._bytes + size > size_limit:
                return self._lose(f"{len(self._queue)} events wait already; is the server away?")
            if self._thread is None:
                try:
                    self._start()
                except RuntimeError as error:  # The process ends, or has no room for a thread.
                    return self._lose(str(error))
            self._queue.append((event, size))
            self._bytes += size
            self._state = replace(self._state, recorded=self._state.recorded + 1)
            self._changed.notify_all()
        return True

    def lose(self, problem: str) -> None:
        """Counts an event that was not offered."""
        with self._changed:
            self._lose(problem)

    def cut(self) -> None:
        """Counts a text that was cut."""
        with self._changed:
            self._state = replace(self._state, cut=self._state.cut + 1)

    def flush(self, timeout: float = 10.0) -> RecorderState:
        """Waits until the server has acknowledged or refused everything, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: not self._queue, timeout)
        return self.state

    def close(self, timeout: float = AT_EXIT) -> RecorderState:
        """Takes nothing more, and flushes. What is left then is lost and counted."""
        with self._changed:
            thread, already = self._thread, self._closed
            self._closed = True
            self._changed.notify_all()
        if not already:
            atexit.unregister(self.close)
            self.flush(timeout)
            with self._changed:
                for _ in range(len(self._queue)):
                    self._lose("the recorder was closed before the server took everything")
                self._queue.clear()
                self._changed.notify_all()
            if thread is not None:
                thread.join(timeout)
        return self.state

    def _lose(self, problem: str) -> bool:
        if self._state.lost == 0:
            log.warning("an event is lost: %s", problem)
        self._state = replace(self._state, lost=self._state.lost + 1, problem=problem)
        return False

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="hindsight-recorder", daemon=True)
        thread.start()
        self._thread = thread
        atexit.register(self.close)

    def _run(self) -> None:
        waits = pauses()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._queue) or self._closed)
                if not self._queue:
                    return
                before = self._state.acknowledged + self._state.rejected
            pause = None
            try:
                self._stream()
            except grpc.RpcError as error:
                known = of_rpc(error)
                pause = known.retry_after
                self._trouble(str(known))
            except Exception as error:  # The thread outlives whatever goes wrong with one stream.
                self._trouble(f"{type(error).__name__}: {error}")
            else:
                continue
            with self._changed:
                if self._state.acknowledged + self._state.rejected > before:
                    waits = pauses()
                end = time.monotonic() + (next(waits) if pause is None else min(pause, 30.0))
                self._changed.wait_for(lambda: self._closed and not self._queue, max(end - time.monotonic(), 0))

    def _stream(self) -> None:
        """One stream, from the first event that is not acknowledged."""
        call = method("collector.v1.CollectorService", "RecordEvents")
        ended = threading.Event()
        with self._changed:
            self._sent = 0
        with self._connection.channel() as channel:
            record = channel.stream_stream(
                f"/{call.containing_service.full_name}/{call.name}",
                request_serializer=lambda request: request.SerializeToString(),
                response_deserializer=message("collector.v1.RecordEventsResponse").FromString,
            )
            sequence = 0
            try:
                for answer in record(self._events(ended), metadata=self._connection.metadata):
                    self._acknowledged(answer.acknowledged_sequence - sequence, answer.rejections)
                    sequence = answer.acknowledged_sequence
            finally:
                ended.set()
                with self._changed:
                    self._changed.notify_all()
        with self._changed:
            if self._sent:
                raise ConnectionError("the server ended the stream before it acknowledged all of it")

    def _events(self, ended: threading.Event) -> Iterator[Any]:
        sequence = 0
        while True:
            with self._changed:
                ready = lambda: ended.is_set() or len(self._queue) > self._sent or self._closed
                self._changed.wait_for(ready, IDLE)
                if ended.is_set() or len(self._queue) <= self._sent:
                    return
                event = self._queue[self._sent][0]
                self._sent += 1
            sequence += 1
            event.sequence = sequence
            yield event

    def _acknowledged(self, count: int, rejections: "List[Any]") -> None:
        with self._changed:
            for _ in range(min(count, self._sent)):
                _, size = self._queue.popleft()
                self._bytes -= size
                self._sent -= 1
            refused = len(rejections)
            self._state = replace(
                self._state,
                acknowledged=self._state.acknowledged + count - refused,
                rejected=self._state.rejected + refused,
                trouble="",
            )
            for rejection in rejections:
                problem = f"the server refused an event: {rejection.message}"
                log.warning(problem)
                self._state = replace(self._state, problem=problem)
            self._changed.notify_all()

    def _trouble(self, trouble: str) -> None:
        log.debug("events wait: %s", trouble)
        with self._changed:
            self._state = replace(self._state, trouble=trouble)
