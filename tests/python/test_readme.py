"""What the READMEs of proto/ and clients/python say: Python is run and grpcurl's messages are sent to the server at
HINDSIGHT_ADDRESS; Go is held against the schema."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
import unittest
from pathlib import Path
from typing import Any, Iterator, List, Set, Tuple

import grpc
from google.protobuf import json_format

from hindsight_client import Client, NotFound, _schema

ROOT = Path(__file__).parents[2]
ADDRESS = os.environ["HINDSIGHT_ADDRESS"]
PROTO = ROOT / "proto" / "README.md"
PACKAGE = ROOT / "clients" / "python" / "README.md"


def blocks(file: Path, language: str) -> List[str]:
    found = re.findall(rf"```{language}\n(.*?)```", file.read_text(), re.DOTALL)
    return [block.replace("127.0.0.1:7411", ADDRESS) for block in found]


def grpcurl() -> "Iterator[Tuple[str, str, List[dict], str]]":
    """Service, method, messages and the whole command of each call."""
    for block in blocks(PROTO, "sh"):
        for command in re.findall(r"^grpcurl .*?(?=^$|\Z)", block, re.MULTILINE | re.DOTALL):
            service, method = re.search(r"(hindsight\.[\w.]+)/(\w+)", command).groups()
            inline = re.search(r"-d '(.*?)'", command)
            lines = [inline.group(1)] if inline else re.findall(r"^\{.*\}$", command, re.MULTILINE)
            yield service, method, [json.loads(line) for line in lines], command


class Readme(unittest.TestCase):
    def test_python_runs(self) -> None:
        (plain,) = blocks(PROTO, "python")
        first, *others = blocks(PACKAGE, "python")
        watch = next(block for block in others if "client.watch(" in block)
        steps = next(block for block in others if "record_step" in block)
        exec(compile(plain, "README", "exec"), {})
        said: "dict[str, Any]" = {}
        exec(compile(first, "README", "exec"), said)
        self.assertTrue(_is_judged(said["task"]), "the example teaches something")
        client = first[: first.index("with client.task")]
        exec(compile(f"{client}\n{watch}", "README", "exec"), {})
        indented = "\n".join(f"    {line}" for line in steps.splitlines())
        exec(compile(f"import asyncio\n{client}\nasync def main():\n{indented}\nasyncio.run(main())", "README", "exec"), {})

    def test_grpcurl_says_what_the_schema_knows(self) -> None:
        calls = list(grpcurl())
        self.assertEqual([method for _, method, _, _ in calls], ["Recall", "Retain", "RecordEvents", "Watch"])
        with grpc.insecure_channel(ADDRESS) as channel:
            for service, name, messages, command in calls:
                called = _schema.method(service[len("hindsight.") :], name)
                request = _schema.message(called.input_type.full_name[len("hindsight.") :])
                answer = _schema.message(called.output_type.full_name[len("hindsight.") :])
                self.assertTrue(messages, command)
                requests = [json_format.ParseDict(m, request()) for m in messages]
                stream = called.client_streaming
                call = getattr(channel, "stream_stream" if stream else "unary_unary")(
                    f"/{service}/{name}",
                    request_serializer=lambda r: r.SerializeToString(),
                    response_deserializer=answer.FromString,
                )
                if not stream:
                    call(requests[0], timeout=60)
                    continue
                answers = list(call(iter(requests), timeout=60))
                if name == "RecordEvents":
                    self.assertEqual(answers[-1].acknowledged_sequence, len(requests))
                    self.assertFalse([r for a in answers for r in a.rejections])
                else:
                    self.assertEqual([a.in_reply_to for a in answers], [r.sequence for r in requests])
                    self.assertNotIn("rejection", [a.WhichOneof("said") for a in answers])

    @unittest.skipUnless(shutil.which("grpcurl"), "grpcurl is not to be had; its messages are checked without it")
    def test_grpcurl_runs(self) -> None:
        for _, name, _, command in grpcurl():
            done = subprocess.run(["bash", "-c", command], timeout=60, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, f"{name}: {done.stdout.decode()}")

    def test_go_names_what_the_schema_has(self) -> None:
        (code,) = blocks(PROTO, "go")
        names, fields = _go_names()
        for package, name in re.findall(r"\b(\w+v1)\.(\w+)", code):
            self.assertIn(name, names[package], package)
        for line in (line for line in code.splitlines() if "v1." in line or re.match(r"\s+[A-Z]\w+:", line)):
            for field in re.findall(r"\b([A-Z]\w+):", line):
                self.assertIn(field, fields, line)
        for field in re.findall(r"\.Get(\w+)\(\)", code):
            self.assertIn(field, fields)


def _is_judged(task: Any) -> bool:
    """Whether a run was worth judging."""
    waiting, judged = 1, 2
    end = time.monotonic() + 60
    with Client(f"http://{ADDRESS}") as client:
        while time.monotonic() < end:
            try:
                found = client.call("memory.v1.MemoryService", "GetTrajectory", dict(trace_id=task.trace_id, user=task.user))
            except NotFound:
                found = None
            if found is not None and found.record.state > waiting:
                return bool(found.record.state == judged)
            time.sleep(0.1)
    raise AssertionError(f"the run {task.trace_id} is neither judged nor left")


def _go_names() -> "Tuple[dict[str, Set[str]], Set[str]]":
    """The names that protoc-gen-go makes, by package, and those of fields."""
    names: "dict[str, Set[str]]" = {}
    fields: Set[str] = {"Body"}

    def camel(name: str) -> str:
        return "".join(part[:1].upper() + part[1:] for part in name.split("_"))

    for file in _schema._files.file:
        if not file.package.startswith("hindsight."):
            continue
        area, version = file.package.split(".")[1:]
        known = names.setdefault(area + version, set())
        known.update(f"New{service.name}Client" for service in file.service)
        known.update(f"{enum.name}_{value.name}" for enum in file.enum_type for value in enum.value)
        known.update(enum.name for enum in file.enum_type)
        for message in file.message_type:
            known.add(message.name)
            known.update(f"{message.name}_{camel(f.name)}" for f in message.field if f.HasField("oneof_index"))
            fields.update(camel(f.name) for f in message.field)
    return names, fields


if __name__ == "__main__":
    unittest.main(verbosity=2)
