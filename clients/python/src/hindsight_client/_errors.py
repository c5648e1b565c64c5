"""What goes wrong, with what to do about it."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Sequence

import grpc
from google.protobuf.message import DecodeError


class Violation(NamedTuple):
    """A field that was refused."""

    field: str
    """Dotted path, as in ``step.action_name``."""
    problem: str
    """What is wrong and what is accepted."""


class HindsightError(Exception):
    """A call failed."""

    remedy = "see the message"

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        violations: "tuple[Violation, ...]" = (),
        retry_after: Optional[float] = None,
        metadata: "Optional[dict[str, str]]" = None,
    ) -> None:
        self.message = message
        self.reason = reason
        """Stable, UPPER_SNAKE; empty when the server did not say."""
        self.violations = violations
        self.retry_after = retry_after
        """Seconds after which the server wants to be asked again."""
        self.metadata = metadata or {}
        what = "; ".join(f"{v.field}: {v.problem}" for v in violations) or message
        super().__init__(f"{what} ({self.remedy})")


class InvalidArgument(HindsightError, ValueError):
    """Fields are wrong; ``violations`` names each."""

    remedy = "mend the fields named and send again"

    @classmethod
    def of(cls, field: str, problem: str) -> "InvalidArgument":
        return cls.of_all([Violation(field, problem)])

    @classmethod
    def of_all(cls, wrong: "Sequence[Violation]") -> "InvalidArgument":
        said = "; ".join(f"{field}: {problem}" for field, problem in wrong)
        return cls(said, reason="INVALID_FIELDS", violations=tuple(wrong))


class Unauthenticated(HindsightError):
    """The server does not know the API key."""

    remedy = "give api_key=..., or set HINDSIGHT_API_KEY; `hindsight key` makes one"


class PermissionDenied(HindsightError):
    """The key may not do this."""

    remedy = "use a key with the permission named"


class NotFound(HindsightError):
    """Nothing of that name is visible to the caller."""

    remedy = "check the id, and name the user it belongs to"


class AlreadyExists(HindsightError):
    """The id is that of something else."""

    remedy = "use a new id"


class Unavailable(HindsightError):
    """The server cannot be reached, or is away for a moment."""

    remedy = "check that `hindsight serve` runs and listens at that address"


class ResourceExhausted(HindsightError):
    """The server has too much to do, or the message is too large."""

    remedy = "send less, or later"


class DeadlineExceeded(HindsightError):
    """There was no answer in time. What was to be written may have been."""

    remedy = "give more time by timeout=..."


class FailedPrecondition(HindsightError):
    """Something else must be done first."""

    remedy = "do first what the message says"


class Aborted(HindsightError):
    """The memory is no longer as it was read."""

    remedy = "read it again and decide anew"


_KINDS = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgument,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.ALREADY_EXISTS: AlreadyExists,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ResourceExhausted,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.FAILED_PRECONDITION: FailedPrecondition,
    grpc.StatusCode.ABORTED: Aborted,
}


def of_rpc(error: Any) -> HindsightError:
    """The exception for what grpc raised."""
    kind = _KINDS.get(error.code(), HindsightError)
    text = error.details() or error.code().name
    try:
        return kind(text, **_details(error))
    except DecodeError:  # Of somebody between here and the server.
        return kind(text)


def _details(error: Any) -> "Dict[str, Any]":
    from ._schema import message

    told: Dict[str, Any] = {}
    trailing = {key: value for key, value in (error.trailing_metadata() or ())}
    status = message("hindsight_client.Status").FromString(trailing.get("grpc-status-details-bin", b""))
    for detail in status.details:
        name = detail.type_url.rpartition("/")[2]
        if name == "google.rpc.ErrorInfo":
            info = message("hindsight_client.ErrorInfo").FromString(detail.value)
            told.update(reason=info.reason, metadata=dict(info.metadata))
        elif name == "google.rpc.BadRequest":
            bad = message("hindsight_client.BadRequest").FromString(detail.value)
            told.update(violations=tuple(Violation(v.field, v.description) for v in bad.field_violations))
        elif name == "google.rpc.RetryInfo":
            delay = message("hindsight_client.RetryInfo").FromString(detail.value).retry_delay
            told.update(retry_after=delay.seconds + delay.nanos / 1e9)
    return told
