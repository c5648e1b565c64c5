"""Recording against a collector that goes away, comes back and refuses."""

import asyncio
import subprocess
import sys
import unittest

from hindsight_client import AsyncClient, Client, Evidence, InvalidArgument, current_task, record_step
from hindsight_client.recorder import Recorder
from support import LIMIT, Collector, Threads, unique, until

OK, ERROR = 1, 2
SUCCESS, FAILURE, UNKNOWN = 1, 3, 4


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
        steps = [event.step for event in events[1:-1]]
        self.assertEqual([step.step_index for step in steps], list(range(len(steps))))
        self.assertEqual(events[-1].completed.step_count, len(steps))
        return steps, events[-1].completed.outcome

    def test_a_task_is_a_block(self) -> None:
        with self.client.task("退款 for order 4711", user="li.lei", environment=["docker"]) as task:
            self.assertIs(current_task(), task)
            task.add_receipt("r-1")
            self.assertEqual(task.user_input("where is my money?"), 0)
            task.add_receipt("too late")
            self.assertEqual(task.reasoning("look the order up"), 1)
            self.assertEqual(task.tool_call("get_order", {"id": 4711}, {"state": "paid"}), 2)
            task.conclude("success", "refunded", [Evidence("user", "success", "the user says thanks")])
        self.assertIsNone(current_task())
        steps, outcome = self.steps(task.trace_id)
        started = self.collector.of(task.trace_id)[0].started
        self.assertEqual((started.goal, started.user, started.receipts), ("退款 for order 4711", "li.lei", ["r-1"]))
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

    def test_what_cannot_be_said_in_json_breaks_nothing(self) -> None:
        class Hostile:
            def __repr__(self) -> str:
                raise RuntimeError("no")

        loop: list = []
        loop.append(loop)
        with self.client.task("be robust") as task:
            for index, value in enumerate([Hostile(), loop, {"x": Hostile()}, b"\xff", "\ud800", None]):
                self.assertEqual(task.tool_call("odd", value, value), index)
            self.assertEqual(task.tool_call("", "", "x" * (2 << 20)), 6)
        steps, _ = self.steps(task.trace_id)
        self.assertEqual(steps[6].action_name, "unnamed")
        self.assertLessEqual(len(steps[6].observation.encode()), 1 << 20)
        self.assertIn("cut", steps[6].observation)
        self.assertEqual(self.client.recorder.state.cut, 1)

    def test_mistakes_name_the_field(self) -> None:
        for field, about in {"goal": dict(goal=" "), "user": dict(goal="x", user="u" * 129)}.items():
            with self.assertRaisesRegex(InvalidArgument, f"^{field}: "):
                self.client.task(**about)
        with self.client.task("x") as task, self.assertRaisesRegex(InvalidArgument, "status: .*partial"):
            task.conclude("splendid")  # type: ignore[arg-type]
        for server in ("localhost:7411", "ftp://x"):
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
