"""Recording against a collector that goes away, comes back and refuses."""

import asyncio
import datetime
import subprocess
import sys
import unittest
import uuid
from typing import Any, List

from hindsight_client import AsyncClient, Client, Evidence, InvalidArgument, current_task, record_step
from hindsight_client.recorder import Recorder
from support import LIMIT, Collector, Threads, unique, until

OK, ERROR = 1, 2
SUCCESS, FAILURE, UNKNOWN = 1, 3, 4


class Hostile(Exception):
    """Raises whatever is asked of it."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


class Recording(unittest.TestCase):
    def setUp(self) -> None:
        self.collector = Collector()
        self.client = Client(self.collector.url, api_key="hs-key")
        self.addCleanup(self.collector.stop)
        self.addCleanup(self.client.close)

    def steps(self, trace_id: str):
        """The steps of a run, and how it ended."""
        self.client.flush(LIMIT)
        events = self.collector.of(trace_id)
        self.assertEqual(events[0].WhichOneof("body"), "started")
        self.assertEqual(events[-1].WhichOneof("body"), "completed")
        steps = [event.step for event in events if event.WhichOneof("body") == "step"]
        self.assertEqual([step.step_index for step in steps], list(range(len(steps))))
        self.assertEqual(events[-1].completed.step_count, len(steps))
        return steps, events[-1].completed.outcome

    def starts(self, trace_id: str) -> List[Any]:
        """The starts of a run, the first recorded first."""
        starts = [event for event in self.collector.of(trace_id) if event.WhichOneof("body") == "started"]
        return sorted(starts, key=lambda event: event.recorded_at.ToNanoseconds())

    def test_a_task_is_a_block(self) -> None:
        receipt = str(uuid.uuid4())
        with self.client.task("退款 for order 4711", user="li.lei", environment=["docker"]) as task:
            self.assertIs(current_task(), task)
            task.add_receipt(receipt)
            self.assertEqual(task.user_input("where is my money?"), 0)
            self.assertEqual(task.reasoning("look the order up"), 1)
            self.assertEqual(task.tool_call("get_order", {"id": 4711}, {"state": "paid"}), 2)
            task.conclude("success", "refunded", [Evidence("user", "success", "the user says thanks")])
        self.assertIsNone(current_task())
        steps, outcome = self.steps(task.trace_id)
        started, = (event.started for event in self.starts(task.trace_id))
        self.assertEqual((started.goal, started.user, started.receipts), ("退款 for order 4711", "li.lei", [receipt]))
        self.assertEqual(list(started.environment.tags), ["docker"])
        self.assertEqual(steps[2].action_detail, '{"id": 4711}')
        self.assertEqual((steps[2].observation, steps[2].status), ('{"state": "paid"}', OK))
        self.assertEqual((outcome.status, outcome.conclusion, len(outcome.evidence)), (SUCCESS, "refunded", 1))
        scopes = {(event.scope.level, event.scope.id) for event in self.collector.of(task.trace_id)}
        self.assertEqual(scopes, {(2, "li.lei")}, "every event says whose it is")
        self.assertEqual(self.collector.metadata["authorization"], "Bearer hs-key")

    def test_an_exception_ends_the_task_as_failed_and_goes_on(self) -> None:
        with self.assertRaisesRegex(ZeroDivisionError, "zero"):
            with self.client.task("divide") as task:
                task.reasoning("this ends badly")
                1 / 0
        _, outcome = self.steps(task.trace_id)
        self.assertEqual((outcome.status, outcome.conclusion), (FAILURE, "ZeroDivisionError: division by zero"))

        with self.assertRaises(KeyboardInterrupt):
            with self.client.task("be stopped") as stopped:
                raise KeyboardInterrupt
        _, outcome = self.steps(stopped.trace_id)
        self.assertEqual(outcome.status, UNKNOWN, "to be stopped is not to fail")

    def test_functions_are_steps(self) -> None:
        class Shop:
            @record_step
            def order(self, number: int, *, fast: bool = False) -> dict:
                return {"number": number, "fast": fast}

        @record_step(name="refund")
        async def give_back(order: int) -> str:
            await asyncio.sleep(0)
            raise ValueError(f"order {order} is not paid")

        self.assertEqual(Shop().order(1), {"number": 1, "fast": False})

        async def work() -> str:
            async with self.client.task("refund order 7") as task:
                Shop().order(7, fast=True)
                with self.assertRaises(ValueError):
                    await give_back(7)
                return task.trace_id

        self.assertTrue(asyncio.iscoroutinefunction(give_back))
        steps, _ = self.steps(asyncio.run(work()))
        self.assertEqual([step.action_name for step in steps], ["order", "refund"])
        self.assertEqual(steps[0].action_detail, '{"number": 7, "fast": true}')
        self.assertEqual((steps[1].status, steps[1].observation), (ERROR, "ValueError: order 7 is not paid"))
        self.assertGreaterEqual(steps[0].ended_at.ToNanoseconds(), steps[0].started_at.ToNanoseconds())

    def test_what_was_recalled_after_the_start_is_told_with_the_end(self) -> None:
        receipts = [str(uuid.uuid4()) for _ in range(70)]
        with self.client.task("learn on the way", user="li.lei", receipts=receipts[:1]) as task:
            task.reasoning("let me see")
            for receipt in receipts:
                task.add_receipt(receipt)
            task.add_receipt("no receipt")
        task.add_receipt(str(uuid.uuid4()))
        self.steps(task.trace_id)
        restated, first = self.starts(task.trace_id)
        self.assertEqual(list(first.started.receipts), receipts[:1])
        self.assertEqual(list(restated.started.receipts), receipts[:64], "as many as the server takes, each once")
        self.assertEqual(restated.recorded_at.ToNanoseconds(), first.recorded_at.ToNanoseconds() - 1_000)
        self.assertTrue(uuid.UUID(restated.event_id), "else it would be the event that is there already")
        self.assertEqual((first.event_id, restated.scope), ("", first.scope))
        restated.started.receipts[:] = first.started.receipts
        self.assertEqual(restated.started, first.started)
        self.assertIn("'no receipt'", self.client.recorder.state.problem)

    def test_whatever_is_recorded_breaks_nothing(self) -> None:
        loop: list = []
        loop.append(loop)
        deep: list = []
        for _ in range(5_000):
            deep = [deep]
        odd = [Hostile(), loop, deep, {"x": Hostile()}, b"\xff", "\ud800", None, 5, {1, 2}, float("nan"), object()]
        with self.client.task("be robust", environment={"docker"}) as task:  # type: ignore[arg-type]
            for index, value in enumerate(odd):
                self.assertEqual(task.tool_call(value, value, value, reflection=value, agent=value), 4 * index)  # type: ignore[arg-type]
                self.assertEqual(task.tool_call("odd", error=value), 4 * index + 1)
                self.assertEqual(task.user_input(value), 4 * index + 2)  # type: ignore[arg-type]
                self.assertEqual(task.reasoning(value, agent=value), 4 * index + 3)  # type: ignore[arg-type]
                task.add_receipt(value)  # type: ignore[arg-type]
                task.conclude("success", value, [Evidence("user", "success", value)])  # type: ignore[arg-type]
            self.assertEqual(task.tool_call("", "", "x" * (2 << 20), agent=" a\nb "), 4 * len(odd))
        steps, _ = self.steps(task.trace_id)
        self.assertEqual(steps[3 * 4 + 1].observation, '<dict>')
        self.assertEqual([step.action_name for step in steps[5 * 4 : 8 * 4 : 4]], ["?", "unnamed", "5"])
        self.assertEqual((steps[-1].action_name, steps[-1].agent), ("unnamed", "a b"))
        self.assertLessEqual(len(steps[-1].observation.encode()), 1 << 20)
        self.assertIn("cut", steps[-1].observation)
        self.assertEqual(self.client.recorder.state.cut, 1)

    def test_a_time_without_a_zone_is_local(self) -> None:
        noon = datetime.datetime(2026, 5, 1, 12)
        with self.client.task("be on time") as task:
            self.assertEqual(task.tool_call("bell", started_at=noon), 0)
            self.assertEqual(task.tool_call("bell", started_at=noon + datetime.timedelta(1), ended_at=noon.astimezone()), 1)
            self.assertIsNone(task.tool_call("bell", started_at="noon"))  # type: ignore[arg-type]
        (first, second), _ = self.steps(task.trace_id)
        self.assertEqual(first.started_at.ToDatetime(datetime.timezone.utc), noon.astimezone())
        self.assertEqual(second.started_at, second.ended_at, "nothing ends before it begins")
        self.assertEqual(self.client.recorder.state.lost, 1)

    def test_an_exception_that_says_nothing_of_itself_goes_on(self) -> None:
        @record_step
        def fail() -> None:
            raise Hostile()

        with self.assertRaises(Hostile):
            with self.client.task("fail in a strange way") as task:
                fail()
        steps, outcome = self.steps(task.trace_id)
        self.assertEqual((steps[0].observation, outcome.conclusion), ("<Hostile>", "<Hostile>"))

    def test_without_room_for_a_thread_events_are_lost(self) -> None:
        recorder = self.client.recorder
        recorder._start = lambda: (_ for _ in ()).throw(RuntimeError("can't start new thread"))  # type: ignore[method-assign]
        with self.client.task("begin") as task:
            self.assertIsNone(task.reasoning("hm"))
        self.assertEqual((recorder.state.recorded, recorder.state.pending), (0, 0))

    def test_mistakes_name_the_field(self) -> None:
        wrong = {
            "goal": [dict(goal=" "), dict(goal=None)],
            "user": [dict(user="u" * 129), dict(user="a\nb"), dict(user=" a"), dict(user="\ud800"), dict(user=5)],
            "agent": [dict(agent="a\x85b")],
            "session": [dict(session="s\t")],
            "task_type": [dict(task_type="t ")],
            "trace_id": [dict(trace_id="\0")],
            "receipts": [dict(receipts=["no receipt"]), dict(receipts=str(uuid.uuid4()))],
            "environment": [dict(environment=[""]), dict(environment=["x" * 129]), dict(environment=5)],
        }
        for field, mistakes in wrong.items():
            for about in mistakes:
                with self.subTest(**about), self.assertRaisesRegex(InvalidArgument, f"^{field}[.: \\[]"):
                    self.client.task(**{"goal": "x", **about})  # type: ignore[arg-type]
        with self.assertRaises(InvalidArgument) as caught:
            self.client.task("x", user="a\n", agent=" b", session=None)  # type: ignore[arg-type]
        self.assertEqual([violation.field for violation in caught.exception.violations], ["user", "agent"])
        with self.client.task("x") as task:
            with self.assertRaisesRegex(InvalidArgument, "status: .*partial"):
                task.conclude("splendid")  # type: ignore[arg-type]
            with self.assertRaisesRegex(InvalidArgument, "evidence: "):
                task.conclude("success", "", ["it works"])  # type: ignore[list-item]
        for server in ("localhost:7411", "ftp://x", "http://x:y", "http://[::1"):
            with self.assertRaisesRegex(InvalidArgument, "server: .*http://HOST:PORT"):
                Client(server)
        with self.assertRaisesRegex(InvalidArgument, "api_key"):
            Client(api_key="a\nb")

    def test_a_collector_that_goes_away_gets_the_rest_when_it_is_back(self) -> None:
        with self.client.task("survive") as task:
            for n in range(50):
                task.tool_call("probe", f"port {n}", "open")
            self.client.flush(LIMIT)
            self.collector.stop()
            for n in range(50, 100):
                task.tool_call("probe", f"port {n}", "open")
        until("the end of the connection is noticed", lambda: self.client.recorder.state.trouble)
        self.assertGreater(self.client.recorder.state.pending, 0)
        self.collector.failing = 1
        self.collector.start()
        state = self.client.flush(LIMIT)
        self.assertEqual((state.pending, state.lost, state.rejected, state.trouble), (0, 0, 0, ""), state)
        seen = {}
        for event in self.collector.of(task.trace_id):
            if event.WhichOneof("body") == "step":
                seen[event.step.step_index] = event.step.action_detail
        self.assertEqual(seen, {n: f"port {n}" for n in range(100)})

    def test_what_is_refused_does_not_stop_the_rest(self) -> None:
        self.collector.refused = unique("refused")
        with self.client.task("a", trace_id=self.collector.refused) as bad:
            bad.reasoning("x")
        with self.client.task("b") as good:
            good.reasoning("x")
        self.steps(good.trace_id)
        state = self.client.flush(LIMIT)
        self.assertEqual((state.rejected, state.pending), (3, 0))
        self.assertIn("mend the field", state.problem)

    def test_a_full_queue_loses_the_newest_and_counts_them_and_ends_are_kept(self) -> None:
        self.collector.stop()
        recorder = self.client.recorder = Recorder(self.client._connection, queue_events=64)
        with self.client.task("too much") as task:
            taken = sum(task.reasoning(f"thought {n}") is not None for n in range(1000))
            task.succeed("done")
        self.assertEqual(taken, 60 - 1)
        self.assertEqual((recorder.state.lost, recorder.state.recorded), (1000 - taken, taken + 2))
        self.assertIn("is the server away", recorder.state.problem)
        self.collector.start()
        steps, outcome = self.steps(task.trace_id)
        self.assertEqual((len(steps), outcome.status), (taken, SUCCESS), "no hole")

    def test_many_threads_share_a_task(self) -> None:
        with self.client.task("count together") as task:
            Threads(8, lambda n: [task.tool_call("count", f"{n}/{i}") for i in range(50)])
        steps, _ = self.steps(task.trace_id)
        self.assertEqual(len({step.action_detail for step in steps}), 400)

    def test_a_process_that_ends_sends_what_it_has(self) -> None:
        script = (
            "import sys; from hindsight_client import Client\n"
            "with Client(sys.argv[1]).task('leave', trace_id='leaving') as task: task.reasoning('bye')\n"
        )
        subprocess.run([sys.executable, "-c", script, self.collector.url], check=True, timeout=LIMIT)
        self.assertEqual(len(self.collector.of("leaving")), 3)

    def test_the_end_of_a_process_does_not_wait_long_for_a_server_that_is_away(self) -> None:
        self.collector.stop()
        script = (
            "import sys; from hindsight_client import Client\n"
            "client = Client(sys.argv[1])\n"
            "with client.task('leave') as task: task.reasoning('bye')\n"
            "client.close(0.1); print(client.recorder.state.lost)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, self.collector.url], check=True, timeout=LIMIT, stdout=subprocess.PIPE
        )
        self.assertEqual(done.stdout.strip(), b"3", "what is lost is counted")

    def test_the_asyncio_client_records_too(self) -> None:
        async def work() -> str:
            async with AsyncClient(self.collector.url) as client:
                async with client.task("be quick") as task:
                    task.reasoning("done")
                state = await client.flush(LIMIT)
                self.assertEqual((state.acknowledged, state.pending), (3, 0))
                return task.trace_id

        self.steps(asyncio.run(work()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
