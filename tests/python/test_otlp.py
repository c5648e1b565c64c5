"""Traces of the OpenTelemetry SDK for Python, and of real instrumentations around a scripted model, sent to a running
server at HINDSIGHT_ADDRESS over gRPC, HTTP/protobuf and HTTP/JSON. The server waits a second for late spans."""

import base64
import gzip
import http.server
import json
import os
import threading
import time
import unittest
import urllib.error
import urllib.request
import uuid

import grpc
from google.protobuf.json_format import MessageToDict
from google.rpc import status_pb2
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

from hindsight.common.v1 import evaluation_pb2, trajectory_pb2
from hindsight.memory.v1 import memory_pb2, memory_service_pb2_grpc

ADDRESS = os.environ["HINDSIGHT_ADDRESS"]
TRACES = f"http://{ADDRESS}/v1/traces"
LIMIT = 60
GOAL = "Which service fills the disk of db-3? 哪个服务写满了磁盘"
CALLS = [
    ("df", {"path": "/var"}, "/var is 98% full", None),
    ("du", {"path": "/var"}, "61G /var/log/audit", None),
    ("rm", {"path": "/var/log"}, None, "Is a directory"),
    ("truncate", {"path": "/var/log/audit/audit.log"}, "done", None),
    ("df", {"path": "/var"}, "/var is 31% full", None),
    ("ls", {"path": "/var/log"}, "audit", None),
]


def until(what, look):
    """What `look` gives as soon as it gives something."""
    end = time.monotonic() + LIMIT
    while not (found := look()):
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.1)
    return found


def post(body, content_type, **headers):
    """Answers with status, headers and body, also when it is refused."""
    request = urllib.request.Request(TRACES, body, {"content-type": content_type, **headers})
    try:
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers, refused.read()


def message(role, text):
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def work(provider, user):
    """An agent at work, as the GenAI conventions tell it. Gives the trace id."""
    tracer = provider.get_tracer("agent")
    with tracer.start_as_current_span("invoke_agent operator") as agent:
        agent.set_attributes({
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "operator", "user.id": user,
            "gen_ai.conversation.id": "talk-7", "gen_ai.input.messages": json.dumps([message("user", GOAL)]),
        })
        for at, (tool, arguments, result, error) in enumerate(CALLS):
            with tracer.start_as_current_span("chat m") as chat:
                wish = {"type": "tool_call", "id": f"call_{at}", "name": tool, "arguments": arguments}
                chat.set_attributes({
                    "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 10,
                    "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [wish]}]),
                })
            with tracer.start_as_current_span(f"execute_tool {tool}") as span:
                span.set_attributes({
                    "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool,
                    "gen_ai.tool.call.id": f"call_{at}", "gen_ai.tool.call.arguments": json.dumps(arguments),
                })
                if error:
                    span.record_exception(OSError(error))
                    span.set_status(Status(StatusCode.ERROR, error))
                else:
                    span.set_attribute("gen_ai.tool.call.result", result)
            with tracer.start_as_current_span("GET /health") as web:
                web.set_attribute("http.request.method", "GET")
        agent.set_attribute("gen_ai.output.messages", json.dumps([message("assistant", "auditd; 磁盘 31%")]))
        return f"{agent.get_span_context().trace_id:032x}"


def provider(*processors):
    made = TracerProvider(resource=Resource.create({"service.name": "operations", "k8s.pod.name": "agent-1"}))
    for processor in processors:
        made.add_span_processor(processor)
    return made


def recorded(user):
    """The spans of an agent at work, and their trace id."""
    memory = InMemorySpanExporter()
    trace = work(provider(SimpleSpanProcessor(memory)), user)
    return memory.get_finished_spans(), trace


class Otlp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.channel = grpc.insecure_channel(ADDRESS)
        cls.memory = memory_service_pb2_grpc.MemoryServiceStub(cls.channel)
        cls.addClassCleanup(cls.channel.close)

    def setUp(self):
        self.user = f"ann-{uuid.uuid4()}"

    def found(self, trace, user=None, judged=False):
        """The run of a trace once it is there; `None` before."""
        request = memory_pb2.GetTrajectoryRequest(trace_id=trace, user=user or self.user)
        try:
            answer = self.memory.GetTrajectory(request, timeout=LIMIT)
        except grpc.RpcError as error:
            self.assertEqual(error.code(), grpc.StatusCode.NOT_FOUND, error)
            return None
        done = answer.record.state == evaluation_pb2.EVALUATION_STATE_JUDGED or not judged
        return answer.trajectory if answer.HasField("trajectory") and done else None

    def check(self, run):
        self.assertEqual(run.task_description, GOAL)
        self.assertEqual((run.session, run.agent, run.user), ("talk-7", "operator", self.user))
        self.assertEqual(run.outcome.conclusion, "auditd; 磁盘 31%")
        self.assertEqual(list(run.environment.tags), ["k8s"])
        self.assertEqual(run.environment.attributes["input_tokens"], "60")
        called = [(s.action_name, json.loads(s.action_detail), s.observation) for s in run.steps]
        self.assertEqual(called, [(tool, args, result or f"OSError: {error}") for tool, args, result, error in CALLS])
        failed = [s.action_name for s in run.steps if s.status == trajectory_pb2.STEP_STATUS_ERROR]
        self.assertEqual(failed, ["rm"])

    def test_grpc_of_the_sdk(self):
        exporter = GrpcExporter(f"http://{ADDRESS}", insecure=True, compression=grpc.Compression.Gzip)
        traced = provider(BatchSpanProcessor(exporter))
        trace = work(traced, self.user)
        traced.shutdown()
        self.check(until("the run is judged", lambda: self.found(trace, judged=True)))

    def test_http_of_the_sdk(self):
        traced = provider(BatchSpanProcessor(HttpExporter(TRACES, compression=Compression.Gzip)))
        trace = work(traced, self.user)
        traced.shutdown()
        self.check(until("the run is judged", lambda: self.found(trace, judged=True)))

    def test_json(self):
        spans, trace = recorded(self.user)
        export = MessageToDict(encode_spans(spans))
        for resource in export["resourceSpans"]:
            for span in (s for scope in resource["scopeSpans"] for s in scope["spans"]):
                for key in {"traceId", "spanId", "parentSpanId"} & span.keys():
                    span[key] = base64.b64decode(span[key]).hex()
                # As the JSON encoding of OTLP wants enumerations.
                span["kind"] = 1
        body = gzip.compress(json.dumps(export).encode())
        status, headers, answer = post(body, "application/json", **{"content-encoding": "gzip"})
        self.assertEqual((status, headers["content-type"], json.loads(answer)), (200, "application/json", {}))
        self.check(until("the run is judged", lambda: self.found(trace, judged=True)))

    def test_order_and_split_and_repetition_change_nothing(self):
        spans, trace = recorded(self.user)
        exporter = HttpExporter(TRACES)
        # The root first, the others one by one from the last, and some again.
        root = [s for s in spans if s.parent is None]
        for part in [root, *([s] for s in reversed(spans)), spans[:3]]:
            exporter.export(part)
        # Spans of the model make no step, and come as late as any.
        whole = lambda r: len(r.steps) == len(CALLS) and r.environment.attributes.get("input_tokens") == "60"  # noqa: E731
        self.check(until("all spans are there", lambda: (r := self.found(trace)) and whole(r) and r))

    def test_a_span_that_comes_after_the_run_was_judged(self):
        spans, trace = recorded(self.user)
        late = next(s for s in spans if s.name == "execute_tool ls")
        exporter = GrpcExporter(f"http://{ADDRESS}", insecure=True)
        exporter.export([s for s in spans if s is not late])
        first = until("the run is judged", lambda: self.found(trace, judged=True))
        self.assertEqual(first.steps[5].observation, "", "the model wanted the call; what came of it is not known")
        exporter.export([late])
        look = lambda: (r := self.found(trace, judged=True)) and r.steps[5].observation and r  # noqa: E731
        self.check(until("the run is judged again", look))

    def test_answers_to_what_is_wrong(self):
        status, headers, body = post(b"{", "application/json")
        told = json.loads(body)
        self.assertEqual((status, told["code"], headers["retry-after"]), (400, 3, None))
        self.assertEqual(told["details"][0]["reason"], "JSON_MALFORMED")
        status, _, body = post(b"\xff", "application/x-protobuf")
        self.assertEqual((status, status_pb2.Status.FromString(body).code), (400, 3))
        self.assertEqual(post(b"{}", "text/plain")[0], 415)
        bad = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "zz", "spanId": "01"}]}]}]}
        status, _, body = post(json.dumps(bad).encode(), "application/json")
        self.assertEqual((status, json.loads(body)["partialSuccess"]["rejectedSpans"]), (200, "1"))
        other = urllib.request.Request(TRACES.replace("traces", "metrics"), b"{}", {"content-type": "application/json"})
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(other, timeout=LIMIT)
        self.assertEqual(refused.exception.code, 404)


class Model(http.server.BaseHTTPRequestHandler):
    """An OpenAI-compatible model that asks for a tool until it was told what came of it."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answered = any(m["role"] == "tool" for m in asked["messages"])
        call = {"id": "call_a", "type": "function", "function": {"name": "disk", "arguments": '{"host": "db-3"}'}}
        said = {"role": "assistant", "content": "db-3 is full"} if answered else {"role": "assistant", "content": None, "tool_calls": [call]}
        body = json.dumps({
            "id": "c", "object": "chat.completion", "created": 1, "model": "scripted",
            "choices": [{"index": 0, "message": said, "finish_reason": "stop" if answered else "tool_calls"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
        }).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Instrumentations(unittest.TestCase):
    """An agent that calls OpenAI's own client, traced by others' instrumentations; its tool is not traced."""

    def setUp(self):
        self.model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
        threading.Thread(target=self.model.serve_forever, daemon=True).start()
        self.addCleanup(self.model.server_close)
        self.addCleanup(self.model.shutdown)

    def act(self, instrumentor):
        import openai

        traced = provider(BatchSpanProcessor(HttpExporter(TRACES)))
        instrumentor.instrument(tracer_provider=traced)
        self.addCleanup(instrumentor.uninstrument)
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{self.model.server_port}/v1", api_key="none")
        messages = [{"role": "system", "content": "You operate."}, {"role": "user", "content": GOAL}]
        with traced.get_tracer("agent").start_as_current_span("task") as root:
            for _ in range(2):
                answer = client.chat.completions.create(model="scripted", messages=messages).choices[0].message
                messages.append(answer.model_dump(exclude_none=True))
                for call in answer.tool_calls or []:
                    messages.append({"role": "tool", "tool_call_id": call.id, "content": "98% full"})
        traced.shutdown()
        client.close()
        trace = f"{root.get_span_context().trace_id:032x}"
        channel = grpc.insecure_channel(ADDRESS)
        self.addCleanup(channel.close)
        memory = memory_service_pb2_grpc.MemoryServiceStub(channel)

        def found():
            try:
                answer = memory.GetTrajectory(memory_pb2.GetTrajectoryRequest(trace_id=trace), timeout=LIMIT)
            except grpc.RpcError:
                return None
            return answer.trajectory if answer.HasField("trajectory") else None

        run = until("the run is there", found)
        self.assertEqual(run.task_description, GOAL)
        call, said = run.steps
        self.assertEqual((call.action_name, json.loads(call.action_detail)), ("disk", {"host": "db-3"}))
        self.assertEqual((call.observation, said.action_detail), ("98% full", "db-3 is full"))
        self.assertEqual(run.outcome.conclusion, "db-3 is full")
        self.assertEqual(run.environment.attributes["model"], "scripted")
        self.assertEqual(run.environment.attributes["input_tokens"], "6")

    def test_openllmetry(self):
        from opentelemetry.instrumentation.openai import OpenAIInstrumentor

        self.act(OpenAIInstrumentor())

    def test_openinference(self):
        from openinference.instrumentation.openai import OpenAIInstrumentor

        self.act(OpenAIInstrumentor())


if __name__ == "__main__":
    unittest.main()
