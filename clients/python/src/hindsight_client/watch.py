"""A memory that speaks up: it hears what an agent is about to do, and warns where that is known to fail.

A memory that is away, late or closed to this caller is silent: the agent goes on as without it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import queue
import threading
import time
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, Optional, Type

import grpc

from . import _convert
from ._errors import InvalidArgument, Violation, of_rpc
from ._schema import build, message, method
from .task import credit
from .types import OutcomeStatus, Reminder, Silence, Verdict

log = logging.getLogger("hindsight_client")

AWAY = 5.0
"""A memory that was away is not asked again for so many seconds, so that it costs the agent nothing."""
_STAY = object()
"""In place of an event: one is about to come."""


class _Events:
    """Opens a watch and reads the answers. Subclasses carry them."""

    def __init__(self, open_channel: Callable[[], Any], metadata: Any, start: Any, timeout: float) -> None:
        self._open_channel = open_channel
        self._metadata = metadata
        self._start = start
        self._timeout = timeout
        self._away_until = 0.0
        self._warned = False
        self._closed = False
        self.opening: Optional[Reminder] = None
        """What is remembered of the goal."""
        self.silence: Optional[Silence] = None
        """Why nothing was said last; ``None`` when something was."""

    def _call(self, channel: Any) -> Any:
        called = method("recall.v1.RecallService", "Watch")
        return channel.stream_stream(
            f"/{called.containing_service.full_name}/{called.name}",
            request_serializer=lambda request: request.SerializeToString(),
            response_deserializer=message("recall.v1.WatchResponse").FromString,
        )

    def _said(self, answer: Any) -> Optional[Reminder]:
        what = answer.WhichOneof("said")
        if what == "rejection":
            refused = answer.rejection
            wrong = tuple(Violation(at, refused.message.removeprefix(f"{at}: ")) for at in refused.fields[:1])
            raise InvalidArgument(refused.message, reason=refused.reason, violations=wrong)
        if what == "reminder":
            self.silence = None
            credit(answer.reminder.reminder_id, self._start.trace_id)
            return _convert.reminder(answer.reminder)
        self.silence = _convert.silence(answer.silence)
        return None

    def _begin(self) -> Any:
        return build("recall.v1.WatchRequest", start=self._start)

    def _is_away(self) -> bool:
        if self._closed:
            self.silence = Silence("unavailable", "the watch was closed")
        return self._closed or time.monotonic() < self._away_until

    def _away(self, error: BaseException) -> None:
        """A memory that is away is silence."""
        self._away_until = time.monotonic() + AWAY
        if isinstance(error, grpc.RpcError):
            words = str(of_rpc(error))
        else:
            words = f"no answer within {self._timeout} s" if _is_timeout(error) else f"{type(error).__name__}: {error}"
        if not self._warned:
            log.warning("the watch is silent: %s", words)
            self._warned = True
        self.silence = Silence("unavailable", words)


def _is_timeout(error: BaseException) -> bool:
    return isinstance(error, (TimeoutError, asyncio.TimeoutError, concurrent.futures.TimeoutError))


class Watch(_Events):
    """As a context manager: ``opening`` is what is remembered of the goal. Methods return a reminder or ``None``,
    and then ``silence`` says why. They raise only for an event that is wrong. Threads may share it."""

    _stream: "Optional[_Stream]" = None
    _idle: Optional[float] = None
    """A stream without an event for so many seconds is ended, and the next event opens another."""

    def __init__(self, open_channel: Callable[[], Any], metadata: Any, start: Any, timeout: float) -> None:
        super().__init__(open_channel, metadata, start, timeout)
        self._turn = threading.Lock()

    def __enter__(self) -> "Watch":
        self.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close("unknown" if error is None else "failure")

    def start(self) -> Optional[Reminder]:
        """Begins the task. Also done by the first event."""
        self._ask(None)
        return self.opening

    def before_call(
        self, tool: str, arguments: Any = "", *, call_id: str = "", description: str = ""
    ) -> Optional[Reminder]:
        """A tool is about to be called: is that known to fail?"""
        return self._ask(_convert.before_call(tool, arguments, call_id, description))

    def after_call(
        self, tool: str, arguments: Any = "", output: Any = None, *, error: Any = None, call_id: str = ""
    ) -> Optional[Reminder]:
        """A call came back, or failed: how was the same failure solved before?"""
        return self._ask(_convert.after_call(tool, arguments, output, error, call_id))

    def message(self, text: str) -> Optional[Reminder]:
        """The user said something; a question whether something is remembered is answered."""
        return self._ask(_convert.user_message(text))

    def feedback(self, reminder_id: str, verdict: Verdict, note: str = "") -> None:
        """What became of a reminder."""
        self._ask(_convert.feedback(reminder_id, verdict, note))

    def close(self, outcome: OutcomeStatus = "unknown", *, wait: bool = True) -> None:
        """The task ended, and with it the watch. ``wait``: until the server has heard of it, as long as an answer may take."""
        end = _convert.watch_end(outcome)
        with self._turn:
            self._closed = True
            stream, self._stream = self._stream, None
        if stream is not None:
            stream.end(end, self._timeout if wait else 0)

    def _ask(self, event: Any) -> Optional[Reminder]:
        stream = None
        try:
            with self._turn:
                if self._is_away():
                    return None
                stream = self._open()
            return self.opening if event is None else self._said(stream.ask(event).result(self._timeout))
        except InvalidArgument:
            raise
        except Exception as error:
            with self._turn:
                # Of several that wait for the same stream the first one lets it go.
                if stream is not None and stream is self._stream:
                    stream.close()
                    self._stream = None
                self._away(error)
            return None

    def _open(self) -> "_Stream":
        if self._stream is None or self._stream.is_idle():
            stream = _Stream(self._call(self._open_channel()), self._metadata, self._idle)
            try:
                self.opening = self._said(stream.ask(self._begin()).result(self._timeout))
            except BaseException:
                stream.close()
                raise
            self._stream = stream
        return self._stream


class _Stream:
    """One stream; a thread of its own hears the answers, so that waiting for them can end."""

    def __init__(self, call: Any, metadata: Any, idle: Optional[float]) -> None:
        self._idle = idle
        self._requests: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting: Dict[int, "concurrent.futures.Future[Any]"] = {}
        self._sequence = 0
        self._ended = False
        self._error: Optional[BaseException] = None
        self._answers = call(self._events(), metadata=metadata)
        self._ear = threading.Thread(target=self._hear, name="hindsight-watch", daemon=True)
        self._ear.start()

    def ask(self, event: Any) -> "concurrent.futures.Future[Any]":
        answer: "concurrent.futures.Future[Any]" = concurrent.futures.Future()
        with self._lock:
            if self._error is not None:
                raise self._error
            self._sequence += 1
            event.sequence = self._sequence
            self._waiting[self._sequence] = answer
            self._requests.put(event)
        return answer

    def is_idle(self) -> bool:
        """Whether it has ended since nothing was asked; else it is there for some more time."""
        with self._lock:
            if not self._ended:
                self._requests.put(_STAY)
            return self._ended

    def end(self, event: Any, wait: float) -> None:
        """Says the last thing, and ends with the answer to it."""
        try:
            self.ask(event)
        except Exception as error:  # It ends either way.
            log.debug("the end of a watch was not heard: %s", error)
        self._requests.put(None)
        if wait:
            self._ear.join(wait)
            self._answers.cancel()

    def close(self) -> None:
        self._requests.put(None)
        self._answers.cancel()

    def _events(self) -> Iterator[Any]:
        while True:
            try:
                event = self._requests.get(timeout=self._idle)
            except queue.Empty:
                with self._lock:
                    self._ended = self._requests.empty()
                    if self._ended:
                        return
                continue
            if event is None:
                return
            if event is not _STAY:
                yield event

    def _hear(self) -> None:
        error: BaseException = ConnectionError("the server ended the watch")
        try:
            for answer in self._answers:
                with self._lock:
                    waiting = self._waiting.pop(answer.in_reply_to, None)
                if waiting is not None:
                    waiting.set_result(answer)
        except Exception as broken:
            error = broken
        with self._lock:
            self._error = error
            waiting_still, self._waiting = self._waiting, {}
        self._requests.put(None)
        for one in waiting_still.values():
            one.set_exception(error)


class AsyncWatch(_Events):
    """As :class:`Watch`, for asyncio: ``async with``, and every method is awaited."""

    _stream: Any = None
    _sequence = 0

    def __init__(self, open_channel: Callable[[], Any], metadata: Any, start: Any, timeout: float) -> None:
        super().__init__(open_channel, metadata, start, timeout)
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> "AsyncWatch":
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close("unknown" if error is None else "failure")

    async def start(self) -> Optional[Reminder]:
        """Begins the task. Also done by the first event."""
        await self._ask(None)
        return self.opening

    async def before_call(
        self, tool: str, arguments: Any = "", *, call_id: str = "", description: str = ""
    ) -> Optional[Reminder]:
        """A tool is about to be called: is that known to fail?"""
        return await self._ask(_convert.before_call(tool, arguments, call_id, description))

    async def after_call(
        self, tool: str, arguments: Any = "", output: Any = None, *, error: Any = None, call_id: str = ""
    ) -> Optional[Reminder]:
        """A call came back, or failed: how was the same failure solved before?"""
        return await self._ask(_convert.after_call(tool, arguments, output, error, call_id))

    async def message(self, text: str) -> Optional[Reminder]:
        """The user said something; a question whether something is remembered is answered."""
        return await self._ask(_convert.user_message(text))

    async def feedback(self, reminder_id: str, verdict: Verdict, note: str = "") -> None:
        """What became of a reminder."""
        await self._ask(_convert.feedback(reminder_id, verdict, note))

    async def close(self, outcome: OutcomeStatus = "unknown") -> None:
        """The task ended, and with it the watch."""
        end = _convert.watch_end(outcome)
        async with self._turn:
            self._closed = True
            stream, self._stream = self._stream, None
            if stream is not None:
                try:
                    await asyncio.wait_for(self._finish(stream, end), self._timeout)
                except Exception as error:  # It ends either way.
                    log.debug("the end of a watch was not heard: %s", error)
                stream.cancel()

    async def _ask(self, event: Any) -> Optional[Reminder]:
        async with self._turn:
            if self._is_away():
                return None
            try:
                return await asyncio.wait_for(self._answer(event), self._timeout)
            except InvalidArgument:
                raise
            except Exception as error:
                if self._stream is not None:
                    self._stream.cancel()
                    self._stream = None
                self._away(error)
                return None

    async def _answer(self, event: Any) -> Optional[Reminder]:
        if self._stream is None:
            stream = self._call(self._open_channel())(metadata=self._metadata)
            self._sequence = 0
            try:
                self.opening = self._said(await self._exchange(stream, self._begin()))
            except BaseException:
                stream.cancel()
                raise
            self._stream = stream
        return self.opening if event is None else self._said(await self._exchange(self._stream, event))

    async def _finish(self, stream: Any, end: Any) -> None:
        await self._exchange(stream, end)
        await stream.done_writing()
        await stream.read()

    async def _exchange(self, stream: Any, event: Any) -> Any:
        self._sequence += 1
        event.sequence = self._sequence
        await stream.write(event)
        answer = await stream.read()
        if answer is grpc.aio.EOF:
            raise ConnectionError("the server ended the watch")
        return answer
