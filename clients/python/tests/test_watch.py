"""The watch: against a server that is late, breaks off and refuses, and against the running one."""

import asyncio
import threading
import unittest
import uuid
from typing import Any, List

import grpc

from hindsight_client import AsyncClient, Client, InvalidArgument
from hindsight_client._schema import message
from support import LIMIT, SERVER, Threads, serve, trajectory, unique, until
from test_live import repair


class Memory:
    """Warns of the tool ``rm``; says nothing of ``late`` for as long as it is told to; breaks off at ``break``."""

    def __init__(self) -> None:
        self.heard: List[Any] = []
        self.cancelled = 0
        """So many streams did not end in order."""
        self.open = 0
        self.go_on = threading.Event()
        self.server, self.port = serve("recall.v1.RecallService", "Watch", self._watch)

    def _watch(self, requests: Any, context: Any) -> Any:
        self.open += 1
        try:
            yield from self._answers(requests, context)
        except BaseException:
            self.cancelled += 1
            raise
        finally:
            self.open -= 1

    def _answers(self, requests: Any, context: Any) -> Any:
        for request in requests:
            self.heard.append(request)
            answer = message("recall.v1.WatchResponse")(in_reply_to=request.sequence)
            tool = request.before_call.tool
            if tool == "break":
                context.abort(grpc.StatusCode.UNAVAILABLE, "gone for a moment")
            if request.start.goal == "bad":
                rejection = dict(message="start.goal: no", fields=["start.goal"])
                answer.rejection.CopyFrom(message("recall.v1.WatchRejection")(**rejection))
                yield answer
                continue
            if tool == "late":
                self.go_on.wait(LIMIT)
            if tool == "rm":
                failure = dict(tool="rm", what="denied", why="no right", instead="ask", times=3)
                answer.reminder.CopyFrom(
                    message("recall.v1.Reminder")(reminder_id=str(uuid.uuid4()), trigger=2, block="do not", failure=failure, left=9)
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
            with self.assertRaisesRegex(InvalidArgument, r"^before_call.tool: no \("):
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

    def test_a_start_that_is_wrong_leaves_nothing_open(self) -> None:
        watch = self.client.watch("bad", timeout=LIMIT)
        for _ in range(3):
            with self.assertRaisesRegex(InvalidArgument, "^start.goal: "):
                watch.before_call("rm")
        until("the streams are closed", lambda: not self.memory.open)

        async def work() -> None:
            async with AsyncClient(self.memory.url) as client:
                with self.assertRaisesRegex(InvalidArgument, "^start.goal: "):
                    await client.watch("bad", timeout=LIMIT).start()
                await asyncio.to_thread(until, "the stream is closed", lambda: not self.memory.open)

        asyncio.run(work())

    def test_what_cannot_be_sent_of_a_text_is_replaced(self) -> None:
        with self.client.watch("x \ud800", timeout=LIMIT) as watch:
            self.assertIsNone(watch.before_call("t\ud800", {"x": "\ud800"}, description="\ud800"))
            watch.message("do you \ud800?")
            watch.feedback(str(uuid.uuid4()), "harmful", "no \ud800")
        start, call, said, feedback, _ = self.memory.heard
        self.assertEqual((start.start.goal, call.before_call.tool), ("x ?", "t?"))
        self.assertEqual((said.message.text, feedback.feedback.note), ("do you ??", "no ?"))
        with self.client.watch(timeout=LIMIT) as watch:
            with self.assertRaisesRegex(InvalidArgument, "^before_call.tool: "):
                watch.before_call(5)  # type: ignore[arg-type]

    def test_threads_share_one_stream(self) -> None:
        meeting = threading.Barrier(2)

        def open_channel() -> Any:
            try:
                meeting.wait(0.3)  # Where two would meet if both opened a stream.
            except threading.BrokenBarrierError:
                pass
            return self.client._open()

        watch = self.client.watch(timeout=LIMIT)
        watch._open_channel = open_channel
        warned: List[bool] = []
        Threads(8, lambda n: warned.append(watch.before_call("rm") is not None))
        self.assertEqual((warned, self.memory.open), ([True] * 8, 1))
        watch.close()
        starts = [request for request in self.memory.heard if request.WhichOneof("event") == "start"]
        self.assertEqual(len(starts), 1)

    def test_a_watch_ends_in_order_and_stays_closed(self) -> None:
        for wait in (True, False):
            watch = self.client.watch(timeout=LIMIT)
            self.assertIsNotNone(watch.before_call("rm"))
            watch.close("success", wait=wait)
            until("the stream ends", lambda: not self.memory.open)
            self.assertEqual(self.memory.heard[-1].end.outcome, 1)
            self.assertIsNone(watch.before_call("rm"))
            self.assertEqual(watch.silence.words, "the watch was closed")

        async def work() -> None:
            async with AsyncClient(self.memory.url) as client:
                async with client.watch(timeout=LIMIT) as watch:
                    self.assertIsNotNone(await watch.before_call("rm"))
                await asyncio.to_thread(until, "the stream ends", lambda: not self.memory.open)
                self.assertIsNone(await watch.before_call("rm"))

        asyncio.run(work())
        self.assertEqual((self.memory.open, self.memory.cancelled), (0, 0))

    def test_an_idle_stream_ends_and_the_next_event_opens_another(self) -> None:
        watch = self.client.watch(timeout=LIMIT)
        watch._idle = 0.05
        for _ in range(3):
            self.assertIsNotNone(watch.before_call("rm"))
            until("the stream ends", lambda: not self.memory.open)
        starts = [request for request in self.memory.heard if request.WhichOneof("event") == "start"]
        self.assertEqual((len(starts), self.memory.cancelled), (3, 0))
        watch.close()

    def test_what_is_said_is_a_receipt_of_the_run(self) -> None:
        with self.client.task("clean up") as task:
            with self.client.watch(timeout=LIMIT) as watch:
                said = [watch.before_call("rm").reminder_id]
                Threads(1, lambda n: said.append(watch.before_call("rm").reminder_id))
                watch.before_call("ls")
            with self.client.watch(trace_id="another", timeout=LIMIT) as watch:
                self.assertIsNotNone(watch.before_call("rm"))
            self.assertEqual(task.receipts, said)
        self.assertEqual(self.memory.heard[0].start.trace_id, task.trace_id)
        named = self.client.task("clean up")
        with self.client.watch(trace_id=named.trace_id, timeout=LIMIT) as watch:
            self.assertEqual([watch.before_call("rm").reminder_id], named.receipts)
            named.end()
            watch.before_call("rm")
            self.assertEqual(len(named.receipts), 1, "it has ended")

        async def work() -> None:
            async with AsyncClient(self.memory.url) as client:
                watch = client.watch(timeout=LIMIT)
                async with client.task("clean up") as task:
                    reminder = await watch.before_call("rm")
                    self.assertEqual(task.receipts, [reminder.reminder_id], "in whose context it is said")
                await watch.close()

        asyncio.run(work())

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

    def test_the_run_names_what_it_was_told(self) -> None:
        user = unique("user")
        with Client(SERVER, timeout=LIMIT) as client:
            trajectory(client, repair(client, "Restart the mail service 重启邮件服务", user=user), user=user)
            with client.task("Restart the mail service", user=user) as task:
                task.reasoning("I have done this before")
                with client.watch(task.goal, user=user, environment="docker", timeout=LIMIT) as watch:
                    warning = watch.before_call("restart_service", {"name": "billing"})
                    self.assertIsNotNone(warning, watch.silence)
                recalled = client.recall(task.goal, user=user)
                task.fail("nobody is there")
            run = trajectory(client, task.trace_id, user=user).trajectory
            told = {watch.opening.reminder_id, warning.reminder_id, recalled.receipt_id}
            self.assertEqual(set(run.receipts), told)
            self.assertEqual(len(run.steps), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
