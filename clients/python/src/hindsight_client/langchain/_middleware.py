"""Places what is remembered before an agent, and warns of its calls."""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections import OrderedDict
from contextlib import contextmanager
from typing import Annotated, Any, Awaitable, Callable, Dict, Iterator, List, Literal, Optional, Sequence, Tuple, Union

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import ModelRequest, PrivateStateAttr, ToolCallRequest
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langgraph.config import get_config
from typing_extensions import NotRequired

from .._convert import Where
from .._words import as_text
from ..client import Client
from ..task import Task, current_task
from ..types import Reminder
from ..watch import Watch
from ._handler import HindsightCallbackHandler, Root
from ._messages import last_text, messages_of, text_of

log = logging.getLogger("hindsight_client")

WATCHES = 64
"""Most watches that one middleware has open at a time; the one that was used least recently is let go. A key may have 256
streams (``watch.streams_per_key``), which all processes share."""
IDLE = 60.0
"""A watch of which nothing is heard for so many seconds is ended until the next call."""
HELD = "hindsight_held"
"""Marks the answer to a call that was not made."""


class _MemoryState(AgentState[Any]):
    hindsight_block: NotRequired[Annotated[str, PrivateStateAttr]]
    hindsight_run: NotRequired[Annotated[str, PrivateStateAttr]]
    hindsight_user: NotRequired[Annotated[str, PrivateStateAttr]]


class HindsightMiddleware(AgentMiddleware[Any, Any, Any]):
    """Places what is remembered of the user's last message after the system prompt and before the conversation, and warns
    of calls that are known to fail. A memory that is away changes nothing.

    ``warn``: ``annotate`` adds the warning to the result of the call; ``confirm`` answers the call with the warning
    instead of making it, once: made again it goes through; ``off``.
    """

    state_schema = _MemoryState

    def __init__(
        self,
        client: Client,
        *,
        user: Union[str, Callable[[Any], str]] = "",
        agent: str = "",
        task_type: str = "",
        environment: Where = None,
        token_budget: int = 0,
        language: str = "",
        warn: Literal["annotate", "confirm", "off"] = "annotate",
        timeout: float = 2.0,
    ) -> None:
        """``user``: the person the agent works for, or how to read it from the LangGraph runtime; else the user of the task
        that the run is recorded as. ``timeout``: most seconds that the memory may take before the agent goes on without it.
        The rest as for :meth:`Client.recall`."""
        super().__init__()
        self._client = client
        self._user = user
        self._about = dict(agent=agent, task_type=task_type, environment=environment, language=language)
        self._token_budget = token_budget
        self._warn = warn
        self._timeout = timeout
        self._lock = threading.Lock()
        self._watches: "OrderedDict[str, Watch]" = OrderedDict()

    def before_agent(self, state: Any, runtime: Any) -> Dict[str, Any]:
        user, block, run = "", "", ""
        try:
            task, _ = _surroundings()
            user = self._user(runtime) if callable(self._user) else self._user or (task.user if task else "")
            recalled = self._client.recall(
                last_text(state, HumanMessage),
                user=user,
                token_budget=self._token_budget,
                timeout=self._timeout,
                **self._about,  # type: ignore[arg-type]
            )
            block = recalled.block
            if task is not None:
                task.add_receipt(recalled.receipt_id)
            run = str(uuid.uuid4())
        except Exception as error:  # A broken memory never breaks the agent.
            log.warning("the agent goes on without memory: %s", as_text(error))
        return {"hindsight_block": block, "hindsight_run": run, "hindsight_user": as_text(user)}

    async def abefore_agent(self, state: Any, runtime: Any) -> Dict[str, Any]:
        return await asyncio.to_thread(self.before_agent, state, runtime)

    def after_agent(self, state: Any, runtime: Any) -> None:
        self._let_go(_run(state))

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        self.after_agent(state, runtime)

    def wrap_model_call(self, request: "ModelRequest[Any]", handler: Callable[["ModelRequest[Any]"], Any]) -> Any:
        with self._ending(request):
            return handler(_with_block(request))

    async def awrap_model_call(
        self, request: "ModelRequest[Any]", handler: Callable[["ModelRequest[Any]"], Awaitable[Any]]
    ) -> Any:
        with self._ending(request):
            return await handler(_with_block(request))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        watch = self._watch(request)
        if watch is None:
            return handler(request)
        reminder = self._before(watch, request)
        if reminder is not None and self._warn == "confirm" and not _was_held(request):
            return _instead(request, reminder)
        with self._ending(request):
            result = handler(request)
        return _annotated(result, [reminder, self._after(watch, request, result)])

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        watch = self._watch(request)
        if watch is None:
            return await handler(request)
        reminder = await asyncio.to_thread(self._before, watch, request)
        if reminder is not None and self._warn == "confirm" and not _was_held(request):
            return _instead(request, reminder)
        with self._ending(request):
            result = await handler(request)
        return _annotated(result, [reminder, await asyncio.to_thread(self._after, watch, request, result)])

    def _watch(self, request: ToolCallRequest) -> Optional[Watch]:
        """The watch of a run. The first call opens it, and so does the next one after it was let go."""
        run = _run(request.state)
        if not run or self._warn == "off":
            return None
        try:
            return self._watch_of(run, request.state["hindsight_user"])
        except Exception as error:  # A broken memory never breaks the agent.
            log.warning("a call is not checked: %s", as_text(error))
            return None

    def _watch_of(self, run: str, user: str) -> Optional[Watch]:
        task, root = _surroundings()
        if root is not None:
            if root.over:
                return None
            root.at_end[run] = lambda: self._let_go(run)
        oldest = None
        with self._lock:
            watch = self._watches.pop(run, None)
            if watch is None:
                trace_id = task.trace_id if task else ""
                watch = self._client.watch(trace_id=trace_id, user=user, timeout=self._timeout, **self._about)  # type: ignore[arg-type]
                watch._idle = IDLE
            self._watches[run] = watch
            if len(self._watches) > WATCHES:
                oldest = next(iter(self._watches))
        if oldest is not None:
            self._let_go(oldest)
        return watch

    @contextmanager
    def _ending(self, request: Any) -> Iterator[None]:
        """What a tool or a model raises may be the end of the run, of which nobody else may tell. Whoever catches it goes on
        with another watch, which says again what the exception kept from being said."""
        try:
            yield
        except BaseException:
            self._let_go(_run(request.state))
            raise

    def _let_go(self, run: str) -> None:
        with self._lock:
            watch = self._watches.pop(run, None)
        if watch is not None:
            watch.close(wait=False)

    def _before(self, watch: Watch, request: ToolCallRequest) -> Optional[Reminder]:
        call = request.tool_call
        try:
            return watch.before_call(call["name"], call["args"], call_id=call["id"] or "")
        except Exception as error:  # A broken memory never breaks the agent.
            log.warning("a call is not checked: %s", as_text(error))
            return None

    def _after(self, watch: Watch, request: ToolCallRequest, result: Any) -> Optional[Reminder]:
        call = request.tool_call
        text = text_of(result)
        failure = text if getattr(result, "status", None) == "error" else None
        try:
            return watch.after_call(call["name"], call["args"], text, error=failure, call_id=call["id"] or "")
        except Exception as error:  # A broken memory never breaks the agent.
            log.warning("a result is not looked at: %s", as_text(error))
            return None


def _with_block(request: "ModelRequest[Any]") -> "ModelRequest[Any]":
    state: Any = request.state
    block = state.get("hindsight_block", "")
    if not block:
        return request
    messages: List[Any] = list(request.messages)
    place = 0
    while place < len(messages) and isinstance(messages[place], SystemMessage):
        place += 1
    messages.insert(place, HumanMessage(block))
    return request.override(messages=messages)


def _instead(request: ToolCallRequest, reminder: Reminder) -> ToolMessage:
    text = f"The call was not made, since it is known to fail. Make it again to have it made all the same.\n\n{reminder.block}"
    call = request.tool_call
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error", response_metadata={HELD: True})


def _was_held(request: ToolCallRequest) -> bool:
    """Whether the same call was answered with a warning before, on this watch or on an earlier one."""
    messages = messages_of(request.state)
    held = {m.tool_call_id for m in messages if isinstance(m, ToolMessage) and HELD in m.response_metadata}
    calls = (call for m in messages for call in getattr(m, "tool_calls", ()) if call["id"] in held)
    now = request.tool_call
    return any((call["name"], call["args"]) == (now["name"], now["args"]) for call in calls)


def _annotated(result: Any, reminders: "Sequence[Optional[Reminder]]") -> Any:
    blocks = [reminder.block for reminder in reminders if reminder is not None]
    if not blocks or not isinstance(result, ToolMessage):
        return result
    if isinstance(result.content, str):
        content: Any = "\n\n".join([result.content, *blocks])
    else:
        content = [*result.content, *({"type": "text", "text": block} for block in blocks)]
    return result.model_copy(update={"content": content})


def _surroundings() -> "Tuple[Optional[Task], Optional[Root]]":
    """The task that this is called in, and the run that a handler among its callbacks records."""
    try:
        callbacks = get_config().get("callbacks")
    except RuntimeError:  # Not within a run.
        callbacks = None
    for handler in getattr(callbacks, "handlers", None) or ():
        if isinstance(handler, HindsightCallbackHandler):
            root = handler.root_of(getattr(callbacks, "parent_run_id", None))
            if root is not None:
                return current_task() or root.task, root
    return current_task(), None


def _run(state: Any) -> str:
    return str(state.get("hindsight_run", "")) if isinstance(state, dict) else ""
