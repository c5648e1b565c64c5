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
from dataclasses import dataclass
from typing import Annotated, Any, Awaitable, Callable, Dict, List, Literal, Optional, Sequence, Union

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import ModelRequest, PrivateStateAttr, ToolCallRequest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.config import get_config
from typing_extensions import NotRequired

from .client import Client
from ._convert import Where
from .task import Task, as_text, current_task
from .types import Reminder
from .watch import Watch

log = logging.getLogger("hindsight_client")

WATCHES = 1000
"""Most agent runs of one middleware that are watched at a time; the oldest is let go."""


@dataclass
class _Root:
    """One run of an agent."""

    task: Task
    own: bool
    """Whether it ends with the run; a task that was open before goes on."""


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
        user: str = "",
        agent: str = "",
        session: str = "",
        task_type: str = "",
        environment: Where = None,
        shared: bool = False,
    ) -> None:
        """As for :meth:`Client.task`; without a ``session`` it is LangGraph's ``thread_id``."""
        self._client = client
        self._about = dict(user=user, agent=agent, task_type=task_type, environment=environment, shared=shared)
        self._session = session
        self._lock = threading.Lock()
        self._roots: Dict[uuid.UUID, _Root] = {}
        """By every run within it."""
        self._calls: Dict[uuid.UUID, _Call] = {}

    def task_of(self, run_id: Optional[uuid.UUID]) -> Optional[Task]:
        """The task that a run belongs to."""
        with self._lock:
            root = self._roots.get(run_id) if run_id else None
        return root.task if root else None

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
        if root and parent_run_id is None and root.own:
            root.task.conclude("unknown", _last_text(outputs))
            root.task.end()

    def on_chain_error(
        self, error: BaseException, *, run_id: uuid.UUID, parent_run_id: Optional[uuid.UUID] = None, **kwargs: Any
    ) -> None:
        root = self._leave(run_id)
        if root and parent_run_id is None and root.own:
            if isinstance(error, Exception) and not _is_control_flow(error):
                root.task.fail(f"{type(error).__name__}: {error}")
            else:
                root.task.conclude("unknown", type(error).__name__)
            root.task.end()

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
        self._returned(run_id, None, f"{type(error).__name__}: {error}")

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
        self._returned(run_id, None, f"{type(error).__name__}: {error}")

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
            session = self._session or str(metadata.get("thread_id", ""))
            return self._client.task(_goal(inputs) or "no goal was stated", session=session, **self._about)  # type: ignore[arg-type]
        except Exception as error:  # A broken memory never breaks the agent.
            self._client.recorder.lose(str(error))
            log.warning("a run is not recorded: %s", error)
            return None

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
        """``user``: the person the agent works for, or how to read it from the LangGraph runtime. ``timeout``: most seconds that
        the memory may take before the agent goes on without it. The rest as for :meth:`Client.recall`."""
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
        run, block = str(uuid.uuid4()), ""
        try:
            user = self._user(runtime) if callable(self._user) else self._user
            task = _task()
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
            if self._warn != "off":
                trace_id = task.trace_id if task else ""
                watch = self._client.watch(trace_id=trace_id, user=user, timeout=self._timeout, **self._about)  # type: ignore[arg-type]
                self._keep(run, watch)
        except Exception as error:  # A broken memory never breaks the agent.
            log.warning("the agent goes on without memory: %s", error)
        return {"hindsight_block": block, "hindsight_run": run}

    async def abefore_agent(self, state: Any, runtime: Any) -> Dict[str, Any]:
        return await asyncio.to_thread(self.before_agent, state, runtime)

    def after_agent(self, state: Any, runtime: Any) -> None:
        with self._lock:
            watch = self._watches.pop(state.get("hindsight_run", ""), None)
        if watch is not None:
            watch.close()

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        await asyncio.to_thread(self.after_agent, state, runtime)

    def wrap_model_call(self, request: "ModelRequest[Any]", handler: Callable[["ModelRequest[Any]"], Any]) -> Any:
        return handler(_with_block(request))

    async def awrap_model_call(
        self, request: "ModelRequest[Any]", handler: Callable[["ModelRequest[Any]"], Awaitable[Any]]
    ) -> Any:
        return await handler(_with_block(request))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        watch = self._watch(request)
        if watch is None:
            return handler(request)
        reminder = self._before(watch, request)
        if reminder is not None and self._warn == "confirm":
            return _instead(request, reminder)
        try:
            result = handler(request)
        except Exception as error:
            self._after(watch, request, error)
            raise
        return _annotated(result, [reminder, self._after(watch, request, result)])

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        watch = self._watch(request)
        if watch is None:
            return await handler(request)
        reminder = await asyncio.to_thread(self._before, watch, request)
        if reminder is not None and self._warn == "confirm":
            return _instead(request, reminder)
        try:
            result = await handler(request)
        except Exception as error:
            await asyncio.to_thread(self._after, watch, request, error)
            raise
        return _annotated(result, [reminder, await asyncio.to_thread(self._after, watch, request, result)])

    def _keep(self, run: str, watch: Watch) -> None:
        with self._lock:
            self._watches[run] = watch
            old = self._watches.popitem(last=False)[1] if len(self._watches) > WATCHES else None
        if old is not None:
            old.close()

    def _watch(self, request: ToolCallRequest) -> Optional[Watch]:
        run = request.state.get("hindsight_run", "") if isinstance(request.state, dict) else ""
        with self._lock:
            return self._watches.get(run)

    def _before(self, watch: Watch, request: ToolCallRequest) -> Optional[Reminder]:
        call = request.tool_call
        try:
            return watch.before_call(call["name"], call["args"], call_id=call["id"] or "")
        except Exception as error:  # A broken memory never breaks the agent.
            log.warning("a call is not checked: %s", error)
            return None

    def _after(self, watch: Watch, request: ToolCallRequest, result: Any) -> Optional[Reminder]:
        call = request.tool_call
        failed = isinstance(result, Exception) or getattr(result, "status", None) == "error"
        text = f"{type(result).__name__}: {result}" if isinstance(result, Exception) else _text(result)
        try:
            return watch.after_call(
                call["name"], call["args"], text, error=text if failed else None, call_id=call["id"] or ""
            )
        except Exception as error:  # A broken memory never breaks the agent.
            log.warning("a result is not looked at: %s", error)
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
    return ToolMessage(text, tool_call_id=request.tool_call["id"], name=request.tool_call["name"], status="error")


def _annotated(result: Any, reminders: "Sequence[Optional[Reminder]]") -> Any:
    blocks = [reminder.block for reminder in reminders if reminder is not None]
    if not blocks or not isinstance(result, ToolMessage):
        return result
    if isinstance(result.content, str):
        content: Any = "\n\n".join([result.content, *blocks])
    else:
        content = [*result.content, *({"type": "text", "text": block} for block in blocks)]
    return result.model_copy(update={"content": content})


def _task() -> Optional[Task]:
    """The task of the run that this is called in: the open one, or that of a handler among its callbacks."""
    if current_task() is not None:
        return current_task()
    callbacks = get_config().get("callbacks")
    for handler in getattr(callbacks, "handlers", None) or ():
        if isinstance(handler, HindsightCallbackHandler):
            return handler.task_of(getattr(callbacks, "parent_run_id", None))
    return None


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
