"""Where the server is, and how calls are repeated."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass, field
from typing import Any, Iterator, Optional
from urllib.parse import urlsplit

import grpc

from ._errors import DeadlineExceeded, HindsightError, InvalidArgument, ResourceExhausted, Unavailable

DEFAULT_SERVER = "http://127.0.0.1:7411"
MESSAGE_BYTES = 64 * 1024 * 1024
OPTIONS = [
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # One layer repeats: this one.
    ("grpc.enable_retries", 0),
    # A server that has just come back is found at once.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
]


@dataclass(frozen=True)
class Connection:
    """Where the server is and how to be let in."""

    address: str
    metadata: "tuple[tuple[str, str], ...]" = field(repr=False)
    credentials: Optional[grpc.ChannelCredentials] = field(repr=False)

    @classmethod
    def of(cls, server: Optional[str], api_key: Optional[str], ca_file: "Optional[str | os.PathLike[str]]") -> "Connection":
        server = server or os.environ.get("HINDSIGHT_SERVER") or DEFAULT_SERVER
        api_key = api_key or os.environ.get("HINDSIGHT_API_KEY")
        try:
            parts = urlsplit(server)
            port = "" if parts.port is not None else ":443" if parts.scheme == "https" else ":80"
        except ValueError:
            parts, port = urlsplit(""), ""
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise InvalidArgument.of("server", f"is {server!r}; give http://HOST:PORT or https://HOST:PORT")
        if api_key and not (api_key.isascii() and api_key.isprintable()):
            raise InvalidArgument.of("api_key", "contains characters that a header cannot carry; copy it again")
        credentials = None
        if parts.scheme == "https":
            roots = None
            if ca_file is not None:
                try:
                    with open(ca_file, "rb") as file:
                        roots = file.read()
                except OSError as error:
                    raise InvalidArgument.of("ca_file", f"cannot be read: {error}") from None
            credentials = grpc.ssl_channel_credentials(root_certificates=roots)
        elif ca_file is not None:
            raise InvalidArgument.of("ca_file", "is for https:// servers; the server given is not one")
        metadata = (("authorization", f"Bearer {api_key}"),) if api_key else ()
        return cls(parts.netloc + port, metadata, credentials)

    def channel(self) -> grpc.Channel:
        if self.credentials is None:
            return grpc.insecure_channel(self.address, OPTIONS)
        return grpc.secure_channel(self.address, self.credentials, OPTIONS)

    def aio_channel(self) -> Any:
        if self.credentials is None:
            return grpc.aio.insecure_channel(self.address, OPTIONS)
        return grpc.aio.secure_channel(self.address, self.credentials, OPTIONS)


def pauses(first: float = 0.1, longest: float = 5.0) -> Iterator[float]:
    """Doubling, with jitter."""
    pause = first
    while True:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(pause * 2, longest)


class Attempts:
    """Repeats a call within its time, while the server is away or asks to wait. All calls are idempotent."""

    def __init__(self, timeout: float) -> None:
        self._end = time.monotonic() + timeout
        self._pauses = pauses()
        self._cause: Optional[HindsightError] = None

    def left(self) -> float:
        """Seconds for the next try."""
        return max(self._end - time.monotonic(), 0.001)

    def pause(self, error: HindsightError) -> float:
        """Seconds to wait before the next try; raises the error when there is none."""
        if isinstance(error, DeadlineExceeded) and self._cause is not None:
            # The last try had little time: what the ones before it met says more.
            raise self._cause from None
        transient = isinstance(error, Unavailable) or (
            isinstance(error, ResourceExhausted) and error.retry_after is not None
        )
        pause = next(self._pauses) if error.retry_after is None else error.retry_after
        if not transient or pause >= self.left():
            raise error from None
        self._cause = error
        return pause
