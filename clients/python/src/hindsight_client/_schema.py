"""Messages and services, made of the descriptors that are compiled into the package.

They live in a pool of their own, so that stubs of the same schema may be used in the same process.
"""

from __future__ import annotations

import datetime
from functools import lru_cache
from importlib import resources
from typing import Any, Mapping

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


def text(words: str) -> str:
    """Words that can be sent: a lone surrogate is none and becomes a question mark."""
    return words.encode("utf-8", "replace").decode()


def build(name: str, **fields: Any) -> Any:
    """A message of its fields, as :func:`message` and :func:`fill`."""
    return fill(message(name), fields)


def fill(kind: Any, fields: "Mapping[str, Any]", at: str = "") -> Any:
    """A message of that class. What cannot be sent of a text is replaced; a field that is unknown, or of another type,
    is named by its path."""
    made = kind()
    known = kind.DESCRIPTOR.fields_by_name
    for name, value in fields.items():
        path = f"{at}{name}"
        if name not in known:
            raise InvalidArgument.of(path, f"is not a field of {kind.DESCRIPTOR.full_name}; it has {', '.join(known)}")
        if isinstance(value, str) and not isinstance(getattr(made, name), (str, bytes, int)):
            raise InvalidArgument.of(path, "is one text; give a list or a mapping")
        try:
            made.MergeFrom(kind(**{name: _sendable(known[name].message_type, value, path)}))
        except InvalidArgument:
            raise
        except (TypeError, ValueError) as error:
            raise InvalidArgument.of(path, f"cannot be of type {type(value).__name__}: {error}") from None
    return made


def _sendable(kind: Any, value: Any, path: str) -> Any:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, (list, tuple)):
        return [_sendable(kind, part, f"{path}[{at}]") for at, part in enumerate(value)]
    if not isinstance(value, Mapping) or kind is None:
        return value
    if kind.GetOptions().map_entry:
        return {_sendable(None, key, path): _sendable(None, part, path) for key, part in value.items()}
    return fill(message_factory.GetMessageClass(kind), value, f"{path}.")


def method(service: str, name: str) -> MethodDescriptor:
    """As in ``recall.v1.RecallService``, ``Recall``."""
    known = services()
    if service not in known:
        raise InvalidArgument.of("service", f"is {service!r}; give one of {', '.join(sorted(known))}")
    methods = known[service].methods_by_name
    if name not in methods:
        raise InvalidArgument.of("name", f"is {name!r}; {service} has {', '.join(methods)}")
    return methods[name]


@lru_cache(maxsize=None)
def services() -> "Mapping[str, Any]":
    """The services of the schema by their names without ``hindsight.``."""
    found = (f"{file.package}.{service.name}" for file in _files.file for service in file.service)
    return {full[len("hindsight.") :]: _pool.FindServiceByName(full) for full in found if full.startswith("hindsight.")}


@lru_cache(maxsize=None)
def _values(enum: str) -> dict[str, int]:
    """The values of an enum by their short words: ``success`` for ``OUTCOME_STATUS_SUCCESS``."""
    values = _pool.FindEnumTypeByName(f"hindsight.{enum}").values
    prefix = values[0].name[: -len("UNSPECIFIED")]
    return {value.name[len(prefix) :].lower(): value.number for value in values if value.number != 0}


def number(enum: str, field: str, word: str) -> int:
    """The number of an enum's value by its short word."""
    values = _values(enum)
    if not isinstance(word, str) or word not in values:
        raise InvalidArgument.of(field, f"is {word!r}; give one of {', '.join(sorted(values))}")
    return values[word]


def word(enum: str, value: int) -> str:
    """The short word of an enum's value. Empty when it is not stated, or newer than this client."""
    return next((word for word, known in _values(enum).items() if known == value), "")


def stamp(target: Any, field: str, time: datetime.datetime) -> None:
    """Writes a time into a timestamp field. A time without a zone is local, as everywhere in Python."""
    if not isinstance(time, datetime.datetime):
        raise InvalidArgument.of(field, f"is of type {type(time).__name__}; give a datetime")
    try:
        target.FromDatetime(time.astimezone(datetime.timezone.utc))
    except (OverflowError, ValueError) as error:
        raise InvalidArgument.of(field, f"is {time!r}: {error}") from None
