"""The task that the agents of every road do."""

from __future__ import annotations

from typing import List, Tuple

GOAL = "The billing service does not answer: restart it. 重启计费服务"
ERROR = "unit billing.service not found"
CONCLUSION = "billing-api is healthy again"
CALLS: "List[Tuple[str, dict, str, bool]]" = [
    ("restart_service", {"name": "billing"}, ERROR, True),
    ("restart_service", {"name": "billing"}, ERROR, True),
    ("restart_service", {"name": "billing"}, ERROR, True),
    ("list_services", {"pattern": "bill*"}, "billing-api.service loaded active", False),
    ("restart_service", {"name": "billing-api"}, "billing-api.service restarted", False),
]
"""What the agent calls: the tool, its arguments, what comes back, and whether it failed."""


def answer(tool: str, arguments: dict) -> "Tuple[str, bool]":
    """What a call gives, and whether it failed."""
    return next((output, failed) for name, args, output, failed in CALLS if (name, args) == (tool, arguments))
