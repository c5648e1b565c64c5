"""What a client in Python does with a running server at HINDSIGHT_ADDRESS."""

import os
import queue
import unittest
import uuid

import grpc
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_status import rpc_status

from google.protobuf.descriptor_pool import DescriptorPool
from hindsight.collector.v1 import collector_pb2, collector_service_pb2_grpc
from hindsight.common.v1 import evaluation_pb2, memory_pb2, outcome_pb2, receipt_pb2, trajectory_pb2
from hindsight.event.v1 import event_pb2
from hindsight.memory.v1 import memory_pb2 as store_pb2, memory_service_pb2_grpc
from hindsight.recall.v1 import recall_pb2, recall_service_pb2_grpc, watch_pb2

LIMIT = 60
SERVICES = [
    "hindsight.collector.v1.CollectorService",
    "hindsight.evaluator.v1.EvaluatorService",
    "hindsight.memory.v1.MemoryService",
    "hindsight.recall.v1.RecallService",
]


def call(name, arguments, observation, status=trajectory_pb2.STEP_STATUS_OK):
    return dict(
        action_type=trajectory_pb2.ACTION_TYPE_TOOL_CALL,
        action_name=name,
        action_detail=arguments,
        observation=observation,
        status=status,
    )


def disk_alarm():
    """A run that frees a full disk: one dead end, then the way that worked."""
    steps = [
        call("run_command", "df -h /var", "/var is 98% full, device /dev/sdb1"),
        call("run_command", "systemctl restart rsyslog", "ok"),
        call("run_command", "du -x /var | sort -n | tail -3", "61G /var/log/audit/audit.log.1"),
        call("run_command", "rm /var/log", "rm: cannot remove '/var/log': Is a directory", trajectory_pb2.STEP_STATUS_ERROR),
        call("run_command", "truncate -s 0 /var/log/audit/audit.log.1", "done"),
        call("run_command", "df -h /var", "/var is 31% full, device /dev/sdb1"),
    ]
    return trajectory_pb2.Trajectory(
        trace_id=f"disk-{uuid.uuid4()}",
        task_description="The disk alarm of host db-3 fires: /var is full. 磁盘告警",
        task_type="incident",
        environment=trajectory_pb2.Environment(tags=["bare-metal"]),
        steps=[trajectory_pb2.Step(step_index=i, **step) for i, step in enumerate(steps)],
        outcome=outcome_pb2.Outcome(
            status=outcome_pb2.OUTCOME_STATUS_SUCCESS,
            conclusion="/var/log/audit/audit.log.1 was emptied; /var is at 31%",
            evidence=[
                outcome_pb2.OutcomeEvidence(
                    source=outcome_pb2.EVIDENCE_SOURCE_EXIT_CODE,
                    verdict=outcome_pb2.OUTCOME_STATUS_SUCCESS,
                    detail="df exits with 0 and shows 31%",
                )
            ],
        ),
    )


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.channel = grpc.insecure_channel(os.environ["HINDSIGHT_ADDRESS"])
        cls.health = health_pb2_grpc.HealthStub(cls.channel)
        cls.collector = collector_service_pb2_grpc.CollectorServiceStub(cls.channel)
        cls.memory = memory_service_pb2_grpc.MemoryServiceStub(cls.channel)
        cls.recall = recall_service_pb2_grpc.RecallServiceStub(cls.channel)
        watch = cls.health.Watch(health_pb2.HealthCheckRequest(), timeout=LIMIT, wait_for_ready=True)
        for change in watch:
            if change.status == health_pb2.HealthCheckResponse.SERVING:
                break
        watch.cancel()

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()

    def test_health_knows_every_service(self):
        for service in SERVICES + [""]:
            answer = self.health.Check(health_pb2.HealthCheckRequest(service=service), timeout=LIMIT)
            self.assertEqual(answer.status, health_pb2.HealthCheckResponse.SERVING, service)
        with self.assertRaises(grpc.RpcError) as caught:
            self.health.Check(health_pb2.HealthCheckRequest(service="nobody"), timeout=LIMIT)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)

    def test_reflection_describes_every_service(self):
        database = ProtoReflectionDescriptorDatabase(self.channel)
        self.assertLessEqual(set(SERVICES), set(database.get_services()))
        recall = DescriptorPool(database).FindServiceByName("hindsight.recall.v1.RecallService")
        self.assertEqual(recall.FindMethodByName("Recall").input_type.full_name, "hindsight.recall.v1.RecallRequest")

    def test_a_run_is_judged_and_recalled(self):
        run = disk_alarm()
        request = collector_pb2.SubmitTrajectoryRequest(
            trajectory=run, consistency=collector_pb2.CONSISTENCY_INDEXED
        )
        answer = self.collector.SubmitTrajectory(request, timeout=LIMIT)
        self.assertEqual((answer.trace_id, answer.events), (run.trace_id, len(run.steps) + 2))

        found = self.memory.GetTrajectory(store_pb2.GetTrajectoryRequest(trace_id=run.trace_id), timeout=LIMIT)
        self.assertEqual(found.record.state, evaluation_pb2.EVALUATION_STATE_JUDGED)
        labels = [step.label for step in found.evaluation.steps]
        self.assertEqual(len(labels), len(run.steps))
        self.assertEqual(labels[3], evaluation_pb2.STEP_LABEL_FAILED)
        self.assertEqual(labels[4], evaluation_pb2.STEP_LABEL_NECESSARY)

        for query in ["disk alarm: /var is full on host db-3", "磁盘告警 /var"]:
            request = recall_pb2.RecallRequest(
                query=query,
                kinds=[memory_pb2.MEMORY_KIND_EXPERIENCE],
                environment=trajectory_pb2.Environment(tags=["bare-metal"]),
                strict=True,
            )
            answer = self.recall.Recall(request, timeout=LIMIT)
            traces = [item.memory.experience.trajectory.trace_id for item in answer.items]
            self.assertIn(run.trace_id, traces, f"{query}: {answer.empty_reason}")
            self.assertIn("audit.log.1", answer.block)
            receipt = self.recall.ExplainRecall(
                recall_pb2.ExplainRecallRequest(receipt_id=answer.receipt_id), timeout=LIMIT
            ).receipt
            self.assertEqual(receipt.query, query)

    def test_what_a_user_said_is_recalled_for_this_user_alone(self):
        user = f"user-{uuid.uuid4()}"
        request = collector_pb2.RetainRequest(
            user=user,
            content="My train to Lyon leaves on Friday at nine. 我周五去里昂",
            consistency=collector_pb2.CONSISTENCY_INDEXED,
        )
        kept = self.collector.Retain(request, timeout=LIMIT)

        def facts(who):
            request = recall_pb2.RecallRequest(
                query="When does my train to Lyon leave?", user=who, kinds=[memory_pb2.MEMORY_KIND_FACT], strict=True
            )
            answer = self.recall.Recall(request, timeout=LIMIT)
            return [item.memory.fact.memory_id for item in answer.items]

        self.assertIn(kept.memory_id, facts(user))
        self.assertEqual(facts("somebody else"), [])

    def test_a_recall_is_explained_and_reported_on(self):
        user = f"user-{uuid.uuid4()}"
        kept = self.collector.Retain(
            collector_pb2.RetainRequest(
                user=user,
                content="The spare key is under the blue flower pot. 备用钥匙在蓝色花盆下",
                consistency=collector_pb2.CONSISTENCY_INDEXED,
            ),
            timeout=LIMIT,
        )
        answer = self.recall.Recall(
            recall_pb2.RecallRequest(
                query="Where is the spare key?", user=user, time_zone="Europe/Paris", language="zh", strict=True
            ),
            timeout=LIMIT,
        )
        self.assertIn(kept.memory_id, [item.memory.fact.memory_id for item in answer.items], answer.empty_reason)

        report = recall_pb2.ReportOutcomeRequest(
            receipt_id=answer.receipt_id,
            user=user,
            trace_id=f"visit-{uuid.uuid4()}",
            outcome=outcome_pb2.OUTCOME_STATUS_SUCCESS,
            items=[
                recall_pb2.ReportedItem(memory_id=kept.memory_id, verdict=receipt_pb2.FEEDBACK_VERDICT_HELPFUL)
            ],
            note="found it",
        )
        for new_lines in (1, 0):
            said = self.recall.ReportOutcome(report, timeout=LIMIT)
            self.assertEqual((said.evidence, len(said.feedback)), (new_lines, 1))

        stranger = str(uuid.uuid4())
        explain = recall_pb2.ExplainRecallRequest(receipt_id=answer.receipt_id, user=user, expect=stranger)
        told = self.recall.ExplainRecall(explain, timeout=LIMIT)
        self.assertEqual(told.receipt.feedback[0].note, "found it")
        self.assertGreaterEqual(told.receipt.funnel.shortlisted, 1)
        self.assertEqual(told.expected.fate, recall_pb2.EXPECTED_FATE_NOT_FOUND)
        self.assertTrue(told.expected.remedy)

        report.items[0].memory_id = stranger
        with self.assertRaises(grpc.RpcError) as caught:
            self.recall.ReportOutcome(report, timeout=LIMIT)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)

    def test_a_batch_says_what_became_of_each(self):
        user = f"user-{uuid.uuid4()}"
        receipt = memory_pb2.Attachment(
            uri="s3://receipts/4711.pdf", media_type="application/pdf", caption="receipt of the coffee grinder"
        )
        turns = [
            dict(content="谢谢！"),
            dict(content="I prefer tea without sugar", speaker="Ann"),
            dict(content="The grinder came broken", attachments=[receipt], status=memory_pb2.FACT_STATUS_RESOLVED),
            dict(content="Thanks!", force=True),
            dict(content="x", attachments=[memory_pb2.Attachment(uri="javascript:alert(1)")]),
        ]
        facts = [
            collector_pb2.RetainRequest(
                user=user, session="talk", consistency=collector_pb2.CONSISTENCY_INDEXED, **turn
            )
            for turn in turns
        ]
        results = self.collector.RetainBatch(collector_pb2.RetainBatchRequest(facts=facts), timeout=LIMIT).results
        self.assertEqual([result.retained for result in results], [False, True, True, True, False])
        self.assertEqual(results[0].not_retained.reason, collector_pb2.NOT_RETAINED_REASON_THANKS)
        self.assertEqual(list(results[4].rejection.fields), ["attachments[0].uri"])

        request = store_pb2.GetMemoryRequest(
            memory_id=results[2].memory_id, kind=memory_pb2.MEMORY_KIND_FACT, user=user
        )
        fact = self.memory.GetMemory(request, timeout=LIMIT).memory.fact
        self.assertEqual((list(fact.attachments), fact.status), ([receipt], memory_pb2.FACT_STATUS_RESOLVED))
        self.assertEqual(fact.surroundings, "Ann: I prefer tea without sugar\nThanks!")
        request = recall_pb2.RecallRequest(
            query="the receipt of the coffee grinder", user=user, kinds=[memory_pb2.MEMORY_KIND_FACT], strict=True
        )
        found = [item.memory.fact.memory_id for item in self.recall.Recall(request, timeout=LIMIT).items]
        self.assertIn(results[2].memory_id, found)

    def test_events_are_acknowledged_by_sequence(self):
        trace = f"stream-{uuid.uuid4()}"
        steps = [trajectory_pb2.Step(step_index=i, **call("probe", f"port {i}", "open")) for i in range(6)]
        bodies = [dict(started=event_pb2.TaskStarted(goal="find the open ports"))]
        bodies += [dict(step=step) for step in steps]
        bodies += [dict(step=trajectory_pb2.Step(step_index=6))]  # No action type: refused, the rest goes on.
        bodies += [dict(completed=event_pb2.TaskCompleted(step_count=len(steps)))]
        events = (
            collector_pb2.RecordEventsRequest(sequence=i, trace_id=trace, **body)
            for i, body in enumerate(bodies, start=1)
        )
        answers = list(self.collector.RecordEvents(events, timeout=LIMIT))
        self.assertEqual(answers[-1].acknowledged_sequence, len(bodies))
        refused = [rejection for answer in answers for rejection in answer.rejections]
        self.assertEqual([rejection.sequence for rejection in refused], [8])
        self.assertTrue(any("action_type" in field for field in refused[0].fields), refused)

    def test_a_long_run_of_small_events_is_one_stream_beside_a_watch(self):
        trace = f"long-{uuid.uuid4()}"
        watched, heard = queue.Queue(), 0
        watched.put(watch_pb2.WatchRequest(sequence=1, start=watch_pb2.WatchStart()))
        answers = self.recall.Watch(iter(watched.get, None), timeout=LIMIT)
        self.assertEqual(next(answers).in_reply_to, 1)
        bodies = [dict(started=event_pb2.TaskStarted(goal="count"))]
        bodies += [dict(step=trajectory_pb2.Step(step_index=i, **call("f", "", "r"))) for i in range(4_998)]
        bodies += [dict(completed=event_pb2.TaskCompleted(step_count=4_998))]
        events = (
            collector_pb2.RecordEventsRequest(sequence=i, trace_id=trace, **body)
            for i, body in enumerate(bodies, start=1)
        )
        acknowledged, rejections = 0, []
        for answer in self.collector.RecordEvents(events, timeout=LIMIT):
            acknowledged = answer.acknowledged_sequence
            rejections += answer.rejections
            heard += 1
            watched.put(watch_pb2.WatchRequest(sequence=heard + 1, before_call=watch_pb2.BeforeCall(tool="f")))
            self.assertEqual(next(answers).in_reply_to, heard + 1)
        self.assertEqual((acknowledged, rejections), (5_000, []))
        self.assertGreater(heard, 0)
        watched.put(None)
        self.assertEqual(list(answers), [], "the watch ends in order")

    def test_a_mistake_is_explained_field_by_field(self):
        run = disk_alarm()
        run.task_description = ""
        run.steps[2].action_name = ""
        with self.assertRaises(grpc.RpcError) as caught:
            self.collector.SubmitTrajectory(collector_pb2.SubmitTrajectoryRequest(trajectory=run), timeout=LIMIT)
        status = rpc_status.from_call(caught.exception)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        infos = [detail for detail in status.details if detail.Unpack(info)]
        self.assertEqual(len(infos), 1)
        self.assertEqual((info.reason, info.domain), ("INVALID_FIELDS", "hindsight.collector"))
        self.assertEqual(sum(detail.Unpack(bad) for detail in status.details), 1)
        fields = [violation.field for violation in bad.field_violations]
        self.assertTrue(any("task_description" in field for field in fields), fields)
        self.assertTrue(any("steps[2].action_name" in field for field in fields), fields)


if __name__ == "__main__":
    unittest.main(verbosity=2)
