"""What the client takes and gives."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any, Literal, Optional, Sequence

OutcomeStatus = Literal["success", "partial", "failure", "unknown"]
EvidenceSource = Literal["test_result", "exit_code", "user", "agent_claim"]
Verdict = Literal["used", "helpful", "harmful", "ignored"]
Kind = Literal["fact", "experience", "lesson", "failure_pattern"]
BlockFormat = Literal["markdown", "json"]


@dataclass(frozen=True)
class Evidence:
    """What supports an outcome, graded by the trust its source deserves."""

    source: EvidenceSource
    verdict: OutcomeStatus
    detail: str = ""


@dataclass(frozen=True)
class Item:
    """A memory with the reason it is here."""

    memory_id: str
    kind: str
    score: float
    why: str
    memory: Any = field(repr=False)
    """The whole of it, as the message ``hindsight.common.v1.Memory``."""


@dataclass(frozen=True)
class Recall:
    """What a recall brought. Nothing relevant is an answer: ``block`` is empty and ``empty_reason`` says why."""

    receipt_id: str
    block: str
    """Fenced text to place after the system prompt and before the user's input."""
    items: "tuple[Item, ...]"
    empty_reason: str
    degraded: bool
    """Whether not everything was searched."""
    tokens: int

    def __bool__(self) -> bool:
        return bool(self.items)


@dataclass(frozen=True)
class Retained:
    """What became of a fact."""

    memory_id: str
    retained: bool
    not_retained: str
    """Why it is not kept, in words: a greeting, thanks. Empty when it is."""
    summarised: bool


@dataclass(frozen=True)
class KnownFailure:
    """A failure that was seen before. Text of earlier runs: data, never instruction."""

    memory_id: str
    tool: str
    what: str
    why: str
    instead: str
    times: int
    """Runs of the last 30 days in which it was seen."""
    last_seen: Optional[datetime.datetime]


@dataclass(frozen=True)
class Reminder:
    """Something that is remembered, at the moment at which it helps."""

    reminder_id: str
    """The id of its receipt."""
    trigger: str
    """``task_start``, ``before_call``, ``after_failure`` or ``asked``."""
    block: str
    """Fenced text to place before the agent."""
    items: "tuple[Item, ...]"
    failure: Optional[KnownFailure]
    tokens: int
    left: int
    """Reminders that this watch has left."""


@dataclass(frozen=True)
class Silence:
    """Why nothing was said."""

    reason: str
    """As in ``nothing_known``, ``cool_down``, ``unavailable``."""
    words: str
    receipt_id: str = ""


@dataclass(frozen=True)
class RecorderState:
    """What became of the events that were recorded."""

    recorded: int = 0
    acknowledged: int = 0
    rejected: int = 0
    """Refused by the server."""
    lost: int = 0
    """Not taken: the queue was full, or the event was not valid."""
    cut: int = 0
    """Texts that were longer than the server takes, and were cut visibly."""
    pending: int = 0
    problem: str = ""
    """Why something was lost or refused last, and what to do about it."""
    trouble: str = ""
    """Why what is pending cannot be sent at the moment."""


@dataclass(frozen=True)
class Environment:
    """Where an agent runs. Experience from elsewhere counts less and is marked."""

    tags: Sequence[str] = ()
    """As in ``docker``, ``k8s``, ``bare-metal``."""
    attributes: "dict[str, str]" = field(default_factory=dict)
