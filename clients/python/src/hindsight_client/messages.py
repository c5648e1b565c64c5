"""Placing a recalled block among the messages of a model call."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

SYSTEM_ROLES = ("system", "developer")


def with_memory(messages: Sequence[Mapping[str, Any]], block: str, *, role: str = "user") -> List[Dict[str, Any]]:
    """The messages with the block after the system prompt and before the user's input; without a block, as they are.

    Takes messages as of OpenAI: mappings with ``role`` and ``content``. The block is what was observed before, so it is
    given as data in a message of its own, and by default not in the name of the system.
    """
    out = [dict(message) for message in messages]
    if block:
        place = 0
        while place < len(out) and out[place].get("role") in SYSTEM_ROLES:
            place += 1
        out.insert(place, {"role": role, "content": block})
    return out
