"""Agents of different make do the same task twice. Each leaves the same kind of run, is given on the second what the
first has learned, and is warned before it repeats the call that failed. Every road has a server of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, List

from hindsight_client import Client
from roads_task import CALLS, CONCLUSION, ERROR, GOAL, answer
from support import LIMIT, until, warned_of

BIN = os.environ["HINDSIGHT_BIN"]
HERE = Path(__file__).parent

@dataclass
class Seen:
    """What an agent was given in one run of the task."""

    experience: str = ""
    """What was placed before it at the start."""
    warnings: List[str] = field(default_factory=list)
    """What was said of calls."""


class Server:
    """A server of its own that warns of what one run has seen."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hindsight-roads-"))
        self.log = (self.folder / "serve.log").open("wb")
        self.process = subprocess.Popen(
            [BIN, "serve", "--listen", "127.0.0.1:0", "--data-dir", self.folder / "data"],
            stderr=self.log,
            env={**os.environ, "HINDSIGHT__WATCH__MIN_TIMES": "1", "HINDSIGHT__LOG__FORMAT": "json"},
        )
        self.url = until("the server starts", self._serving)

    def _serving(self) -> str:
        said = (self.folder / "serve.log").read_text()
        if self.process.poll() is not None:
            raise AssertionError(f"the server does not start:\n{said}")
        found = re.search(r"^serving .* at (http://\S+)", said, re.MULTILINE)
        return found.group(1) if found else ""

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LIMIT)
        self.log.close()
        shutil.rmtree(self.folder)


class Road:
    """One test per road. A road says how an agent of its make does the task."""

    server: Server
    client: Client

    def act(self) -> Seen:
        raise NotImplementedError

    def setUp(self) -> None:
        self.server = Server()
        self.addCleanup(self.server.close)  # type: ignore[attr-defined]
        self.client = Client(self.server.url, timeout=LIMIT)
        self.addCleanup(self.client.close)  # type: ignore[attr-defined]

    def runs(self) -> List[Any]:
        """The runs that are judged whole."""
        listed = self.client.call("memory.v1.MemoryService", "ListMemories", {"kind": EXPERIENCE})
        runs = [memory.experience.trajectory for memory in listed.memories]
        return [run for run in runs if len(tool_calls(run)) == len(CALLS)]

    def command(self, *arguments: str, said: str = "") -> str:
        """What a command of the server's says."""
        done = subprocess.run(
            [BIN, *arguments, "--server", self.server.url], input=said, stdout=subprocess.PIPE, text=True, timeout=LIMIT
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout}"
        return done.stdout

    def test_road(self) -> None:
        check: Any = self
        first = self.act()
        check.assertEqual((first.experience, first.warnings), ("", []), "nothing is known yet")
        (run,) = until("the first run is judged", self.runs)
        check.assertEqual(run.task_description, GOAL)
        calls = tool_calls(run)
        left = [(step.action_name, step.status == FAILED) for step in calls]
        check.assertEqual(left, [(tool, failed) for tool, _, _, failed in CALLS])
        for step, (_, arguments, output, _) in zip(calls, CALLS):
            check.assertEqual(json.loads(step.action_detail), arguments)
            # What is seen again is kept once.
            if not step.observation.startswith("same as step"):
                check.assertIn(output, step.observation)
        check.assertIn(ERROR, calls[0].observation)

        warned_of(self.client, *CALLS[0][:2])
        second = self.act()
        check.assertIn("billing-api", second.experience, "the experience of the first run")
        warned = [warning for warning in second.warnings if ERROR in warning]
        check.assertTrue(warned, f"a warning of the call that failed, among {second.warnings}")


EXPERIENCE, TOOL_CALL, FAILED = 2, 1, 2


def tool_calls(run: Any) -> List[Any]:
    return [step for step in run.steps if step.action_type == TOOL_CALL]


class LangChain(Road, unittest.TestCase):
    """An agent written with LangChain, with the callback handler and the middleware."""

    def act(self) -> Seen:
        from hindsight_client.langchain import HindsightCallbackHandler, HindsightMiddleware
        from langchain.agents import create_agent
        from langchain.agents.middleware import wrap_tool_call
        from langchain.tools import tool
        from langchain_core.messages import HumanMessage, ToolMessage
        from test_langchain import Scripted

        @tool
        def restart_service(name: str) -> str:
            """Restarts a service."""
            output, failed = answer("restart_service", {"name": name})
            if failed:
                raise RuntimeError(output)
            return output

        @tool
        def list_services(pattern: str) -> str:
            """Lists services."""
            return answer("list_services", {"pattern": pattern})[0]

        @wrap_tool_call
        def errors_as_messages(request: Any, handler: Any) -> Any:
            try:
                return handler(request)
            except RuntimeError as error:
                return ToolMessage(str(error), tool_call_id=request.tool_call["id"], status="error")

        model = Scripted(script=[*((tool, args) for tool, args, _, _ in CALLS), CONCLUSION], seen=[])
        memory = HindsightMiddleware(self.client, timeout=LIMIT)
        agent = create_agent(model, [restart_service, list_services], middleware=[memory, errors_as_messages])
        handler = HindsightCallbackHandler(self.client)
        agent.invoke({"messages": [HumanMessage(GOAL)]}, {"callbacks": [handler]})
        self.client.flush(LIMIT)
        before = [m.content for m in model.seen[0][:-1]]
        results = [m.content for m in model.seen[-1] if isinstance(m, ToolMessage)]
        outputs = [output for _, _, output, _ in CALLS]
        warnings = [result[len(output) :] for result, output in zip(results, outputs) if result != output]
        return Seen("\n".join(before), warnings)


class McpProxy(Road, unittest.TestCase):
    """An MCP client that has the proxy between itself and the server of its tools, and the memory as another server."""

    def act(self) -> Seen:
        return asyncio.run(self._act())

    async def _act(self) -> Seen:
        from mcp import Client as Mcp, StdioServerParameters

        path = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
        about = ["--server", self.server.url, "--mode", "annotate", "--goal", GOAL, "--patience", "30s"]
        tools = [sys.executable, "-B", str(HERE / "roads_mcp_server.py")]
        proxy = StdioServerParameters(command=BIN, args=["mcp-proxy", *about, "--", *tools], env=path)
        memory = StdioServerParameters(command=BIN, args=["mcp", "--server", self.server.url])
        seen = Seen()
        async with Mcp(memory) as client:
            recalled = await client.call_tool("recall_experience", {"task": GOAL})
            text = "\n".join(part.text for part in recalled.content if part.type == "text")
            assert not recalled.is_error, text
            seen.experience = text if "<hindsight-memory" in text else ""
        async with Mcp(proxy) as client:
            for tool, arguments, output, failed in CALLS:
                result = await client.call_tool(tool, arguments)
                said = [part.text for part in result.content if part.type == "text"]
                assert result.is_error == failed and output in said[0], said
                seen.warnings += said[1:]
        return seen


class OpenTelemetry(Road, unittest.TestCase):
    """A process that exports its spans by the GenAI conventions, and asks the memory over gRPC."""

    def act(self) -> Seen:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace import Status, StatusCode

        provider = TracerProvider(resource=Resource.create({"service.name": "operations"}))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{self.server.url}/v1/traces")))
        tracer = provider.get_tracer("agent")
        seen = Seen(experience=self.client.recall(GOAL).block)
        with self.client.watch(timeout=LIMIT) as watch, tracer.start_as_current_span("invoke_agent") as agent:
            agent.set_attribute("gen_ai.operation.name", "invoke_agent")
            agent.set_attribute("gen_ai.input.messages", json.dumps([_message("user", GOAL)]))
            for tool, arguments, output, failed in CALLS:
                reminder = watch.before_call(tool, arguments)
                seen.warnings += [reminder.block] if reminder else []
                with tracer.start_as_current_span(f"execute_tool {tool}") as span:
                    span.set_attribute("gen_ai.operation.name", "execute_tool")
                    span.set_attribute("gen_ai.tool.name", tool)
                    span.set_attribute("gen_ai.tool.call.arguments", json.dumps(arguments))
                    if failed:
                        span.record_exception(RuntimeError(output))
                        span.set_status(Status(StatusCode.ERROR, output))
                    else:
                        span.set_attribute("gen_ai.tool.call.result", output)
            agent.set_attribute("gen_ai.output.messages", json.dumps([_message("assistant", CONCLUSION)]))
        provider.shutdown()
        return seen


def _message(role: str, text: str) -> dict:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


class ClaudeCode(Road, unittest.TestCase):
    """A session file that grows while it is followed, and commands such as hooks run them."""

    def setUp(self) -> None:
        super().setUp()
        self.sessions = self.server.folder / "sessions"
        self.sessions.mkdir()
        state = str(self.server.folder / "state.json")
        follow = [BIN, "import", "--watch", str(self.sessions), "--state", state, "--idle", "3s", "--server", self.server.url]
        self.following = subprocess.Popen(follow, stdout=subprocess.DEVNULL)
        self.addCleanup(self.following.wait, LIMIT)
        self.addCleanup(self.following.send_signal, signal.SIGTERM)

    def act(self) -> Seen:
        block = self.command("recall", GOAL)
        seen = Seen(experience=block if "<hindsight-memory" in block else "")
        session = str(uuid.uuid4())
        with (self.sessions / f"{session}.jsonl").open("w") as file:

            def write(role: str, content: Any, **more: Any) -> None:
                at = datetime.now(timezone.utc).isoformat().replace("+00:00", "Z")
                about = dict(type=role, sessionId=session, uuid=str(uuid.uuid4()), timestamp=at, cwd="/srv")
                file.write(json.dumps({**about, "message": {"role": role, "content": content, **more}}) + "\n")
                file.flush()

            write("user", GOAL)
            for number, (tool, arguments, output, failed) in enumerate(CALLS):
                hook = {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": arguments}
                said = self.command("watch", said=json.dumps(hook) + "\n")
                seen.warnings += [said] if said.strip() else []
                call = f"toolu_{number}"
                use = {"type": "tool_use", "id": call, "name": tool, "input": arguments}
                write("assistant", [use], stop_reason="tool_use")
                result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}
                write("user", [result])
            write("assistant", [{"type": "text", "text": CONCLUSION}], stop_reason="end_turn")
        return seen


if __name__ == "__main__":
    unittest.main(verbosity=2)
