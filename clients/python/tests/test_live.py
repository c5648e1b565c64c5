"""The clients against a running server at HINDSIGHT_SERVER."""

import asyncio
import datetime
import socket
import unittest

from hindsight_client import (
    AsyncClient,
    Client,
    DeadlineExceeded,
    HindsightError,
    InvalidArgument,
    NotFound,
    Unavailable,
    with_memory,
)
from support import LIMIT, trajectory, unique

JUDGED = 2


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def repair(client: Client, goal: str, **about: object) -> str:
    """A run in which one call fails again and again, until another way is found."""
    with client.task(goal, task_type="incident", environment=["docker"], **about) as task:
        for attempt in range(3):
            task.tool_call("restart_service", {"name": "billing"}, error="unit billing.service not found")
        task.tool_call("list_services", {"pattern": "bill*"}, "billing-api.service loaded active")
        task.tool_call("restart_service", {"name": "billing-api"}, "billing-api.service restarted")
        task.tool_call("check_health", {"name": "billing-api"}, "healthy")
        task.succeed("billing-api is healthy again")
    return task.trace_id


class Live(unittest.TestCase):
    def setUp(self) -> None:
        self.client = Client(timeout=LIMIT)
        self.addCleanup(self.client.close)

    def test_a_run_that_was_recorded_is_judged_and_recalled(self) -> None:
        user = unique("user")
        trace_id = repair(self.client, "The billing service does not answer: restart it. 重启计费服务", user=user)
        found = trajectory(self.client, trace_id, user=user)
        self.assertEqual(found.record.state, JUDGED)
        self.assertEqual([step.status for step in found.trajectory.steps], [2, 2, 2, 1, 1, 1])
        recalled = self.client.recall("restart the billing service", user=user, environment="docker", strict=True)
        self.assertTrue(recalled, recalled.empty_reason)
        self.assertIn("experience", {item.kind for item in recalled.items})
        self.assertIn("billing-api", recalled.block)
        self.assertGreater(recalled.items[0].score, 0)
        other = self.client.recall("restart the billing service", user=unique("other"), kinds=["experience"])
        self.assertNotIn(trace_id, [item.memory.experience.trajectory.trace_id for item in other.items])
        verdicts = {item.memory_id: "helpful" for item in recalled.items}
        new = self.client.report_outcome(
            recalled.receipt_id, verdicts, user=user, trace_id=unique("run"), outcome="success"
        )
        self.assertGreaterEqual(new, 1)

    def test_a_recall_within_a_task_belongs_to_it(self) -> None:
        with self.client.task("find the spare key") as task:
            recalled = self.client.recall(task.goal)
            task.reasoning("under the flower pot")
            task.fail("it is not there")
        found = trajectory(self.client, task.trace_id)
        self.assertEqual(list(found.trajectory.receipts), [recalled.receipt_id])

    def test_what_a_user_said_is_kept(self) -> None:
        user = unique("user")
        when = datetime.datetime(2026, 5, 1, 9, tzinfo=datetime.timezone.utc)
        kept = self.client.retain(
            user, "My train to Lyon leaves on Friday at nine. 我周五去里昂", occurred_at=when, indexed=True
        )
        self.assertTrue(kept.retained)
        recalled = self.client.recall("When does my train to Lyon leave?", user=user, kinds=["fact"])
        self.assertEqual([item.memory_id for item in recalled.items], [kept.memory_id])
        self.assertEqual(recalled.items[0].memory.fact.occurred_at.ToDatetime(datetime.timezone.utc), when)
        thanks = self.client.retain(user, "谢谢！")
        self.assertFalse(thanks.retained)
        self.assertTrue(thanks.not_retained)

    def test_errors_name_field_and_remedy(self) -> None:
        with self.assertRaises(InvalidArgument) as caught:
            self.client.recall("")
        error = caught.exception
        self.assertEqual((error.violations[0].field, error.reason), ("query", "INVALID_FIELDS"))
        self.assertRegex(str(error), r"^query: .*\(mend the fields named")
        with self.assertRaises(NotFound):
            self.client.call("memory.v1.MemoryService", "GetTrajectory", {"trace_id": unique("nobody")})
        with self.assertRaisesRegex(InvalidArgument, "kinds: .*experience"):
            self.client.recall("x", kinds=["nonsense"])  # type: ignore[list-item]
        with Client(f"http://127.0.0.1:{free_port()}", timeout=2) as nobody:
            with self.assertRaisesRegex(Unavailable, "hindsight serve"):
                nobody.recall("x")
        with socket.create_server(("127.0.0.1", 0)) as deaf:
            with Client(f"http://127.0.0.1:{deaf.getsockname()[1]}", timeout=0.3) as waiting:
                with self.assertRaises((DeadlineExceeded, Unavailable)):
                    waiting.recall("x")
        with Client(self.client._connection.address.join(["https://", ""]), timeout=0.5) as tls:
            with self.assertRaises(HindsightError):
                tls.recall("x")

    def test_the_asyncio_client_does_the_same(self) -> None:
        async def work() -> None:
            user = unique("user")
            async with AsyncClient(timeout=LIMIT) as client:
                kept, other = await asyncio.gather(
                    client.retain(user, "I prefer tea without sugar", indexed=True),
                    client.retain(user, "The receipt number is 4711", indexed=True),
                )
                recalled = await client.recall("what does she drink? tea or coffee", user=user, kinds=["fact"])
                self.assertIn(kept.memory_id, [item.memory_id for item in recalled.items])
                with self.assertRaisesRegex(InvalidArgument, "^query: "):
                    await client.recall("")
                report = client.report_outcome(recalled.receipt_id, {kept.memory_id: "helpful"}, user=user)
                self.assertEqual(await report, 0, "without a run it is no evidence")

        asyncio.run(work())

    def test_the_block_stands_after_the_system_prompt_and_before_the_user(self) -> None:
        messages = [
            {"role": "system", "content": "Be brief."},
            {"role": "developer", "content": "Be kind."},
            {"role": "user", "content": "你好"},
            {"role": "assistant", "content": "hello"},
        ]
        placed = with_memory(messages, "<memory>")
        self.assertEqual([m["role"] for m in placed], ["system", "developer", "user", "user", "assistant"])
        self.assertEqual(placed[2]["content"], "<memory>")
        self.assertEqual(len(messages), 4, "the caller's list is not changed")
        self.assertEqual(with_memory(messages, ""), messages)
        self.assertEqual(with_memory([], "<memory>", role="system"), [{"role": "system", "content": "<memory>"}])


if __name__ == "__main__":
    unittest.main(verbosity=2)
