"""LangChain 1.x and LangGraph: what an agent does is recorded, what is remembered is placed before it, and a call that
is known to fail is warned about.

>>> agent = create_agent(model, tools, middleware=[HindsightMiddleware(client)])
>>> agent.invoke({"messages": ["..."]}, {"callbacks": [HindsightCallbackHandler(client)]})
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import threading
import uuid
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Awaitable, Callable, Dict, Iterator, List, Literal, Mapping, Optional, Sequence, Tuple, Union

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import ModelRequest, PrivateStateAttr, ToolCallRequest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.config import get_config
from typing_extensions import NotRequired

from ._convert import Where
from ._words import as_text
from .client import Client
from .task import Task, current_task
from .types import Reminder
from .watch import Watch

log = logging.getLogger("hindsight_client")

WATCHES = 64
"""Most watches that one middleware has open at a time; the one that was used least recently is let go. A key may have 256
streams (``watch.streams_per_key``), which all processes share."""
IDLE = 60.0
"""A watch of which nothing is heard for so many seconds is ended until the next call."""
HELD = "hindsight_held"
"""Marks the answer to a call that was not made."""


@dataclass
class _Root:
    """One run of an agent."""

    task: Task
    own: bool
    """Whether it ends with the run; a task that was open before goes on."""
    at_end: "Dict[str, Callable[[], None]]" = field(default_factory=dict)
    """Called when the run ends, however it does."""
    over: bool = False


@dataclass
class _Call:
    """A tool that runs."""

    name: str
    arguments: Any
    started_at: datetime.datetime


class HindsightCallbackHandler(BaseCallbackHandler):
    """Records every run as a task: the goal is the user's last message, each tool call and each text of the model is a
    step, the last text is the conclusion, an error ends it as failed. Within ``with client.task(...)`` the steps join
    that task. One handler may serve many runs at a time."""

    run_inline = True

    def __init__(
        self,
        client: Client,
        *,
        user: Union[str, Callable[[Mapping[str, Any]], str]] = "",
        agent: str = "",
        session: str = "",
        task_type: str = "",
        environment: Where = None,
        shared: bool = False,
    ) -> None:
        """As for :meth:`Client.task`; without a ``session`` it is LangGraph's ``thread_id``. ``user``: the person the agent
        works for, or how to read it from the metadata of a run; a run of which it names nobody is not recorded."""
        self._client = client
        self._user = user
        self._about = dict(agent=agent, task_type=task_type, environment=environment, shared=shared)
        self._session = session
        self._lock = threading.Lock()
        self._roots: Dict[uuid.UUID, _Root] = {}
        """By every run within it."""
        self._calls: Dict[uuid.UUID, _Call] = {}

    def root_of(self, run_id: Optional[uuid.UUID]) -> Optional[_Root]:
        """The run of an agent that a run is part of."""
        with self._lock:
            return self._roots.get(run_id) if run_id else None

    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: uuid.UUID,
        parent_run_id: Optional[uuid.UUID] = None,
        metadata: Optional[Dict[str, Any]] = None,
        **kwargs: Any,
    ) -> None:
        if parent_run_id is not None:
            self._join(run_id, parent_run_id)
            return
        open_task = current_task()
        task = open_task or self._begin(inputs, metadata or {})
        if task is not None:
            with self._lock:
                self._roots[run_id] = _Root(task, own=open_task is None)

    def on_chain_end(self, outputs: Any, *, run_id: uuid.UUID, parent_run_id: Optional[uuid.UUID] = None, **kwargs: Any) -> None:
        root = self._leave(run_id)
        if root and parent_run_id is None:
            if root.own:
                root.task.conclude("unknown", _last_text(outputs))
            self._end(root)

    def on_chain_error(
        self, error: BaseException, *, run_id: uuid.UUID, parent_run_id: Optional[uuid.UUID] = None, **kwargs: Any
    ) -> None:
        root = self._leave(run_id)
        if root and parent_run_id is None:
            if root.own and isinstance(error, Exception) and not _is_control_flow(error):
                root.task.fail(as_text(error))
            elif root.own:
                root.task.conclude("unknown", type(error).__name__)
            self._end(root)

    def on_tool_start(
        self,
        serialized: Any,
        input_str: str,
        *,
        run_id: uuid.UUID,
        parent_run_id: Optional[uuid.UUID] = None,
        inputs: Optional[Dict[str, Any]] = None,
        **kwargs: Any,
    ) -> None:
        self._join(run_id, parent_run_id)
        name = (serialized or {}).get("name") or kwargs.get("name") or "unnamed"
        self._called(run_id, name, input_str if inputs is None else inputs)

    def on_tool_end(self, output: Any, *, run_id: uuid.UUID, **kwargs: Any) -> None:
        text = _text(output)
        failed = getattr(output, "status", None) == "error"
        self._returned(run_id, None if failed else text, text if failed else None)

    def on_tool_error(self, error: BaseException, *, run_id: uuid.UUID, **kwargs: Any) -> None:
        self._returned(run_id, None, as_text(error))

    def on_retriever_start(
        self,
        serialized: Any,
        query: str,
        *,
        run_id: uuid.UUID,
        parent_run_id: Optional[uuid.UUID] = None,
        **kwargs: Any,
    ) -> None:
        self._join(run_id, parent_run_id)
        self._called(run_id, kwargs.get("name") or (serialized or {}).get("name") or "retriever", query)

    def on_retriever_end(self, documents: Any, *, run_id: uuid.UUID, **kwargs: Any) -> None:
        self._returned(run_id, "\n\n".join(getattr(d, "page_content", as_text(d)) for d in documents), None)

    def on_retriever_error(self, error: BaseException, *, run_id: uuid.UUID, **kwargs: Any) -> None:
        self._returned(run_id, None, as_text(error))

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: Any,
        *,
        run_id: uuid.UUID,
        parent_run_id: Optional[uuid.UUID] = None,
        **kwargs: Any,
    ) -> None:
        self._join(run_id, parent_run_id)

    def on_llm_start(
        self,
        serialized: Any,
        prompts: Any,
        *,
        run_id: uuid.UUID,
        parent_run_id: Optional[uuid.UUID] = None,
        **kwargs: Any,
    ) -> None:
        self._join(run_id, parent_run_id)

    def on_llm_end(self, response: Any, *, run_id: uuid.UUID, **kwargs: Any) -> None:
        root = self._leave(run_id)
        if root is None:
            return
        for generation in (g for several in response.generations for g in several[:1]):
            text = _text(getattr(generation, "message", None) or generation.text)
            if text.strip():
                root.task.reasoning(text)

    def on_llm_error(self, error: BaseException, *, run_id: uuid.UUID, **kwargs: Any) -> None:
        self._leave(run_id)

    def _begin(self, inputs: Any, metadata: Dict[str, Any]) -> Optional[Task]:
        try:
            user = self._user(metadata) if callable(self._user) else self._user
            if callable(self._user) and not user and not self._about["shared"]:
                raise ValueError("its metadata names no user, and without one it would belong to everyone")
            session = self._session or str(metadata.get("thread_id", ""))
            goal = _goal(inputs) or "no goal was stated"
            return self._client.task(goal, user=user, session=session, **self._about)  # type: ignore[arg-type]
        except Exception as error:  # A broken memory never breaks the agent.
            self._client.recorder.lose(as_text(error))
            log.warning("a run is not recorded: %s", as_text(error))
            return None

    def _end(self, root: _Root) -> None:
        if root.own:
            root.task.end()
        root.over = True
        for end in list(root.at_end.values()):
            end()

    def _join(self, run_id: uuid.UUID, parent_run_id: Optional[uuid.UUID]) -> None:
        with self._lock:
            root = self._roots.get(parent_run_id) if parent_run_id else None
            if root is not None:
                self._roots[run_id] = root

    def _leave(self, run_id: uuid.UUID) -> Optional[_Root]:
        with self._lock:
            return self._roots.pop(run_id, None)

    def _called(self, run_id: uuid.UUID, name: str, arguments: Any) -> None:
        with self._lock:
            if run_id in self._roots:
                self._calls[run_id] = _Call(name, arguments, datetime.datetime.now(datetime.timezone.utc))

    def _returned(self, run_id: uuid.UUID, output: Optional[str], error: Optional[str]) -> None:
        root = self._leave(run_id)
        with self._lock:
            call = self._calls.pop(run_id, None)
        if root and call:
            root.task.tool_call(call.name, call.arguments, output, error=error, started_at=call.started_at)


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
                _last_text(state, HumanMessage),
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
        text = _text(result)
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
    messages = _messages(request.state)
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


def _surroundings() -> "Tuple[Optional[Task], Optional[_Root]]":
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


def _is_control_flow(error: Exception) -> bool:
    """LangGraph interrupts a run by an exception."""
    return any(kind.__name__ == "GraphBubbleUp" for kind in type(error).__mro__)


def _text(value: Any) -> str:
    if isinstance(value, BaseMessage):
        return str(value.text)
    return as_text(value)


def _messages(value: Any) -> List[Any]:
    found = value.get("messages", []) if isinstance(value, dict) else value if isinstance(value, list) else []
    return found if isinstance(found, list) else [found]


def _last_text(value: Any, kind: Any = BaseMessage) -> str:
    """The text of the last message of that kind, else of whatever the value is."""
    for message in reversed(_messages(value)):
        if isinstance(message, kind):
            return _text(message)
    return "" if isinstance(value, dict) and "messages" in value else as_text(value)


def _goal(inputs: Any) -> str:
    """The user's last message, or the input of a chain that takes none."""
    for message in reversed(_messages(inputs)):
        if isinstance(message, str):
            return message
        if isinstance(message, HumanMessage):
            return _text(message)
        if isinstance(message, dict) and message.get("role") in ("user", "human"):
            return as_text(message.get("content"))
        if isinstance(message, (tuple, list)) and len(message) == 2 and message[0] in ("user", "human"):
            return as_text(message[1])
    if isinstance(inputs, dict):
        stated = (inputs.get(name) for name in ("input", "question", "query", "goal"))
        return next((s for s in stated if isinstance(s, str) and s.strip()), as_text(inputs))
    return as_text(inputs)
