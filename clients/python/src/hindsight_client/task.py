"""One task as it is recorded."""

from __future__ import annotations

import contextvars
import datetime
import threading
import uuid
import weakref
from types import TracebackType
from typing import Any, List, Optional, Sequence, Type

from . import _convert
from ._convert import Where
from ._errors import InvalidArgument
from ._schema import message, number, stamp, text
from ._words import (
    CONTROL,
    DETAIL_BYTES,
    ID_BYTES,
    OBSERVATION_BYTES,
    STEPS,
    TAGS,
    TEXT_BYTES,
    as_text,
    is_receipt,
    names,
    receipt_ids,
)
from .recorder import Recorder
from .types import Evidence, OutcomeStatus

_current: "contextvars.ContextVar[Optional[Task]]" = contextvars.ContextVar("hindsight_task", default=None)
_open: "weakref.WeakValueDictionary[str, Task]" = weakref.WeakValueDictionary()
"""The tasks of this process that have not ended, by trace id."""


def current_task() -> "Optional[Task]":
    """The task that is being recorded in this context."""
    return _current.get()


def credit(receipt_id: str, trace_id: str = "") -> None:
    """Names what was recalled or said to the task of that name, else to the one of this context."""
    task = current_task()
    if trace_id and (task is None or task.trace_id != trace_id):
        task = _open.get(trace_id)
    if task is not None:
        task.add_receipt(receipt_id)


class Task:
    """A task from its goal to its end. As a context manager it ends with the block: an exception ends it as failed
    with the error, else the outcome is the one stated, or not known. No method waits, and none raises for what
    goes wrong with recording: ``client.recorder.state`` tells.

    The start is sent with the first step. What was recalled later is told with the end.
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
        goal = as_text(goal)
        if not goal.strip():
            raise InvalidArgument.of("goal", "is required: what is to be done, in words")
        about = names(user=user, agent=agent, session=session, task_type=task_type, trace_id=trace_id)
        self.trace_id = about.pop("trace_id") or str(uuid.uuid4())
        self.goal = goal
        self.receipts: List[str] = receipt_ids(receipts)
        self._recorder = recorder
        self._started = message("event.v1.TaskStarted")(
            goal=self._cut(goal, TEXT_BYTES), environment=_convert.environment(environment), **about
        )
        self._begun: Any = None
        """The start as it was sent."""
        # Stated on every event: a server that has not seen the start could not know it.
        own = bool(self.user) and not shared
        level = number("common.v1.ScopeLevel", "scope", "user" if own else "tenant")
        self._scope = message("common.v1.Scope")(level=level, id=self.user if own else "")
        self._lock = threading.Lock()
        self._steps: Optional[int] = None
        """``None``: the start is not sent yet."""
        self._ended = False
        self._outcome: Any = None
        self._token: "Optional[contextvars.Token[Optional[Task]]]" = None
        _open[self.trace_id] = self

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
            action_name=self._cut(as_text(name).strip() or "unnamed", ID_BYTES),
            action_detail=self._cut(as_text(arguments), DETAIL_BYTES),
            observation=self._cut(as_text(output if error is None else error), OBSERVATION_BYTES),
            status=number("common.v1.StepStatus", "status", "ok" if error is None else "error"),
            reflection=self._cut(as_text(reflection), TEXT_BYTES),
            agent=self._name(agent),
        )
        return self._step(step, started_at, ended_at)

    def reasoning(self, text: str, *, agent: str = "") -> Optional[int]:
        """Records what the model thought or said."""
        return self._words("llm_reasoning", text, agent)

    def user_input(self, text: str) -> Optional[int]:
        """Records what the user said."""
        return self._words("user_input", text, "")

    def add_receipt(self, receipt_id: str) -> None:
        """Names a recall or a reminder that shapes the task, up to its end. Recalls made in its context and what a watch
        of it says are named already. The first 64 count."""
        if receipt_id and not is_receipt(receipt_id):
            self._recorder.lose(f"{as_text(receipt_id)!r} is no receipt_id of a recall, nor reminder_id of a reminder")
            return
        with self._lock:
            if receipt_id and receipt_id not in self.receipts and len(self.receipts) < TAGS:
                self.receipts.append(receipt_id)

    def conclude(
        self, status: OutcomeStatus, conclusion: str = "", evidence: Sequence[Evidence] = ()
    ) -> None:
        """States how the task ends; the last word before its end counts."""
        stated = list(evidence)[:TAGS]
        if not all(isinstance(e, Evidence) for e in stated):
            raise InvalidArgument.of("evidence", "is no list of Evidence")
        parts = [Evidence(e.source, e.verdict, self._cut(as_text(e.detail), TEXT_BYTES)) for e in stated]
        self._outcome = _convert.outcome(status, self._cut(as_text(conclusion), TEXT_BYTES), parts)

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
            if _open.get(self.trace_id) is self:
                del _open[self.trace_id]
            if self._steps is None:
                return
            self._restate()
            outcome = self._outcome or _convert.outcome("unknown", "", ())
            completed = dict(outcome=outcome, step_count=self._steps)
            self._recorder.offer(self._event(completed=completed), is_end=True)

    def _words(self, kind: str, words: str, agent: str) -> Optional[int]:
        step = message("common.v1.Step")(
            action_type=number("common.v1.ActionType", "action_type", kind),
            action_detail=self._cut(as_text(words), DETAIL_BYTES),
            agent=self._name(agent),
        )
        return self._step(step, None, None)

    def _step(
        self, step: Any, started_at: Optional[datetime.datetime], ended_at: Optional[datetime.datetime]
    ) -> Optional[int]:
        try:
            stamp(step.ended_at, "ended_at", ended_at or datetime.datetime.now(datetime.timezone.utc))
            if started_at is not None:
                stamp(step.started_at, "started_at", started_at)
        except InvalidArgument as error:
            self._recorder.lose(f"a step of the task {self.trace_id}: {error}")
            return None
        if step.started_at.ToNanoseconds() > step.ended_at.ToNanoseconds():
            step.started_at.CopyFrom(step.ended_at)
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
        self._started.receipts.extend(self.receipts)
        self._begun = self._event(started=self._started)
        if self._recorder.offer(self._begun):
            self._steps = 0
        else:
            self._ended = True

    def _restate(self) -> None:
        """What was recalled since the start. Of several starts the one recorded first counts, so this one is a microsecond
        older."""
        if len(self.receipts) == len(self._started.receipts):
            return
        restated = message("collector.v1.RecordEventsRequest")()
        restated.CopyFrom(self._begun)
        restated.event_id = str(uuid.uuid4())
        restated.recorded_at.FromMicroseconds(restated.recorded_at.ToMicroseconds() - 1)
        restated.started.receipts[:] = self.receipts
        self._recorder.offer(restated, is_end=True)

    def _event(self, **body: Any) -> Any:
        event = message("collector.v1.RecordEventsRequest")(trace_id=self.trace_id, scope=self._scope, **body)
        stamp(event.recorded_at, "recorded_at", datetime.datetime.now(datetime.timezone.utc))
        return event

    def _name(self, agent: Any) -> str:
        """A name that the server takes, whatever is given."""
        return self._cut(CONTROL.sub(" ", as_text(agent)).strip(), ID_BYTES)

    def _cut(self, words: str, limit: int) -> str:
        """Keeps the head and the tail, where what matters stands."""
        words = text(words)
        data = words.encode()
        if len(data) <= limit:
            return words
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
            self.fail(as_text(error))
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
