"""Between what the client takes and gives and the messages of the schema."""

from __future__ import annotations

import datetime
from typing import Any, Iterator, Mapping, Optional, Sequence, Union

from ._errors import InvalidArgument, Violation
from ._schema import build, fill, message, number, stamp, word
from ._words import DETAIL_BYTES, ID_BYTES, OBSERVATION_BYTES, TAGS, TEXT_BYTES, as_text, names, refuse
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
    """The tags, checked as the server does."""
    if isinstance(where, str):
        where = [where] if where else []
    if not isinstance(where, Environment):
        try:
            where = Environment(tags=tuple(where or ()))
        except TypeError:
            raise InvalidArgument.of("environment", f"is of type {type(where).__name__}; give tags or an Environment") from None
    made = fill(message("common.v1.Environment"), dict(tags=where.tags, attributes=where.attributes), "environment.")
    refuse(_unfit(made))
    return made


def _unfit(where: Any) -> "Iterator[Violation]":
    for field, found in ((f"environment.{field}", getattr(where, field)) for field in ("tags", "attributes")):
        if len(found) > TAGS:
            yield Violation(field, f"has {len(found)} entries; at most {TAGS} are accepted")
        for name in found:
            if not name.strip() or len(name.encode()) > ID_BYTES:
                yield Violation(field, f"holds {name!r}; give 1 to {ID_BYTES} bytes")
    for name, value in where.attributes.items():
        if len(value.encode()) > TEXT_BYTES:
            yield Violation(f"environment.attributes.{name}", f"is longer than {TEXT_BYTES} bytes; shorten it")


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
    request = build(
        "recall.v1.RecallRequest",
        query=query,
        **names(user=user, agent=agent, task_type=task_type),
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
        stamp(request.asked_at, "asked_at", asked_at)
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
    return build(
        "recall.v1.WatchStart",
        goal=goal,
        **names(trace_id=trace_id, user=user, agent=agent, session=session, task_type=task_type),
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
    request = build(
        "collector.v1.RetainRequest",
        content=content,
        key=key,
        context=context,
        speaker=speaker,
        **names(user=user, session=session),
        force=force,
        consistency=number("collector.v1.Consistency", "consistency", "indexed" if indexed else "durable"),
    )
    for name, time in (("occurred_at", occurred_at), ("expires_at", expires_at)):
        if time is not None:
            stamp(getattr(request, name), name, time)
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
    return build(
        "recall.v1.ReportOutcomeRequest",
        receipt_id=receipt_id,
        **names(user=user, trace_id=trace_id),
        outcome=number("common.v1.OutcomeStatus", "outcome", outcome),
        note=note,
        items=[
            dict(memory_id=memory, verdict=number("common.v1.FeedbackVerdict", "verdict", verdict))
            for memory, verdict in verdicts.items()
        ],
    )


def outcome(status: OutcomeStatus, conclusion: str, evidence: Sequence[Evidence]) -> Any:
    return build(
        "common.v1.Outcome",
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


def before_call(tool: str, arguments: Any, call_id: str, description: str) -> Any:
    said = dict(tool=tool, arguments=_head(arguments, DETAIL_BYTES), call_id=call_id, description=description)
    return build("recall.v1.WatchRequest", before_call=said)


def after_call(tool: str, arguments: Any, output: Any, error: Any, call_id: str) -> Any:
    said = dict(
        tool=tool,
        arguments=_head(arguments, DETAIL_BYTES),
        call_id=call_id,
        failed=error is not None,
        output=_head(output if error is None else error, OBSERVATION_BYTES),
    )
    return build("recall.v1.WatchRequest", after_call=said)


def user_message(text: str) -> Any:
    return build("recall.v1.WatchRequest", message=dict(text=text))


def feedback(reminder_id: str, verdict: Verdict, note: str) -> Any:
    value = number("common.v1.FeedbackVerdict", "verdict", verdict)
    return build("recall.v1.WatchRequest", feedback=dict(reminder_id=reminder_id, verdict=value, note=note))


def watch_end(outcome: OutcomeStatus) -> Any:
    return build("recall.v1.WatchRequest", end=dict(outcome=number("common.v1.OutcomeStatus", "outcome", outcome)))


def _head(value: Any, limit: int) -> str:
    """So much of a text as fits in any case: a character has at most four bytes."""
    return as_text(value)[: limit // 4]


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
