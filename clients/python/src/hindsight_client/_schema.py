"""Messages and services, made of the descriptors that are compiled into the package.

They live in a pool of their own, so that stubs of the same schema may be used in the same process.
"""

from __future__ import annotations

import datetime
from functools import lru_cache
from importlib import resources
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import MethodDescriptor

from ._errors import InvalidArgument

_pool = descriptor_pool.DescriptorPool()
_files = descriptor_pb2.FileDescriptorSet.FromString(
    resources.files(__package__).joinpath("schema.binpb").read_bytes()
)
for _file in _files.file:
    _pool.Add(_file) if hasattr(_pool, "Add") else _pool.AddSerializedFile(_file.SerializeToString())


@lru_cache(maxsize=None)
def message(name: str) -> Any:
    """The class of a message by its full name without ``hindsight.``, as in ``recall.v1.RecallRequest``."""
    full = name if name.startswith("hindsight_client.") else f"hindsight.{name}"
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(full))


@lru_cache(maxsize=None)
def method(service: str, name: str) -> MethodDescriptor:
    """As in ``recall.v1.RecallService``, ``Recall``."""
    return _pool.FindServiceByName(f"hindsight.{service}").methods_by_name[name]


@lru_cache(maxsize=None)
def _values(enum: str) -> dict[str, int]:
    """The values of an enum by their short words: ``success`` for ``OUTCOME_STATUS_SUCCESS``."""
    values = _pool.FindEnumTypeByName(f"hindsight.{enum}").values
    prefix = values[0].name[: -len("UNSPECIFIED")]
    return {value.name[len(prefix) :].lower(): value.number for value in values if value.number != 0}


def number(enum: str, field: str, word: str) -> int:
    """The number of an enum's value by its short word."""
    values = _values(enum)
    if word not in values:
        raise InvalidArgument.of(field, f"is {word!r}; give one of {', '.join(sorted(values))}")
    return values[word]


def word(enum: str, value: int) -> str:
    """The short word of an enum's value. Empty when it is not stated, or newer than this client."""
    return next((word for word, known in _values(enum).items() if known == value), "")


def stamp(target: Any, time: datetime.datetime) -> None:
    """Writes a time into a timestamp field. A time without a zone is local, as everywhere in Python."""
    target.FromDatetime(time.astimezone(datetime.timezone.utc))
