"""What the tests share: the running server, a collector that misbehaves, and a model that follows a script."""

from __future__ import annotations

import os
import threading
import time
import uuid
from concurrent import futures
from typing import Any, Callable, Dict, List, Tuple

# A process that serves cannot be forked by gRPC's own means, and the tests start others.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

import grpc

from hindsight_client import Client
from hindsight_client._schema import message, method

LIMIT = 60.0
UNSPECIFIED, WAITING = 0, 1
SERVER = os.environ.get("HINDSIGHT_SERVER", "")


def unique(name: str) -> str:
    return f"{name}-{uuid.uuid4()}"


def until(what: str, condition: Callable[[], Any], limit: float = LIMIT) -> Any:
    """Waits for a condition, and says what did not come."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {limit} s")


def trajectory(client: Client, trace_id: str, **about: Any) -> Any:
    """A run once it is judged."""
    client.flush(LIMIT)

    def look() -> Any:
        try:
            found = client.call("memory.v1.MemoryService", "GetTrajectory", {"trace_id": trace_id, **about})
        except Exception:
            return None
        settled = found.record.state not in (UNSPECIFIED, WAITING)
        return found if found.HasField("trajectory") and settled else None

    return until(f"the run {trace_id} is judged", look)


def warned_of(client: Client, tool: str, arguments: Any, **about: Any) -> Any:
    """The reminder, once the server has heard of the failure: what is compared with calls may be some seconds old."""

    def ask() -> Any:
        with client.watch(timeout=LIMIT, **about) as watch:
            return watch.before_call(tool, arguments)

    return until(f"{tool} is warned of", ask)


def serve(
    service: str, name: str, work: Callable[[Any, Any], Any], port: int = 0, credentials: Any = None
) -> "Tuple[grpc.Server, int]":
    """A server of one call."""
    called = method(service, name)
    kind = "stream_stream" if called.client_streaming else "unary_unary"
    handler = getattr(grpc, f"{kind}_rpc_method_handler")(
        work,
        request_deserializer=message(called.input_type.full_name[len("hindsight.") :]).FromString,
        response_serializer=lambda answer: answer.SerializeToString(),
    )
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler(called.containing_service.full_name, {called.name: handler})]
    )
    address = f"127.0.0.1:{port}"
    port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    server.start()
    return server, port


class Collector:
    """A collector that keeps what it acknowledges, can be stopped and started again, and refuses a run."""

    def __init__(self) -> None:
        self.events: List[Any] = []
        self.refused = ""
        self.failing = 0
        """So many streams fail with RESOURCE_EXHAUSTED and a pause."""
        self.metadata: Dict[str, str] = {}
        self.port = 0
        self.start()

    def start(self) -> None:
        self.server, self.port = serve("collector.v1.CollectorService", "RecordEvents", self._record, self.port)

    def stop(self) -> None:
        self.server.stop(0).wait()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def of(self, trace_id: str) -> List[Any]:
        return [event for event in self.events if event.trace_id == trace_id]

    def _record(self, requests: Any, context: Any) -> Any:
        self.metadata = dict(context.invocation_metadata())
        if self.failing:
            self.failing -= 1
            context.abort(grpc.StatusCode.UNAVAILABLE, "gone for a moment")
        expected = 1
        for event in requests:
            assert event.sequence == expected, f"{event.sequence} after {expected - 1}"
            expected += 1
            answer = message("collector.v1.RecordEventsResponse")(acknowledged_sequence=event.sequence)
            if self.refused and event.trace_id == self.refused:
                answer.rejections.add(sequence=event.sequence, reason="INVALID_FIELDS", message="mend the field")
            else:
                self.events.append(event)
            yield answer


class Threads:
    """Runs a function in many threads at once."""

    def __init__(self, count: int, work: Callable[[int], None]) -> None:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT)
