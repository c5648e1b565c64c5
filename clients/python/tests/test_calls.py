"""Calls to a server that is away, busy, closed to the caller or behind TLS."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, List

import grpc

from hindsight_client import (
    AlreadyExists,
    AsyncClient,
    Client,
    InvalidArgument,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)
from hindsight_client._schema import message
from support import LIMIT, serve

PAUSE = 0.2
LONG = 1_000


def status(code: grpc.StatusCode, reason: str, *details: Any) -> bytes:
    """What a server of ours sends with an error."""
    info = message("hindsight_client.ErrorInfo")(reason=reason, domain="hindsight.recall", metadata={"limit": "3"})
    packed = []
    for name, detail in [("google.rpc.ErrorInfo", info), *details]:
        packed.append(dict(type_url=f"type.googleapis.com/{name}", value=detail.SerializeToString()))
    said = message("hindsight_client.Status")(code=code.value[0], message="too much", details=packed)
    return bytes(said.SerializeToString())


class Moody:
    """Fails in the way of the query for so many calls, then answers with what it was told."""

    def __init__(self, failures: int = 2, credentials: Any = None) -> None:
        self.failures = failures
        self.times: List[float] = []
        self.deadline = 0.0
        self.server, self.port = serve("recall.v1.RecallService", "Recall", self._recall, credentials=credentials)

    def _recall(self, request: Any, context: Any) -> Any:
        self.times.append(time.monotonic())
        self.deadline = context.time_remaining()
        if len(self.times) <= self.failures:
            if request.query == "away":
                context.abort(grpc.StatusCode.UNAVAILABLE, "gone for a moment")
            if request.query in ("busy", "later", "full"):
                retry = message("hindsight_client.RetryInfo")()
                if request.query == "later":
                    retry.retry_delay.seconds = LONG
                else:
                    retry.retry_delay.nanos = int(PAUSE * 1e9)
                details = [] if request.query == "full" else [("google.rpc.RetryInfo", retry)]
                code = grpc.StatusCode.RESOURCE_EXHAUSTED
                context.set_trailing_metadata((("grpc-status-details-bin", status(code, "TOO_MUCH", *details)),))
                context.abort(code, "too much")
        if request.query == "taken":
            context.set_trailing_metadata((("grpc-status-details-bin", b"\xff no status"),))
            context.abort(grpc.StatusCode.ALREADY_EXISTS, "the name of another run")
        key = dict(context.invocation_metadata()).get("authorization", "")
        if request.query == "closed" and key != "Bearer hs-key":
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "no key")
        return message("recall.v1.RecallResponse")(block=request.query)


class Calls(unittest.TestCase):
    def moody(self, failures: int = 2, **options: Any) -> Moody:
        moody = Moody(failures, **options)
        self.addCleanup(moody.server.stop, 0)
        return moody

    def client(self, moody: Moody, **options: Any) -> Client:
        client = Client(f"http://127.0.0.1:{moody.port}", **options)
        self.addCleanup(client.close)
        return client

    def test_a_server_that_is_away_or_busy_is_asked_again(self) -> None:
        for mood in ("away", "busy"):
            moody = self.moody()
            self.assertEqual(self.client(moody, timeout=LIMIT).recall(mood).block, mood)
            self.assertEqual(len(moody.times), 3)
            if mood == "busy":
                pauses = [later - earlier for earlier, later in zip(moody.times, moody.times[1:])]
                self.assertGreaterEqual(min(pauses), PAUSE * 0.9, "as the server asks")

            async def work() -> None:
                moody = self.moody()
                async with AsyncClient(f"http://127.0.0.1:{moody.port}", timeout=LIMIT) as client:
                    self.assertEqual((await client.recall(mood)).block, mood)
                self.assertEqual(len(moody.times), 3)

            asyncio.run(work())

    def test_repetition_ends_with_the_time(self) -> None:
        moody = self.moody(failures=1_000)
        with self.assertRaisesRegex(Unavailable, "gone for a moment"):
            self.client(moody).recall("away", timeout=3)
        self.assertGreater(len(moody.times), 1)
        self.assertLessEqual(moody.deadline, 3)
        busy = self.moody(failures=1_000)
        with self.assertRaises(ResourceExhausted):
            self.client(busy).recall("later", timeout=LIMIT)
        self.assertEqual(len(busy.times), 1, "the pause that is asked for is longer than the time")

    def test_what_cannot_get_better_is_not_repeated(self) -> None:
        moody = self.moody()
        with self.assertRaises(ResourceExhausted) as caught:
            self.client(moody, timeout=LIMIT).recall("full")
        self.assertEqual(len(moody.times), 1)
        error = caught.exception
        self.assertEqual((error.reason, error.metadata, error.retry_after), ("TOO_MUCH", {"limit": "3"}, None))

    def test_the_key_goes_with_the_call(self) -> None:
        moody = self.moody()
        self.assertEqual(self.client(moody, api_key="hs-key").recall("closed").block, "closed")
        with self.assertRaisesRegex(Unauthenticated, "HINDSIGHT_API_KEY"):
            self.client(moody).recall("closed")

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not to be had")
    def test_a_server_behind_tls_is_trusted_by_its_certificate(self) -> None:
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        key, certificate = folder / "key.pem", folder / "certificate.pem"
        make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test"
        named = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
        subprocess.run([*make.split(), *named], check=True, stderr=subprocess.DEVNULL)
        credentials = grpc.ssl_server_credentials([(key.read_bytes(), certificate.read_bytes())])
        moody = self.moody(credentials=credentials)
        server = f"https://127.0.0.1:{moody.port}"
        with Client(server, ca_file=certificate, api_key="hs-key", timeout=LIMIT) as client:
            self.assertEqual(client.recall("closed").block, "closed")
        with Client(server, timeout=2) as stranger, self.assertRaises(Unavailable):
            stranger.recall("closed")
        for url, file in ((f"http://127.0.0.1:{moody.port}", certificate), (server, folder / "none.pem")):
            with self.assertRaisesRegex(InvalidArgument, "ca_file"):
                Client(url, ca_file=file)

    def test_any_call_of_the_schema_can_be_made(self) -> None:
        client = self.client(self.moody(failures=0))
        recall = message("recall.v1.RecallRequest")
        for request in ({"query": "x", "limit": 2, "environment": {"tags": ("docker",)}}, recall(query="x")):
            self.assertEqual(client.call("recall.v1.RecallService", "Recall", request).block, "x")

    def test_what_is_not_of_the_schema_is_named(self) -> None:
        client = self.client(self.moody())
        service = "recall.v1.RecallService"
        wrong = {
            "service: .*recall.v1.RecallService": ("x", "Recall", {}),
            "name: .*ExplainRecall": (service, "x", {}),
            "name: .*client.watch": (service, "Watch", {}),
            "request: .*RecallRequest": (service, "Recall", "x"),
            "request: .*hindsight.recall.v1.RecallRequest": (service, "Recall", message("recall.v1.Silence")()),
            "trace: .*query": (service, "Recall", {"trace": 1}),
            "query: .*int": (service, "Recall", {"query": 5}),
            "limit: .*str": (service, "Recall", {"limit": "five"}),
            "recent: .*list": (service, "Recall", {"recent": "what was said"}),
            "environment.tag: .*tags": (service, "Recall", {"environment": {"tag": []}}),
            "environment.tags: ": (service, "Recall", {"environment": {"tags": [5]}}),
            "items\\[1\\].memory: .*memory_id": (service, "ReportOutcome", {"items": [{}, {"memory": 1}]}),
        }
        for problem, call in wrong.items():
            with self.subTest(problem), self.assertRaisesRegex(InvalidArgument, f"^{problem}"):
                client.call(*call)

    def test_what_cannot_be_sent_of_a_text_is_replaced(self) -> None:
        client = self.client(self.moody(failures=0))
        self.assertEqual(client.recall("重启 \ud800", recent=["\udfff"]).block, "重启 ?")
        answer = client.call("recall.v1.RecallService", "Recall", {"query": "\ud800 x", "recent": ["\ud800"]})
        self.assertEqual(answer.block, "? x")

    def test_mistakes_are_told_before_the_call(self) -> None:
        client = self.client(self.moody())
        for field, call in {
            "user": lambda: client.recall("x", user="a\nb"),
            "agent": lambda: client.watch("x", agent=" a"),
            "trace_id": lambda: client.watch("x", trace_id="t" * 129),
            "session": lambda: client.retain("li.lei", "x", session="s\t"),
            "environment.tags": lambda: client.recall("x", environment=["x" * 129]),
            "asked_at": lambda: client.recall("x", asked_at="now"),  # type: ignore[arg-type]
            "query": lambda: client.recall(5),  # type: ignore[arg-type]
            "kinds": lambda: client.recall("x", kinds=[["fact"]]),  # type: ignore[list-item]
        }.items():
            with self.subTest(field), self.assertRaisesRegex(InvalidArgument, f"^{field}: "):
                call()

    def test_what_is_there_already_has_an_exception_of_its_own(self) -> None:
        with self.assertRaisesRegex(AlreadyExists, "the name of another run .*new id"):
            self.client(self.moody()).recall("taken")


if __name__ == "__main__":
    unittest.main(verbosity=2)
