"""Agents of different make do the same task twice. Each leaves the same kind of run, is given on the second what the
first has learned, and is warned before it repeats the call that failed. Every road has a server of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import unittest
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, List, Tuple

from hindsight_client import Client
from support import LIMIT, until

GOAL = "The billing service does not answer: restart it. 重启计费服务"
ERROR = "unit billing.service not found"
CALLS: "List[Tuple[str, dict, str, bool]]" = [
    ("restart_service", {"name": "billing"}, ERROR, True),
    ("restart_service", {"name": "billing"}, ERROR, True),
    ("restart_service", {"name": "billing"}, ERROR, True),
    ("list_services", {"pattern": "bill*"}, "billing-api.service loaded active", False),
    ("restart_service", {"name": "billing-api"}, "billing-api.service restarted", False),
]
"""What the agent calls: the tool, its arguments, what comes back, and whether it failed."""
CONCLUSION = "billing-api is healthy again"


def answer(tool: str, arguments: dict) -> "Tuple[str, bool]":
    """What a call gives, and whether it failed."""
    return next((output, failed) for name, args, output, failed in CALLS if (name, args) == (tool, arguments))


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
            [os.environ["HINDSIGHT_BIN"], "serve", "--listen", "127.0.0.1:0", "--data-dir", self.folder / "data"],
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
        subprocess.run(["rm", "-rf", self.folder], check=True)


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
        """The runs that are judged."""
        listed = self.client.call("memory.v1.MemoryService", "ListMemories", {"kind": 2})
        return [memory.experience.trajectory for memory in listed.memories]

    def test_road(self) -> None:
        check: Any = self
        first = self.act()
        check.assertEqual((first.experience, first.warnings), ("", []), "nothing is known yet")
        (run,) = until("the first run is judged", self.runs)
        check.assertEqual(run.task_description, GOAL)
        calls = [step for step in run.steps if step.action_type == 1]
        left = [(step.action_name, step.status == 2) for step in calls]
        check.assertEqual(left, [(tool, failed) for tool, _, _, failed in CALLS])
        check.assertIn(ERROR, calls[0].observation)

        second = self.act()
        check.assertIn("billing-api", second.experience, "the experience of the first run")
        warned = [warning for warning in second.warnings if ERROR in warning]
        check.assertTrue(warned, f"a warning of the call that failed, among {second.warnings}")


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


if __name__ == "__main__":
    unittest.main(verbosity=2)
