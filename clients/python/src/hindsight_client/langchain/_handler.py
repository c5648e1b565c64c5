"""Records the runs of an agent."""

from __future__ import annotations

import datetime
import logging
import threading
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Mapping, Optional, Union

from langchain_core.callbacks import BaseCallbackHandler

from .._convert import Where
from .._words import as_text
from ..client import Client
from ..task import Task, current_task
from ._messages import goal_of, is_control_flow, last_text, text_of

log = logging.getLogger("hindsight_client")


@dataclass
class Root:
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
        self._roots: Dict[uuid.UUID, Root] = {}
        """By every run within it."""
        self._calls: Dict[uuid.UUID, _Call] = {}

    def root_of(self, run_id: Optional[uuid.UUID]) -> Optional[Root]:
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
                self._roots[run_id] = Root(task, own=open_task is None)

    def on_chain_end(self, outputs: Any, *, run_id: uuid.UUID, parent_run_id: Optional[uuid.UUID] = None, **kwargs: Any) -> None:
        root = self._leave(run_id)
        if root and parent_run_id is None:
            if root.own:
                root.task.conclude("unknown", last_text(outputs))
            self._end(root)

    def on_chain_error(
        self, error: BaseException, *, run_id: uuid.UUID, parent_run_id: Optional[uuid.UUID] = None, **kwargs: Any
    ) -> None:
        root = self._leave(run_id)
        if root and parent_run_id is None:
            if root.own and isinstance(error, Exception) and not is_control_flow(error):
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
        text = text_of(output)
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
            text = text_of(getattr(generation, "message", None) or generation.text)
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
            goal = goal_of(inputs) or "no goal was stated"
            return self._client.task(goal, user=user, session=session, **self._about)  # type: ignore[arg-type]
        except Exception as error:  # A broken memory never breaks the agent.
            self._client.recorder.lose(as_text(error))
            log.warning("a run is not recorded: %s", as_text(error))
            return None

    def _end(self, root: Root) -> None:
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

    def _leave(self, run_id: uuid.UUID) -> Optional[Root]:
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
