"""Between what the client takes and gives and the messages of the schema."""

from __future__ import annotations

import datetime
from typing import Any, Mapping, Optional, Sequence, Union

from ._schema import message, number, stamp, word
from .types import (
    BlockFormat,
    Environment,
    Evidence,
    Item,
    Kind,
    KnownFailure,
    OutcomeStatus,
    Recall,
    Reminder,
    Retained,
    Silence,
    Verdict,
)

Where = Union[Environment, Sequence[str], None]


def environment(where: Where) -> Any:
    if where is None or isinstance(where, str):
        where = [where] if where else []
    if not isinstance(where, Environment):
        where = Environment(tags=tuple(where))
    return message("common.v1.Environment")(tags=where.tags, attributes=where.attributes)


def recall_request(
    query: str,
    *,
    user: str,
    agent: str,
    task_type: str,
    where: Where,
    kinds: Sequence[Kind],
    limit: int,
    token_budget: int,
    recent: Sequence[str],
    block_format: BlockFormat,
    language: str,
    time_zone: str,
    asked_at: Optional[datetime.datetime],
    strict: bool,
) -> Any:
    request = message("recall.v1.RecallRequest")(
        query=query,
        user=user,
        agent=agent,
        task_type=task_type,
        environment=environment(where),
        kinds=[number("common.v1.MemoryKind", "kinds", kind) for kind in kinds],
        limit=limit,
        token_budget=token_budget,
        recent=recent,
        format=number("recall.v1.BlockFormat", "block_format", block_format),
        language=language,
        time_zone=time_zone,
        strict=strict,
    )
    if asked_at is not None:
        stamp(request.asked_at, asked_at)
    return request


def recall(answer: Any) -> Recall:
    return Recall(
        receipt_id=answer.receipt_id,
        block=answer.block,
        items=items(answer.items),
        empty_reason=answer.empty_reason,
        degraded=answer.degraded,
        tokens=answer.tokens,
    )


def items(recalled: Any) -> "tuple[Item, ...]":
    found = []
    for item in recalled:
        kind = item.memory.WhichOneof("kind") or ""
        memory = getattr(item.memory, kind) if kind else None
        memory_id = getattr(memory, "memory_id", "")
        found.append(Item(memory_id, kind, item.factors.total, item.why, item.memory))
    return tuple(found)


def watch_start(
    goal: str,
    *,
    trace_id: str,
    user: str,
    agent: str,
    session: str,
    task_type: str,
    where: Where,
    block_format: BlockFormat,
    language: str,
    time_zone: str,
    reminders: int,
    token_budget: int,
) -> Any:
    return message("recall.v1.WatchStart")(
        trace_id=trace_id,
        goal=goal,
        user=user,
        agent=agent,
        session=session,
        task_type=task_type,
        environment=environment(where),
        format=number("recall.v1.BlockFormat", "block_format", block_format),
        language=language,
        time_zone=time_zone,
        reminders=reminders,
        token_budget=token_budget,
    )


def retain_request(
    user: str,
    content: str,
    *,
    key: str,
    context: str,
    speaker: str,
    session: str,
    occurred_at: Optional[datetime.datetime],
    expires_at: Optional[datetime.datetime],
    force: bool,
    indexed: bool,
) -> Any:
    request = message("collector.v1.RetainRequest")(
        user=user,
        content=content,
        key=key,
        context=context,
        speaker=speaker,
        session=session,
        force=force,
        consistency=number("collector.v1.Consistency", "consistency", "indexed" if indexed else "durable"),
    )
    for name, time in (("occurred_at", occurred_at), ("expires_at", expires_at)):
        if time is not None:
            stamp(getattr(request, name), time)
    return request


def retained(answer: Any) -> Retained:
    return Retained(answer.memory_id, answer.retained, answer.not_retained.message, answer.summarised)


def report_request(
    receipt_id: str,
    verdicts: "Mapping[str, Verdict]",
    *,
    user: str,
    trace_id: str,
    outcome: OutcomeStatus,
    note: str,
) -> Any:
    return message("recall.v1.ReportOutcomeRequest")(
        receipt_id=receipt_id,
        user=user,
        trace_id=trace_id,
        outcome=number("common.v1.OutcomeStatus", "outcome", outcome),
        note=note,
        items=[
            dict(memory_id=memory, verdict=number("common.v1.FeedbackVerdict", "verdict", verdict))
            for memory, verdict in verdicts.items()
        ],
    )


def outcome(status: OutcomeStatus, conclusion: str, evidence: Sequence[Evidence]) -> Any:
    return message("common.v1.Outcome")(
        status=number("common.v1.OutcomeStatus", "status", status),
        conclusion=conclusion,
        evidence=[
            dict(
                source=number("common.v1.EvidenceSource", "evidence.source", e.source),
                verdict=number("common.v1.OutcomeStatus", "evidence.verdict", e.verdict),
                detail=e.detail,
            )
            for e in evidence
        ],
    )


def reminder(said: Any) -> Reminder:
    failure = None
    if said.HasField("failure"):
        f = said.failure
        seen = f.last_seen.ToDatetime(datetime.timezone.utc) if f.HasField("last_seen") else None
        failure = KnownFailure(f.memory_id, f.tool, f.what, f.why, f.instead, f.times, seen)
    return Reminder(
        reminder_id=said.reminder_id,
        trigger=word("common.v1.ReminderTrigger", said.trigger),
        block=said.block,
        items=items(said.items),
        failure=failure,
        tokens=said.tokens,
        left=said.left,
    )


def silence(said: Any) -> Silence:
    return Silence(word("recall.v1.SilenceReason", said.reason), said.words, said.receipt_id)
