"""Names and words as the server takes them."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any, Dict, List, Optional, Sequence

from ._errors import InvalidArgument, Violation

ID_BYTES = 128
TEXT_BYTES = 64 * 1024
DETAIL_BYTES = 256 * 1024
OBSERVATION_BYTES = 1024 * 1024
STEPS = 5_000
TAGS = 64

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def as_text(value: Any) -> str:
    """What a model or a tool gave, as text: text as it is, an exception by its name, everything else as JSON where it can
    be. Raises nothing, whatever it is given."""
    if value is None:
        return ""
    try:
        if isinstance(value, str):
            return str(value)
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if isinstance(value, BaseException):
            return f"{type(value).__name__}: {value}"
        return json.dumps(value, ensure_ascii=False, default=repr)
    except Exception:  # Whatever the object does, recording it breaks nothing.
        return f"<{type(value).__name__}>"


def names(**given: Any) -> Dict[str, str]:
    """Names of persons, runs and the like, by field: what the server would refuse is refused here, all of it at once."""
    problems = {field: _problem(name) for field, name in given.items() if name is not None}
    refuse(Violation(field, problem) for field, problem in problems.items() if problem)
    return {field: name or "" for field, name in given.items()}


def receipt_ids(given: Sequence[str]) -> List[str]:
    """Receipts of recalls, checked in the same way."""
    if isinstance(given, str) or len(given) > TAGS:
        raise InvalidArgument.of("receipts", f"is no list of at most {TAGS}")
    wrong = ((at, id) for at, id in enumerate(given) if not is_receipt(id))
    refuse(Violation(f"receipts[{at}]", f"is {as_text(id)!r}; give the receipt_id of a recall") for at, id in wrong)
    return list(given)


def is_receipt(given: Any) -> bool:
    try:
        return isinstance(given, str) and bool(uuid.UUID(given))
    except ValueError:
        return False


def refuse(violations: Any) -> None:
    wrong = list(violations)
    if wrong:
        raise InvalidArgument.of_all(wrong)


def _problem(name: Any) -> Optional[str]:
    if not isinstance(name, str):
        return f"is of type {type(name).__name__}; give text"
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        # Replaced, it would be the name of another.
        return "contains a lone surrogate, which is no text; remove it"
    if size > ID_BYTES:
        return f"is longer than {ID_BYTES} bytes; shorten it"
    if CONTROL.search(name):
        return "contains control characters; remove them"
    if name.strip() != name:
        return "begins or ends with white space; trim it"
    return None
