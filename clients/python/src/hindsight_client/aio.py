"""The asyncio client."""

from __future__ import annotations

import asyncio
import datetime
from types import TracebackType
from typing import Any, Mapping, Optional, Sequence, Type

import grpc

from . import _convert
from ._client import Shared, recalled, unary, watch_start
from ._connection import Attempts
from ._convert import Where
from ._errors import of_rpc
from .types import BlockFormat, Kind, OutcomeStatus, Recall, RecorderState, Retained, Verdict
from .watch import AsyncWatch


class AsyncClient(Shared):
    """Access to a Hindsight server. Belongs to one event loop; recording itself waits for
    nothing and needs no ``await``.

    Calls are repeated while the server is away or asks to wait, within their time; what they write is idempotent.
    What fails is a :class:`~hindsight_client.HindsightError` that names the field and the remedy.
    """

    _channel: Any = None

    async def recall(
        self,
        query: str,
        *,
        user: str = "",
        agent: str = "",
        task_type: str = "",
        environment: Where = None,
        kinds: Sequence[Kind] = (),
        limit: int = 0,
        token_budget: int = 0,
        recent: Sequence[str] = (),
        block_format: BlockFormat = "markdown",
        language: str = "",
        time_zone: str = "",
        asked_at: Optional[datetime.datetime] = None,
        strict: bool = False,
        timeout: Optional[float] = None,
    ) -> Recall:
        """Brings the right few memories for a task, question or state. Made within a task, it belongs to it.

        ``kinds``: which; empty for facts when a user is named, and experience, lessons and failure patterns.
        ``limit``: most items, 0 for 3. ``token_budget``: of the block, 0 for 1500. ``recent``: what was said just
        before. ``strict``: raise :class:`~hindsight_client.Unavailable` instead of giving less when the store is away.
        """
        request = _convert.recall_request(
            query,
            user=user,
            agent=agent,
            task_type=task_type,
            where=environment,
            kinds=kinds,
            limit=limit,
            token_budget=token_budget,
            recent=recent,
            block_format=block_format,
            language=language,
            time_zone=time_zone,
            asked_at=asked_at,
            strict=strict,
        )
        return recalled(await self.call("recall.v1.RecallService", "Recall", request, timeout=timeout))

    async def retain(
        self,
        user: str,
        content: str,
        *,
        key: str = "",
        context: str = "",
        speaker: str = "",
        session: str = "",
        occurred_at: Optional[datetime.datetime] = None,
        expires_at: Optional[datetime.datetime] = None,
        force: bool = False,
        indexed: bool = False,
        timeout: Optional[float] = None,
    ) -> Retained:
        """Keeps what a user said. ``key``: the same again replaces the fact. ``force``: keep it even if it says nothing
        worth keeping. ``indexed``: answer only once a recall would find it."""
        request = _convert.retain_request(
            user,
            content,
            key=key,
            context=context,
            speaker=speaker,
            session=session,
            occurred_at=occurred_at,
            expires_at=expires_at,
            force=force,
            indexed=indexed,
        )
        return _convert.retained(await self.call("collector.v1.CollectorService", "Retain", request, timeout=timeout))

    async def report_outcome(
        self,
        receipt_id: str,
        verdicts: "Mapping[str, Verdict]",
        *,
        user: str = "",
        trace_id: str = "",
        outcome: OutcomeStatus = "unknown",
        note: str = "",
        timeout: Optional[float] = None,
    ) -> int:
        """Says what became of memories that a recall brought: by memory, whether it was used, helpful, harmful or
        ignored. With the run named it becomes evidence; returns how many lines of it were new."""
        request = _convert.report_request(
            receipt_id, verdicts, user=user, trace_id=trace_id, outcome=outcome, note=note
        )
        answer = await self.call("recall.v1.RecallService", "ReportOutcome", request, timeout=timeout)
        return int(answer.evidence)

    def watch(
        self,
        goal: str = "",
        *,
        trace_id: str = "",
        user: str = "",
        agent: str = "",
        session: str = "",
        task_type: str = "",
        environment: Where = None,
        block_format: BlockFormat = "markdown",
        language: str = "",
        time_zone: str = "",
        reminders: int = 0,
        token_budget: int = 0,
        timeout: float = 2.0,
    ) -> AsyncWatch:
        """A memory that speaks up: tell it what is about to happen, and it warns. What it says belongs to the task named
        ``trace_id``, else to the one of its context. ``reminders``: most on this watch, 0 for what the server allows.
        ``timeout``: seconds that an answer may take; after that it is silence."""
        start = watch_start(
            goal,
            trace_id=trace_id,
            user=user,
            agent=agent,
            session=session,
            task_type=task_type,
            where=environment,
            block_format=block_format,
            language=language,
            time_zone=time_zone,
            reminders=reminders,
            token_budget=token_budget,
        )
        return AsyncWatch(self._open, self._connection.metadata, start, timeout)

    async def call(
        self, service: str, name: str, request: Any = None, *, timeout: Optional[float] = None
    ) -> Any:
        """Any unary call of the schema: ``client.call("memory.v1.MemoryService", "GetTrajectory", {"trace_id": "t-1"})``.
        Takes the fields of the request, or the message; gives the message."""
        stub, request = unary(self._open(), service, name, request)
        attempts = Attempts(self._timeout if timeout is None else timeout)
        while True:
            try:
                return await stub(request, timeout=attempts.left(), metadata=self._connection.metadata)
            except grpc.RpcError as failure:
                pause = attempts.pause(of_rpc(failure))
            await asyncio.sleep(pause)

    async def flush(self, timeout: float = 10.0) -> RecorderState:
        """Waits until the server has what was recorded, or the time is over: then ``pending`` says how much it has not."""
        return await asyncio.to_thread(self.recorder.flush, timeout)

    async def close(self, timeout: float = 5.0) -> None:
        """Sends what is recorded, for as long as the time allows, and closes the connection."""
        await asyncio.to_thread(self.recorder.close, timeout)
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()

    def _open(self) -> Any:
        if self._channel is None:
            self._channel = self._connection.aio_channel()
        return self._channel
