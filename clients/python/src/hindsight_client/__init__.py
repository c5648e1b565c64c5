"""Hindsight: experience memory for AI agents.

>>> from hindsight_client import Client
>>> client = Client()
>>> with client.task(goal="restart the billing service") as task:
...     memory = client.recall(task.goal)
...     task.tool_call("systemctl", {"args": "restart billing"}, error="unit not found")
"""

from ._errors import (
    Aborted,
    AlreadyExists,
    DeadlineExceeded,
    FailedPrecondition,
    HindsightError,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Violation,
)
from .aio import AsyncClient
from .client import Client
from .messages import with_memory
from .recorder import Recorder
from .steps import record_step
from .task import Task, current_task
from .types import Environment, Evidence, Item, KnownFailure, Recall, RecorderState, Reminder, Retained, Silence
from .watch import AsyncWatch, Watch

__all__ = [
    "Aborted",
    "AlreadyExists",
    "AsyncClient",
    "AsyncWatch",
    "Client",
    "DeadlineExceeded",
    "Environment",
    "Evidence",
    "FailedPrecondition",
    "HindsightError",
    "InvalidArgument",
    "Item",
    "KnownFailure",
    "NotFound",
    "PermissionDenied",
    "Recall",
    "Recorder",
    "RecorderState",
    "Reminder",
    "ResourceExhausted",
    "Retained",
    "Silence",
    "Task",
    "Unauthenticated",
    "Unavailable",
    "Violation",
    "Watch",
    "current_task",
    "record_step",
    "with_memory",
]
