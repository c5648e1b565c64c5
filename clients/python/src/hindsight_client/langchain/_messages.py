"""Reading what LangChain passes around."""

from __future__ import annotations

from typing import Any, List

from langchain_core.messages import BaseMessage, HumanMessage

from .._words import as_text


def is_control_flow(error: Exception) -> bool:
    """LangGraph interrupts a run by an exception."""
    return any(kind.__name__ == "GraphBubbleUp" for kind in type(error).__mro__)


def text_of(value: Any) -> str:
    if isinstance(value, BaseMessage):
        return str(value.text)
    return as_text(value)


def messages_of(value: Any) -> List[Any]:
    found = value.get("messages", []) if isinstance(value, dict) else value if isinstance(value, list) else []
    return found if isinstance(found, list) else [found]


def last_text(value: Any, kind: Any = BaseMessage) -> str:
    """The text of the last message of that kind, else of whatever the value is."""
    for message in reversed(messages_of(value)):
        if isinstance(message, kind):
            return text_of(message)
    return "" if isinstance(value, dict) and "messages" in value else as_text(value)


def goal_of(inputs: Any) -> str:
    """The user's last message, or the input of a chain that takes none."""
    for message in reversed(messages_of(inputs)):
        if isinstance(message, str):
            return message
        if isinstance(message, HumanMessage):
            return text_of(message)
        if isinstance(message, dict) and message.get("role") in ("user", "human"):
            return as_text(message.get("content"))
        if isinstance(message, (tuple, list)) and len(message) == 2 and message[0] in ("user", "human"):
            return as_text(message[1])
    if isinstance(inputs, dict):
        stated = (inputs.get(name) for name in ("input", "question", "query", "goal"))
        return next((s for s in stated if isinstance(s, str) and s.strip()), as_text(inputs))
    return as_text(inputs)
