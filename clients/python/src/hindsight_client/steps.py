"""``@record_step``: every call of a function is a step of the current task."""

from __future__ import annotations

import datetime
import functools
import inspect
from typing import Any, Callable, Optional, TypeVar, Union, overload

from .task import Task, current_task

F = TypeVar("F", bound=Callable[..., Any])


@overload
def record_step(function: F) -> F: ...
@overload
def record_step(*, name: str = ...) -> Callable[[F], F]: ...
def record_step(function: Optional[F] = None, *, name: str = "") -> Union[F, Callable[[F], F]]:
    """Records every call of a function, sync or async, as a step of the task of its context: its name, its
    arguments, what it returned or raised. Without a task it is called as it is."""
    if function is None:
        return lambda f: _wrap(f, name)
    return _wrap(function, name)


def _wrap(function: F, name: str) -> F:
    name = name or getattr(function, "__name__", type(function).__name__)
    signature = inspect.signature(function)

    def record(
        task: Task, started_at: datetime.datetime, args: Any, kwargs: Any, output: Any, error: Optional[BaseException]
    ) -> None:
        task.tool_call(name, _arguments(signature, args, kwargs), output, error=error, started_at=started_at)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        task = current_task()
        if task is None:
            return function(*args, **kwargs)
        started_at = _now()
        try:
            output = function(*args, **kwargs)
        except BaseException as error:
            record(task, started_at, args, kwargs, None, error)
            raise
        record(task, started_at, args, kwargs, output, None)
        return output

    @functools.wraps(function)
    async def call_async(*args: Any, **kwargs: Any) -> Any:
        task = current_task()
        if task is None:
            return await function(*args, **kwargs)
        started_at = _now()
        try:
            output = await function(*args, **kwargs)
        except BaseException as error:
            record(task, started_at, args, kwargs, None, error)
            raise
        record(task, started_at, args, kwargs, output, None)
        return output

    return call_async if inspect.iscoroutinefunction(function) else call  # type: ignore[return-value]


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


def _arguments(signature: inspect.Signature, args: Any, kwargs: Any) -> Any:
    """By name, without the object that a method belongs to."""
    try:
        bound = dict(signature.bind(*args, **kwargs).arguments)
    except TypeError:
        return {"args": args, "kwargs": kwargs}
    return {key: value for key, value in bound.items() if key not in ("self", "cls")}
