"""The MCP server and proxy of HINDSIGHT_BIN with the official client, against a running server at HINDSIGHT_ADDRESS.

MCP servers and the inspector of npm are found in HINDSIGHT_MCP_NODE; without, what needs them is skipped.
"""

import asyncio
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

import grpc
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from hindsight.common.v1 import memory_pb2
from hindsight.memory.v1 import memory_pb2 as store_pb2, memory_service_pb2_grpc

BIN = os.environ["HINDSIGHT_BIN"]
SERVER = "http://" + os.environ["HINDSIGHT_ADDRESS"]
NODE = os.environ.get("HINDSIGHT_MCP_NODE")
HERE = pathlib.Path(__file__).parent
DEPLOY = [sys.executable, str(HERE / "mcp_deploy_server.py")]
LIMIT = 90


def stdio(command, **other):
    return StdioServerParameters(command=command[0], args=command[1:], **other)


def memory_server(*arguments):
    return [BIN, "mcp", "--server", SERVER, *arguments]


def proxied(command, *arguments, server=SERVER):
    return [BIN, "mcp-proxy", "--server", server, *arguments, "--", *command]


def texts(result):
    return [item.text for item in result.content if item.type == "text"]


def needs_node(name):
    path = pathlib.Path(NODE or "/nowhere") / "node_modules" / ".bin" / name
    return unittest.skipUnless(path.exists(), f"{name} of npm is not to be had")


def node(name):
    return str(pathlib.Path(NODE) / "node_modules" / ".bin" / name)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.asynccontextmanager
async def running(command, word, **other):
    """A process whose standard error says where it serves, in a line with `word`; the address."""
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE, **other)
    try:
        while word not in (line := (await asyncio.wait_for(process.stderr.readline(), LIMIT)).decode()):
            assert line, f"{command} ended"
        drain = asyncio.create_task(process.stderr.read())
        yield line[line.index(word) + len(word) :].split()[0]
        drain.cancel()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await asyncio.wait_for(process.wait(), LIMIT)


async def reached(url):
    """Waits until something answers there."""
    async with httpx2.AsyncClient() as client:
        for _ in range(LIMIT * 10):
            with contextlib.suppress(httpx2.TransportError):
                await client.get(url, timeout=2)
                return
            await asyncio.sleep(0.1)
    raise AssertionError(f"{url} is not reached")


class MemoryServer(unittest.IsolatedAsyncioTestCase):
    async def talk(self, client):
        """All that the server offers, in one conversation."""
        user = f"anna-{uuid.uuid4()}"
        tools = {t.name: t for t in (await client.list_tools()).tools}
        self.assertEqual(set(tools), {"recall_experience", "recall_user_memory", "retain", "report_outcome", "explain"})
        self.assertIn("user", tools["retain"].input_schema["required"])
        self.assertIn("recall_experience", client.instructions)

        kept = await client.call_tool("retain", {"user": user, "content": "Anna takes oat milk in her coffee. 燕麦奶"})
        self.assertFalse(kept.is_error, kept)
        memory = texts(kept)[0].removeprefix("Kept as ").removesuffix(".")
        greeting = await client.call_tool("retain", {"user": user, "content": "hello!"})
        self.assertIn("Not kept", texts(greeting)[0])

        found = await client.call_tool("recall_user_memory", {"user": user, "question": "milk in the coffee?"})
        block, names = texts(found)
        self.assertIn("oat milk", block)
        self.assertIn(memory, names)
        receipt = names.split()[1]
        said = {"receipt_id": receipt, "user": user, "helpful": [memory], "outcome": "success"}
        self.assertIn("1", texts(await client.call_tool("report_outcome", said))[0])
        told = await client.call_tool("explain", {"receipt_id": receipt, "user": user, "expected_memory_id": memory})
        told = json.loads(texts(told)[0])
        self.assertEqual(told["receipt"]["injected"][0]["memory_id"], memory)
        self.assertEqual(told["receipt"]["feedback"][0]["verdict"], "FEEDBACK_VERDICT_HELPFUL")

        stranger = await client.call_tool("recall_user_memory", {"user": f"x-{user}", "question": "milk in the coffee?"})
        self.assertTrue(texts(stranger)[0].startswith("Nothing relevant is remembered"), stranger)
        wrong = await client.call_tool("report_outcome", {"receipt_id": str(uuid.uuid4()), "helpful": [memory]})
        self.assertTrue(wrong.is_error)

        templates = (await client.list_resource_templates()).resource_templates
        self.assertEqual({t.uri_template.split("/")[2] for t in templates}, {"lessons", "trajectories"})
        with self.assertRaises(MCPError):
            await client.read_resource("hindsight://lessons/none")
        prompts = (await client.list_prompts()).prompts
        self.assertEqual([p.name for p in prompts], ["begin_task"])
        prompt = await client.get_prompt("begin_task", {"task": "make a coffee", "user": user})
        self.assertIn("make a coffee", prompt.messages[-1].content.text)

    async def test_over_stdio(self):
        for mode in ["auto", "legacy"]:
            with self.subTest(mode=mode):
                async with Client(stdio(memory_server()), mode=mode) as client:
                    await self.talk(client)

    async def test_over_http(self):
        async with running(memory_server("--http", "127.0.0.1:0"), "serving MCP at ") as url:
            for mode in ["auto", "legacy"]:
                with self.subTest(mode=mode):
                    async with Client(url, mode=mode) as client:
                        await self.talk(client)
            async with httpx2.AsyncClient(headers={"origin": "http://evil.example"}) as http:
                self.assertEqual((await http.post(url, json={})).status_code, 403)

    async def test_without_a_server_the_directory_is_opened(self):
        with tempfile.TemporaryDirectory() as data:
            async with Client(stdio([BIN, "mcp", "--data-dir", data])) as client:
                await self.talk(client)

    async def test_processes_share_a_directory_and_one_takes_the_place_of_another(self):
        with tempfile.TemporaryDirectory() as data:
            first = [BIN, "mcp-proxy", "--data-dir", data, "--", "cat"]
            env = {k: v for k, v in os.environ.items() if k != "HINDSIGHT_SERVER"}
            with subprocess.Popen(first, stdin=-1, stdout=-3, env=env) as first:
                end = time.monotonic() + LIMIT
                while not (pathlib.Path(data) / "serve.json").exists():
                    self.assertLess(time.monotonic(), end)
                    await asyncio.sleep(0.05)
                async with Client(stdio([BIN, "mcp", "--data-dir", data])) as second:
                    await second.call_tool("retain", {"user": "li", "content": "Li drinks green tea"})
                    asked = {"user": "li", "question": "which tea does Li drink?"}
                    while "green tea" not in texts(await second.call_tool("recall_user_memory", asked))[0]:
                        self.assertLess(time.monotonic(), end)
                    first.stdin.close()
                    self.assertEqual(await asyncio.to_thread(first.wait, LIMIT), 0)
                    while "green tea" not in texts(await second.call_tool("recall_user_memory", asked))[0]:
                        self.assertLess(time.monotonic(), end)

    async def test_keys_are_those_of_the_caller(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = [await self.key(tenant) for tenant in ["acme", "other"]]
            config = pathlib.Path(folder) / "hindsight.toml"
            config.write_text("".join(entry for _, entry in keys))
            serve = [BIN, "serve", "--config", str(config), "--data-dir", f"{folder}/data", "--listen", "127.0.0.1:0"]
            async with running(serve, " at ") as server:
                command = [BIN, "mcp", "--server", server, "--http", "0.0.0.0:0"]
                async with running(command, "serving MCP at ") as url:
                    url = url.replace("0.0.0.0", "127.0.0.1")
                    async with httpx2.AsyncClient() as http:
                        self.assertEqual((await http.post(url, json={})).status_code, 401)
                    for (key, _), expected in zip(keys, ["tea", "Nothing relevant"]):
                        headers = {"authorization": f"Bearer {key}"}
                        async with httpx2.AsyncClient(headers=headers, follow_redirects=True, timeout=LIMIT) as http:
                            async with Client(streamable_http_client(url, http_client=http)) as client:
                                if expected == "tea":
                                    await client.call_tool("retain", {"user": "li", "content": "Li drinks green tea"})
                                asked = {"user": "li", "question": "which tea does Li drink?"}
                                found = await client.call_tool("recall_user_memory", asked)
                                self.assertIn(expected, texts(found)[0])

    async def key(self, tenant):
        made = await asyncio.create_subprocess_exec(
            BIN, "key", "new", "--tenant", tenant, "--json", stdout=asyncio.subprocess.PIPE
        )
        out, _ = await made.communicate()
        made = json.loads(out)
        entry = f'[[auth.keys]]\nname = "{tenant}"\nhash = "{made["hash"]}"\ntenant = "{tenant}"\n'
        return made["key"], entry + 'permissions = ["read", "write"]\n'

    def test_standard_output_carries_the_protocol_alone_and_the_end_of_input_ends_it(self):
        hello = {
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
        }
        env = {**os.environ, "HINDSIGHT__LOG__FILTER": "debug"}
        ended = subprocess.run(
            memory_server(), input=json.dumps(hello) + "\n", capture_output=True, text=True, timeout=LIMIT, env=env
        )
        self.assertEqual(ended.returncode, 0, ended.stderr)
        lines = [json.loads(line) for line in ended.stdout.splitlines()]
        self.assertEqual([line["id"] for line in lines], [0])

    @needs_node("mcp-inspector")
    async def test_with_the_inspector(self):
        async def inspect(*arguments):
            command = [node("mcp-inspector"), "--cli", "-e", f"HINDSIGHT_SERVER={SERVER}", BIN, "mcp", *arguments]
            process = await asyncio.create_subprocess_exec(*command, stdout=-1, stderr=-1)
            out, err = await asyncio.wait_for(process.communicate(), LIMIT)
            self.assertEqual(process.returncode, 0, err.decode())
            return json.loads(out)

        self.assertEqual(len((await inspect("--method", "tools/list"))["tools"]), 5)
        called = await inspect(
            "--method", "tools/call", "--tool-name", "recall_experience", "--tool-arg", "task=boil an egg on the moon"
        )
        self.assertEqual(called["content"][0]["type"], "text")


class Proxy(unittest.IsolatedAsyncioTestCase):
    """What passes is what passed without it."""

    async def same(self, command, calls, modes=("confirm",), **client):
        """The tools and the results of `calls`, directly and through the proxy."""
        async def seen(command):
            async with Client(stdio(command), **client) as c:
                tools = await c.list_tools()
                return [tools] + [await c.call_tool(name, arguments) for name, arguments in calls]

        direct = await seen(command)
        for mode in modes:
            self.assertEqual(await seen(proxied(command, "--mode", mode)), direct)

    @needs_node("mcp-server-everything")
    async def test_server_everything(self):
        command = [node("mcp-server-everything"), "stdio"]
        calls = [
            ("echo", {"message": "天气 🌦"}),
            ("get-sum", {"a": 2, "b": 3}),
            ("get-tiny-image", {}),
            ("get-structured-content", {"location": "Chicago"}),
        ]
        await self.same(command, calls, modes=["observe", "annotate", "confirm"], mode="legacy")

        heard = []

        async def sampled(_context, params):
            from mcp import types

            heard.append(params.messages[0].content.text)
            answer = types.TextContent(type="text", text="sampled here")
            return types.CreateMessageResult(role="assistant", content=answer, model="scripted")

        async def progressed(progress, total, message):
            heard.append((progress, total))

        async with Client(stdio(proxied(command)), mode="legacy", sampling_callback=sampled) as client:
            sampling = await client.call_tool("trigger-sampling-request", {"prompt": "a word", "maxTokens": 5})
            self.assertIn("sampled here", str(sampling))
            long = {"duration": 1, "steps": 2}
            await client.call_tool("trigger-long-running-operation", long, progress_callback=progressed)
            self.assertIn((2, 2), heard)
            with self.assertRaises(Exception):
                slow = client.call_tool("trigger-long-running-operation", {"duration": 60, "steps": 60})
                await asyncio.wait_for(slow, 0.5)
            self.assertIn("after", str(await client.call_tool("echo", {"message": "after a cancellation"})))

    @needs_node("mcp-server-filesystem")
    async def test_server_filesystem(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = os.path.realpath(folder)
            (pathlib.Path(folder) / "读我.txt").write_text("内容\n")
            calls = [("list_directory", {"path": folder}), ("read_text_file", {"path": f"{folder}/读我.txt"}), ("read_text_file", {"path": "/etc/none"})]
            await self.same([node("mcp-server-filesystem"), folder], calls, mode="legacy")

    async def test_servers_of_pypi(self):
        bin = pathlib.Path(sys.executable).parent
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "init", "--quiet", folder], check=True)
            page = pathlib.Path(folder) / "page.html"
            page.write_text("<html><body><p>天气 is fine today, and it will be so tomorrow.</p></body></html>")
            web = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "http.server", str(port := free_port()), "--directory", folder, stdout=-3, stderr=-3
            )
            self.addAsyncCleanup(web.wait)
            self.addCleanup(web.terminate)
            await reached(f"http://127.0.0.1:{port}/")
            servers = {
                "mcp-server-fetch --allow-private-ips --ignore-robots-txt": [("fetch", {"url": f"http://127.0.0.1:{port}/page.html"})],
                "mcp-server-time": [("convert_time", {"source_timezone": "Asia/Shanghai", "time": "12:00", "target_timezone": "UTC"})],
                "mcp-server-git": [("git_status", {"repo_path": folder}), ("git_status", {"repo_path": "/nowhere"})],
            }
            for command, calls in servers.items():
                name, *arguments = command.split()
                if not (bin / name).exists():
                    print(f"SKIPPED: {name} is not to be had", file=sys.stderr)
                    continue
                with self.subTest(server=name):
                    await self.same([str(bin / name), *arguments], calls)

    async def test_over_http(self):
        port = free_port()
        server = await asyncio.create_subprocess_exec(*DEPLOY, str(port), stdout=-3, stderr=-3)
        try:
            direct = f"http://127.0.0.1:{port}/mcp"
            await reached(direct)
            command = [BIN, "mcp-proxy", "--server", SERVER, "--mode", "annotate", "--url", direct]
            async with running(command, f"{direct} at ") as between:
                for mode in ["auto", "legacy"]:
                    results = []
                    for url in [direct, between]:
                        async with Client(url, mode=mode) as client:
                            tools = await client.list_tools()
                            results.append([tools, await client.call_tool("status", {"service": "商店"})])
                    self.assertEqual(*results)
        finally:
            server.terminate()
            await server.wait()

    def run_through(self, command, input=b"", server=SERVER, **other):
        return subprocess.run(proxied(command, server=server), input=input, capture_output=True, timeout=LIMIT, **other)

    def test_exit_codes_standard_error_and_the_end_of_input_pass(self):
        ended = self.run_through(["sh", "-c", "echo broken >&2; exit 7"])
        self.assertEqual((ended.returncode, ended.stderr), (7, b"broken\n"))
        self.assertEqual(self.run_through(["sh", "-c", "kill -9 $$"]).returncode, 137)
        everything = bytes(range(256)) * 9000
        self.assertEqual(self.run_through(["cat"], input=everything).stdout, everything)
        missing = self.run_through(["/no/such/server"])
        self.assertEqual(missing.returncode, 127)
        self.assertIn(b"/no/such/server", missing.stderr)

    def test_signals_pass(self):
        script = 'trap "exit 9" TERM; trap "echo usr1" USR1; echo ready; while :; do sleep 0.05; done'
        with subprocess.Popen(proxied(["sh", "-c", script]), stdin=-1, stdout=-1) as process:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            process.send_signal(signal.SIGUSR1)
            self.assertEqual(process.stdout.readline(), b"usr1\n")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(LIMIT), 9)

    async def test_a_hindsight_that_is_away_breaks_nothing(self):
        for mode in ["observe", "annotate", "confirm"]:
            command = proxied(DEPLOY, "--mode", mode, server="http://127.0.0.1:9")
            async with Client(stdio(command)) as client:
                self.assertEqual(texts(await client.call_tool("ports", {})), ["8080 nginx, 9090 free"])


class Memory(unittest.IsolatedAsyncioTestCase):
    """What passed is remembered, and what failed is warned of."""

    def setUp(self):
        self.store = memory_service_pb2_grpc.MemoryServiceStub(grpc.insecure_channel(os.environ["HINDSIGHT_ADDRESS"]))
        self.goal = f"Deploy the shop {uuid.uuid4().hex[:8]} behind the load balancer"

    def listed(self, kind, **filter):
        request = store_pb2.ListMemoriesRequest(kind=kind, filter=store_pb2.MemoryFilter(**filter), page_size=500)
        return self.store.ListMemories(request, timeout=LIMIT).memories

    def runs(self):
        experiences = (m.experience for m in self.listed(memory_pb2.MEMORY_KIND_EXPERIENCE))
        return [e for e in experiences if e.trajectory.task_description == self.goal]

    async def until(self, what, condition):
        end = time.monotonic() + LIMIT
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            await asyncio.sleep(0.1)

    def proxied(self, mode):
        return stdio(proxied(DEPLOY, "--mode", mode, "--goal", self.goal, "--patience", "20s"))

    async def test_agents_at_a_time_are_runs_of_their_own_over_http(self):
        """Both protocols: the newer one has no sessions, and its clients count alike."""
        port = free_port()
        server = await asyncio.create_subprocess_exec(*DEPLOY, str(port), stdout=-3, stderr=-3)
        self.addAsyncCleanup(server.wait)
        self.addCleanup(server.terminate)
        direct = f"http://127.0.0.1:{port}/mcp"
        await reached(direct)

        async def agent(url, mode, service):
            async with Client(url, mode=mode) as client:
                for n in range(6):
                    await client.call_tool("status", {"service": f"{service}-{n}"})

        command = [BIN, "mcp-proxy", "--server", SERVER, "--goal", self.goal, "--url", direct]
        async with running(command, f"{direct} at ") as between:
            for mode in ["auto", "legacy"]:
                await asyncio.gather(agent(between, mode, "shop"), agent(between, mode, "mail"))
        await self.until("four judged runs", lambda: len(self.runs()) == 4)
        for run in self.runs():
            services = [json.loads(step.action_detail)["service"] for step in run.trajectory.steps]
            name = services[0].split("-")[0]
            self.assertEqual(services, [f"{name}-{n}" for n in range(6)])
            self.assertEqual([s.observation for s in run.trajectory.steps], [f"{s} is stopped" for s in services])

    async def test_a_call_that_failed_often_is_warned_of(self):
        for _ in range(3):
            async with Client(self.proxied("observe")) as client:
                await client.call_tool("status", {"service": "shop"})
                failed = await client.call_tool("deploy", {"service": "shop", "port": 8080})
                self.assertTrue(failed.is_error)
                await client.call_tool("ports", {})
                await client.call_tool("deploy", {"service": "shop", "port": 9090})
                await client.call_tool("status", {"service": "shop"})
        await self.until("three judged runs", lambda: len(self.runs()) == 3)
        run = self.runs()[0].trajectory
        self.assertEqual([s.action_name for s in run.steps], ["status", "deploy", "ports", "deploy", "status"])
        self.assertIn("held by nginx", run.steps[1].observation)
        self.assertEqual(json.loads(run.steps[3].action_detail), {"service": "shop", "port": 9090})
        failures = lambda: self.listed(memory_pb2.MEMORY_KIND_FAILURE_PATTERN, action_name="deploy")
        await self.until("a failure seen three times", lambda: any(len(m.failure_pattern.sources) >= 3 for m in failures()))

        async with Client(self.proxied("annotate")) as client:
            first = texts(await client.call_tool("status", {"service": "shop"}))
            warned = await client.call_tool("deploy", {"service": "shop", "port": 8080})
        self.assertIn(self.goal, "".join(first[1:] + texts(warned)[1:]), "the way of the runs before")
        self.assertTrue(warned.is_error)
        self.assertIn("nginx", texts(warned)[0])
        self.assertIn("nginx", "".join(texts(warned)[1:]), warned)

        async with Client(self.proxied("confirm")) as client:
            stopped = await client.call_tool("deploy", {"service": "shop", "port": 8080})
            self.assertIn("This call was not made", "".join(texts(stopped)), stopped)
            again = await client.call_tool("deploy", {"service": "shop", "port": 8080})
            self.assertNotIn("This call was not made", "".join(texts(again)))
            self.assertIn("nginx", texts(again)[0])
            fine = await client.call_tool("deploy", {"service": "shop", "port": 9090})
            self.assertFalse(fine.is_error)


if __name__ == "__main__":
    unittest.main(verbosity=2)
