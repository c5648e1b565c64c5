"""The watch: against a server that is late, breaks off and refuses, and against the running one."""

import asyncio
import threading
import unittest
from typing import Any, List

import grpc

from hindsight_client import AsyncClient, Client, InvalidArgument
from hindsight_client._schema import message
from support import LIMIT, SERVER, serve, trajectory, unique
from test_live import repair


class Memory:
    """Warns of the tool ``rm``; says nothing of ``late`` for as long as it is told to; breaks off at ``break``."""

    def __init__(self) -> None:
        self.heard: List[Any] = []
        self.go_on = threading.Event()
        self.server, self.port = serve("recall.v1.RecallService", "Watch", self._watch)

    def _watch(self, requests: Any, context: Any) -> Any:
        for request in requests:
            self.heard.append(request)
            answer = message("recall.v1.WatchResponse")(in_reply_to=request.sequence)
            tool = request.before_call.tool
            if tool == "break":
                context.abort(grpc.StatusCode.UNAVAILABLE, "gone for a moment")
            if tool == "late":
                self.go_on.wait(LIMIT)
            if tool == "rm":
                failure = dict(tool="rm", what="denied", why="no right", instead="ask", times=3)
                answer.reminder.CopyFrom(
                    message("recall.v1.Reminder")(reminder_id="r-1", trigger=2, block="do not", failure=failure, left=9)
                )
            elif tool == "bad":
                answer.rejection.CopyFrom(
                    message("recall.v1.WatchRejection")(
                        reason="INVALID_FIELDS", message="before_call.tool: no", fields=["before_call.tool"]
                    )
                )
            else:
                answer.silence.CopyFrom(message("recall.v1.Silence")(reason=2, words="nothing is known"))
            yield answer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Watching(unittest.TestCase):
    def setUp(self) -> None:
        self.memory = Memory()
        self.client = Client(self.memory.url)
        self.addCleanup(self.memory.server.stop, 0)
        self.addCleanup(self.memory.go_on.set)
        self.addCleanup(self.client.close)

    def test_a_warning_comes_before_the_call(self) -> None:
        with self.client.watch("clean up 清理", user="li.lei", trace_id="t-1", timeout=LIMIT) as watch:
            self.assertIsNone(watch.opening)
            self.assertIsNone(watch.before_call("ls", {"path": "/"}))
            self.assertEqual((watch.silence.reason, watch.silence.words), ("nothing_known", "nothing is known"))
            warning = watch.before_call("rm", {"path": "/"}, call_id="c-1")
            self.assertEqual((warning.block, warning.trigger, warning.left), ("do not", "before_call", 9))
            self.assertEqual((warning.failure.times, warning.failure.instead), (3, "ask"))
            self.assertIsNone(watch.silence)
            watch.after_call("rm", {"path": "/"}, error="denied")
            watch.message("do you remember?")
            watch.feedback(warning.reminder_id, "helpful", "it held me back")
            with self.assertRaisesRegex(InvalidArgument, "verdict: .*harmful"):
                watch.feedback("r-1", "splendid")  # type: ignore[arg-type]
        heard = self.memory.heard
        self.assertEqual([request.sequence for request in heard], list(range(1, 8)))
        self.assertEqual(
            [request.WhichOneof("event") for request in heard],
            ["start", "before_call", "before_call", "after_call", "message", "feedback", "end"],
        )
        self.assertEqual((heard[0].start.goal, heard[0].start.user), ("clean up 清理", "li.lei"))
        self.assertEqual((heard[2].before_call.arguments, heard[2].before_call.call_id), ('{"path": "/"}', "c-1"))
        self.assertTrue(heard[3].after_call.failed)

    def test_an_event_that_is_wrong_names_its_field(self) -> None:
        with self.client.watch(timeout=LIMIT) as watch:
            with self.assertRaisesRegex(InvalidArgument, "^before_call.tool: "):
                watch.before_call("bad")
            self.assertIsNotNone(watch.before_call("rm"), "the watch goes on")

    def test_a_memory_that_is_late_or_breaks_off_is_silent_and_heard_again_later(self) -> None:
        for trouble in ("late", "break"):
            watch = self.client.watch(timeout=0.5)
            self.assertIsNone(watch.before_call(trouble))
            self.assertEqual(watch.silence.reason, "unavailable")
            self.assertIsNone(watch.before_call("rm"), "it is not asked at once")
            self.memory.go_on.set()
            watch._away_until = 0.0
            watch._timeout = LIMIT
            self.assertIsNotNone(watch.before_call("rm"), trouble)
            watch.close()

    def test_the_asyncio_watch_does_the_same(self) -> None:
        async def work() -> None:
            async with AsyncClient(self.memory.url) as client:
                async with client.watch("clean up", timeout=LIMIT) as watch:
                    answers = await asyncio.gather(*(watch.before_call(tool) for tool in ["ls", "rm", "ls", "rm"]))
                    self.assertEqual([answer is not None for answer in answers], [False, True, False, True])
                    with self.assertRaisesRegex(InvalidArgument, "^before_call.tool: "):
                        await watch.before_call("bad")
                    watch._timeout = 0.3
                    self.assertIsNone(await watch.before_call("late"))
                    self.assertEqual(watch.silence.reason, "unavailable")
                    self.memory.go_on.set()
                    watch._away_until, watch._timeout = 0.0, LIMIT
                    self.assertIsNotNone(await watch.before_call("rm"))
                    self.assertIsNone(await watch.before_call("break"))
                    self.assertIn("gone for a moment", watch.silence.words)

        asyncio.run(work())


class Live(unittest.TestCase):
    def test_a_call_that_failed_is_warned_of(self) -> None:
        user = unique("user")
        with Client(SERVER, timeout=LIMIT) as client:
            trajectory(client, repair(client, "Restart the billing service 重启计费服务", user=user), user=user)
            with client.watch("Restart the billing service", user=user, environment="docker", timeout=LIMIT) as watch:
                self.assertIsNotNone(watch.opening, watch.silence)
                self.assertIn("billing-api", watch.opening.block)
                warning = watch.before_call("restart_service", {"name": "billing"})
                self.assertIsNotNone(warning, watch.silence)
                self.assertIn("not found", warning.failure.what)
                self.assertGreaterEqual(warning.failure.times, 1)
                self.assertIsNone(watch.before_call("check_health", {"name": "billing-api"}))
                self.assertIsNone(watch.before_call("restart_service", {"name": "billing"}), "said before")
                watch.feedback(warning.reminder_id, "helpful")
            with client.watch("Restart the billing service", user=unique("other"), timeout=LIMIT) as watch:
                self.assertIsNone(watch.before_call("restart_service", {"name": "billing"}), "of another user")


if __name__ == "__main__":
    unittest.main(verbosity=2)
