"""One task as it is recorded."""

from __future__ import annotations

import contextvars
import datetime
import json
import threading
import uuid
from types import TracebackType
from typing import Any, List, Optional, Sequence, Type

from . import _convert
from ._convert import Where
from ._errors import InvalidArgument
from ._schema import message, number, stamp
from .recorder import Recorder
from .types import Evidence, OutcomeStatus

ID_BYTES = 128
TEXT_BYTES = 64 * 1024
DETAIL_BYTES = 256 * 1024
OBSERVATION_BYTES = 1024 * 1024
STEPS = 5_000
TAGS = 64

_current: "contextvars.ContextVar[Optional[Task]]" = contextvars.ContextVar("hindsight_task", default=None)


def current_task() -> "Optional[Task]":
    """The task that is being recorded in this context."""
    return _current.get()


def as_text(value: Any) -> str:
    """What a model or a tool gave, as text: text as it is, everything else as JSON where it can be."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except Exception:  # Whatever the object does, recording it breaks nothing.
        return f"<{type(value).__name__}>"


class Task:
    """A task from its goal to its end. As a context manager it ends with the block: an exception ends it as failed
    with the error, else the outcome is the one stated, or not known. No method waits, and none raises for what
    goes wrong with recording: ``client.recorder.state`` tells.

    The start is sent with the first step, so that receipts of recalls made before it belong to it.
    """

    def __init__(
        self,
        recorder: Recorder,
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
    ) -> None:
        if not goal.strip():
            raise InvalidArgument.of("goal", "is required: what is to be done, in words")
        for field, value in dict(user=user, agent=agent, session=session, task_type=task_type, trace_id=trace_id).items():
            if len(value.encode()) > ID_BYTES:
                raise InvalidArgument.of(field, f"is longer than {ID_BYTES} bytes; shorten it")
        self.trace_id = trace_id or str(uuid.uuid4())
        self.goal = goal
        self.receipts: List[str] = list(receipts)
        self._recorder = recorder
        self._started = message("event.v1.TaskStarted")(
            goal=self._cut(goal, TEXT_BYTES),
            user=user,
            agent=agent,
            session=session,
            task_type=task_type,
            environment=_convert.environment(environment),
        )
        # Stated on every event: a server that has not seen the start could not know it.
        own = bool(user) and not shared
        level = number("common.v1.ScopeLevel", "scope", "user" if own else "tenant")
        self._scope = message("common.v1.Scope")(level=level, id=user if own else "")
        self._lock = threading.Lock()
        self._steps: Optional[int] = None
        """``None``: the start is not sent yet."""
        self._ended = False
        self._outcome: Any = None
        self._token: "Optional[contextvars.Token[Optional[Task]]]" = None

    @property
    def user(self) -> str:
        return str(self._started.user)

    def tool_call(
        self,
        name: str,
        arguments: Any = "",
        output: Any = None,
        *,
        error: Any = None,
        reflection: str = "",
        agent: str = "",
        started_at: Optional[datetime.datetime] = None,
        ended_at: Optional[datetime.datetime] = None,
    ) -> Optional[int]:
        """Records a call of a tool: what came back, or how it failed. Returns the index of the step, or ``None``
        when it was not taken."""
        step = message("common.v1.Step")(
            action_type=number("common.v1.ActionType", "action_type", "tool_call"),
            action_name=self._cut(name.strip() or "unnamed", ID_BYTES),
            action_detail=self._cut(as_text(arguments), DETAIL_BYTES),
            observation=self._cut(as_text(output if error is None else error), OBSERVATION_BYTES),
            status=number("common.v1.StepStatus", "status", "ok" if error is None else "error"),
            reflection=self._cut(reflection, TEXT_BYTES),
            agent=self._cut(agent, ID_BYTES),
        )
        return self._step(step, started_at, ended_at)

    def reasoning(self, text: str, *, agent: str = "") -> Optional[int]:
        """Records what the model thought or said."""
        return self._words("llm_reasoning", text, agent)

    def user_input(self, text: str) -> Optional[int]:
        """Records what the user said."""
        return self._words("user_input", text, "")

    def add_receipt(self, receipt_id: str) -> None:
        """Names a recall that shapes the task. Counts until the first step."""
        with self._lock:
            if receipt_id and receipt_id not in self.receipts:
                self.receipts.append(receipt_id)

    def conclude(
        self, status: OutcomeStatus, conclusion: str = "", evidence: Sequence[Evidence] = ()
    ) -> None:
        """States how the task ends; the last word before its end counts."""
        parts = [Evidence(e.source, e.verdict, self._cut(e.detail, TEXT_BYTES)) for e in evidence[:TAGS]]
        self._outcome = _convert.outcome(status, self._cut(conclusion, TEXT_BYTES), parts)

    def succeed(self, conclusion: str = "") -> None:
        """States that the goal was reached, by the agent's own word. ``conclusion`` is the answer."""
        self.conclude("success", conclusion, [Evidence("agent_claim", "success", conclusion)])

    def fail(self, error: str) -> None:
        """States that the goal was missed, by the agent's own word."""
        self.conclude("failure", error, [Evidence("agent_claim", "failure", error)])

    def end(self) -> None:
        """Ends the task with the outcome stated; it is judged once the server has all its steps."""
        with self._lock:
            if self._ended:
                return
            if self._steps is None:
                self._start()
            self._ended = True
            if self._steps is None:
                return
            outcome = self._outcome or _convert.outcome("unknown", "", ())
            completed = dict(outcome=outcome, step_count=self._steps)
            self._recorder.offer(self._event(completed=completed), is_end=True)

    def _words(self, kind: str, text: str, agent: str) -> Optional[int]:
        step = message("common.v1.Step")(
            action_type=number("common.v1.ActionType", "action_type", kind),
            action_detail=self._cut(text, DETAIL_BYTES),
            agent=self._cut(agent, ID_BYTES),
        )
        return self._step(step, None, None)

    def _step(
        self, step: Any, started_at: Optional[datetime.datetime], ended_at: Optional[datetime.datetime]
    ) -> Optional[int]:
        now = datetime.datetime.now(datetime.timezone.utc)
        stamp(step.ended_at, ended_at or now)
        if started_at is not None:
            stamp(step.started_at, min(started_at, ended_at or now))
        with self._lock:
            if self._steps is None and not self._ended:
                self._start()
            if self._steps is None or self._ended or self._steps >= STEPS:
                self._recorder.lose(f"the task {self.trace_id} has ended, was not taken, or has {STEPS} steps")
                return None
            # What is not taken leaves no hole in the run.
            step.step_index = self._steps
            if not self._recorder.offer(self._event(step=step)):
                return None
            self._steps += 1
            return self._steps - 1

    def _start(self) -> None:
        self._started.receipts.extend(self.receipts[:TAGS])
        if self._recorder.offer(self._event(started=self._started)):
            self._steps = 0
        else:
            self._ended = True

    def _event(self, **body: Any) -> Any:
        event = message("collector.v1.RecordEventsRequest")(trace_id=self.trace_id, scope=self._scope, **body)
        stamp(event.recorded_at, datetime.datetime.now(datetime.timezone.utc))
        return event

    def _cut(self, text: str, limit: int) -> str:
        """Keeps the head and the tail, where what matters stands."""
        # A lone surrogate is no text that can be sent.
        data = text.encode("utf-8", "replace")
        if len(data) <= limit:
            return data.decode()
        self._recorder.cut()
        mark = f"\n[… {len(data)} bytes, cut …]\n" if limit > ID_BYTES else "…"
        half = (limit - len(mark.encode())) // 2
        return data[:half].decode(errors="ignore") + mark + data[-half:].decode(errors="ignore")

    def __enter__(self) -> "Task":
        self._token = _current.set(self)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if self._token is not None:
            _current.reset(self._token)
            self._token = None
        if isinstance(error, Exception):
            self.fail(f"{type(error).__name__}: {error}")
        elif error is not None and self._outcome is None:
            # Cancelled, or the process is told to end: that says nothing about the task.
            self.conclude("unknown", type(error).__name__)
        self.end()

    async def __aenter__(self) -> "Task":
        return self.__enter__()

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.__exit__(kind, error, traceback)
