"""A LangChain agent with a scripted model against a running server."""

from __future__ import annotations

import asyncio
import threading
import unittest
from typing import Any, Iterator, List, Tuple
from unittest import mock

from hindsight_client import Client, Recall
from hindsight_client.langchain import HindsightCallbackHandler, HindsightMiddleware, _middleware
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain.tools import tool
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.types import Command, interrupt
from support import LIMIT, trajectory, unique, until, warned_of

OK, ERROR = 1, 2
FAILURE, UNKNOWN = 3, 4


class Scripted(BaseChatModel):
    """Calls the tools it is told to, one after the other, then says what it is told to. Keeps what it was given."""

    script: List[Any]
    seen: List[Any] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: List[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        self.seen.append(messages)
        said = self.script[sum(isinstance(m, ToolMessage) for m in messages) % len(self.script)]
        if isinstance(said, Exception):
            raise said
        if isinstance(said, str):
            message = AIMessage(said)
        else:
            name, args = said
            message = AIMessage("", tool_calls=[{"name": name, "args": args, "id": unique("call")}])
        return ChatResult(generations=[ChatGeneration(message=message)])


@tool
def start_pump(name: str) -> str:
    """Starts a pump."""
    if name == "main":
        return str(interrupt("may I?"))
    if name == "last":
        raise KeyboardInterrupt
    if name != "north-b":
        raise ValueError(f"pump {name} has no power")
    return f"{name} runs"


@tool
def list_pumps(pattern: str) -> str:
    """Lists pumps."""
    return "north-b: mains"


@wrap_tool_call
def errors_as_messages(request: Any, handler: Any) -> Any:
    """As agents do that are to survive the error of a tool."""
    try:
        return handler(request)
    except ValueError as error:
        return ToolMessage(str(error), tool_call_id=request.tool_call["id"], status="error")


@wrap_tool_call
async def errors_as_messages_async(request: Any, handler: Any) -> Any:
    try:
        return await handler(request)
    except ValueError as error:
        return ToolMessage(str(error), tool_call_id=request.tool_call["id"], status="error")


FAILS = ("start_pump", {"name": "north"})
SCRIPT = [
    FAILS,
    FAILS,
    FAILS,
    ("list_pumps", {"pattern": "north*"}),
    ("start_pump", {"name": "north-b"}),
    "the greenhouse is watered",
]


class LangChain(unittest.TestCase):
    def setUp(self) -> None:
        self.client = Client(timeout=LIMIT)
        self.addCleanup(self.client.close)
        self.user = unique("user")
        self.handler = HindsightCallbackHandler(self.client, user=self.user, agent="ops", task_type="incident")

    def agent(self, script: List[Any], *middleware: Any, **options: Any) -> Any:
        self.model = Scripted(script=script, seen=[])
        system = "You water the greenhouse."
        return create_agent(
            self.model, [start_pump, list_pumps], system_prompt=system, middleware=middleware, **options
        )

    def run_agent(self, agent: Any, goal: str, **config: Any) -> Any:
        """Returns the answer and the run as it is kept."""
        tasks: List[Any] = []
        begin = self.client.task

        def noted(*args: Any, **kwargs: Any) -> Any:
            tasks.append(begin(*args, **kwargs))
            return tasks[-1]

        self.client.task = noted  # type: ignore[method-assign]
        try:
            answer = agent({"messages": [HumanMessage(goal)]}, {"callbacks": [self.handler], **config})
        except Exception as error:
            answer = error
        self.assertEqual(len(tasks), 1, "one run is one task")
        return answer, trajectory(self.client, tasks[0].trace_id, user=self.user)

    def check(self, run: Any, goal: str) -> None:
        steps = [step for step in run.trajectory.steps if step.action_type == 1]
        self.assertEqual(run.trajectory.task_description, goal)
        self.assertEqual([s.action_name for s in steps], [s[0] for s in SCRIPT if not isinstance(s, str)])
        self.assertEqual([s.status for s in steps], [ERROR, ERROR, ERROR, OK, OK])
        self.assertIn("pump north has no power", steps[0].observation)
        self.assertEqual(steps[0].action_detail, '{"name": "north"}')
        self.assertEqual(run.trajectory.outcome.conclusion, SCRIPT[-1])
        self.assertEqual((run.trajectory.user, run.trajectory.agent), (self.user, "ops"))

    def test_the_second_run_is_given_the_experience_of_the_first(self) -> None:
        goal = "The greenhouse is dry: start its pump. 启动温室水泵"
        memory = HindsightMiddleware(self.client, user=self.user, agent="ops", timeout=LIMIT)
        agent = self.agent(SCRIPT, memory, errors_as_messages)
        _, first = self.run_agent(agent.invoke, goal)
        self.check(first, goal)
        given = self.model.seen[0]
        self.assertEqual([type(m) for m in given], [SystemMessage, HumanMessage], "nothing is known yet")

        self.model.seen.clear()
        answer, second = self.run_agent(agent.invoke, goal)
        for given in self.model.seen:
            self.assertEqual([type(m) for m in given[:3]], [SystemMessage, HumanMessage, HumanMessage])
            self.assertIn("north-b", given[1].content)
            self.assertEqual(given[2].content, goal)
        self.assertEqual(answer["messages"][0].content, goal, "the block does not stay in the conversation")
        self.assertEqual(set(answer), {"messages"}, "nothing of the middleware is in the answer")
        self.assertEqual(len(second.trajectory.receipts), 2, "the run names the recall that shaped it, and the warning")

    def test_the_same_with_asyncio(self) -> None:
        goal = "Water the greenhouse at once"
        memory = HindsightMiddleware(self.client, user=lambda runtime: self.user, timeout=LIMIT)
        agent = self.agent(SCRIPT, memory, errors_as_messages_async)
        for run in range(2):
            _, kept = self.run_agent(lambda *args: asyncio.run(agent.ainvoke(*args)), goal)
            self.check(kept, goal)
            self.assertEqual(len(self.model.seen[-1]) - len(SCRIPT) * 2 + 1, 1 + run, "system, block in the second")

    def results(self) -> List[str]:
        """What the tools said, as the model was told."""
        return [message.content for message in self.model.seen[-1] if isinstance(message, ToolMessage)]

    def test_a_call_that_is_known_to_fail_is_warned_of(self) -> None:
        goal = "The tomatoes are thirsty: start the pump of the north. 番茄"
        for asynchronous in (False, True):
            for warn in ("annotate", "confirm"):
                self.user = unique("user")
                self.handler = HindsightCallbackHandler(self.client, user=self.user, agent="ops")
                memory = HindsightMiddleware(self.client, user=self.user, warn=warn, timeout=LIMIT)
                errors = errors_as_messages_async if asynchronous else errors_as_messages
                agent = self.agent(SCRIPT, memory, errors)
                act = (lambda *args: asyncio.run(agent.ainvoke(*args))) if asynchronous else agent.invoke
                self.run_agent(act, goal)
                self.assertTrue(all("<hindsight-memory" not in result for result in self.results()))
                warned_of(self.client, *FAILS, user=self.user)
                _, second = self.run_agent(act, goal)
                first, *others = self.results()
                self.assertIn("<hindsight-memory", first)
                self.assertIn("no power", first)
                self.assertEqual("The call was not made" in first, warn == "confirm")
                self.assertIn("pump north has no power", others[0], "made again it is made")
                made = [step for step in second.trajectory.steps if step.action_type == 1]
                self.assertEqual(len(made), 4 if warn == "confirm" else 5)

    def test_an_error_ends_the_run_as_failed(self) -> None:
        error, run = self.run_agent(self.agent(SCRIPT).invoke, "start the pump")
        self.assertIsInstance(error, ValueError)
        self.assertEqual(run.trajectory.outcome.status, FAILURE)
        self.assertIn("pump north has no power", run.trajectory.outcome.conclusion)

    def test_an_interrupt_is_no_failure(self) -> None:
        @wrap_tool_call
        def ask(request: Any, handler: Any) -> Any:
            interrupt("may I?")

        agent = self.agent([FAILS, "done"], ask, checkpointer=InMemorySaver())
        _, run = self.run_agent(agent.invoke, "start the pump", configurable={"thread_id": "thread-1"})
        self.assertEqual(run.trajectory.outcome.status, UNKNOWN)
        self.assertEqual(run.trajectory.session, "thread-1")

    def endings(self, memory: HindsightMiddleware) -> "Iterator[Tuple[Any, Any]]":
        """Agents whose runs do not come to their end, each after a call that is watched, and what they raise."""
        looks = ("list_pumps", {"pattern": "*"})
        yield self.agent([looks, FAILS], memory), ValueError
        yield self.agent([looks, OSError("no model")], memory), OSError
        yield self.agent([("start_pump", {"name": "main"})], memory, checkpointer=InMemorySaver()), None
        yield self.agent([looks, ("start_pump", {"name": "last"})], memory), KeyboardInterrupt
        yield self.agent([looks], memory), GraphRecursionError

    def run_to_its_end(self, run: Any, raised: Any, *callbacks: Any) -> None:
        config = {"callbacks": list(callbacks), "configurable": {"thread_id": unique("thread")}, "recursion_limit": 6}
        try:
            run({"messages": [HumanMessage("start the pump")]}, config)
            self.assertIsNone(raised)
        except (Exception, KeyboardInterrupt) as error:
            self.assertIsInstance(error, raised or ())

    def test_a_run_that_fails_leaves_no_watch(self) -> None:
        # Neither is anything of it to be judged, nor to be looked for.
        self.client.recorder.close()
        nothing = Recall("", "", (), "nothing is known", False, 0)
        self.client.recall = lambda *args, **kwargs: nothing  # type: ignore[method-assign]
        memory = HindsightMiddleware(self.client, user=self.user, timeout=LIMIT)
        before = threading.active_count()
        for agent, raised in self.endings(memory):
            for _ in range(60):
                self.run_to_its_end(agent.invoke, raised, self.handler)
                self.assertEqual(len(memory._watches), 0, raised)
            if raised is not KeyboardInterrupt:  # A loop ends with it.
                self.run_to_its_end(lambda *args: asyncio.run(agent.ainvoke(*args)), raised, self.handler)
                self.assertEqual(len(memory._watches), 0, raised)
        self.assertEqual((self.handler._roots, self.handler._calls), ({}, {}))
        until("the threads end", lambda: threading.active_count() <= before + 4)

    def test_without_a_handler_few_watches_stay_and_not_for_long(self) -> None:
        memory = HindsightMiddleware(self.client, user=self.user, timeout=LIMIT)
        before = threading.active_count()
        with mock.patch.object(_middleware, "WATCHES", 3), mock.patch.object(_middleware, "IDLE", 0.5):
            for agent, raised in self.endings(memory):
                for _ in range(5):
                    self.run_to_its_end(agent.invoke, raised)
                    self.assertLessEqual(len(memory._watches), 3 if raised is GraphRecursionError else 0, raised)
            self.assertEqual(len(memory._watches), 3)
            until("the threads end", lambda: threading.active_count() <= before + 4)

    def test_a_run_that_goes_on_after_an_interrupt_is_watched(self) -> None:
        trajectory(self.client, self.pump_failed(), user=self.user)
        warned_of(self.client, *FAILS, user=self.user)

        @wrap_tool_call
        def ask(request: Any, handler: Any) -> Any:
            interrupt("may I?")
            return handler(request)

        memory = HindsightMiddleware(self.client, user=self.user, timeout=LIMIT)
        agent = self.agent([FAILS, "done"], memory, ask, errors_as_messages, checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": unique("thread")}}
        agent.invoke({"messages": ["start the pump"]}, config)
        self.assertEqual(len(memory._watches), 0)
        agent.invoke(Command(resume="yes"), config)
        (result,) = self.results()
        self.assertIn("<hindsight-memory", result)

    def test_a_call_is_held_once_whatever_becomes_of_the_watch(self) -> None:
        trajectory(self.client, self.pump_failed(), user=self.user)
        warned_of(self.client, *FAILS, user=self.user)
        memory = HindsightMiddleware(self.client, user=self.user, warn="confirm", timeout=LIMIT)

        @wrap_tool_call
        def forget(request: Any, handler: Any) -> Any:
            for run in list(memory._watches):
                memory._let_go(run)
            return handler(request)

        self.agent([FAILS, FAILS, "done"], forget, memory, errors_as_messages).invoke({"messages": ["start the pump"]})
        first, second = self.results()
        self.assertIn("The call was not made", first)
        self.assertTrue(second.startswith("pump north has no power"), second)

    def pump_failed(self) -> str:
        """A run in which starting the pump failed until another way was found."""
        with self.client.task("start the pump of the north", user=self.user) as task:
            for _ in range(3):
                task.tool_call(*FAILS, error="pump north has no power")
            task.tool_call("list_pumps", {"pattern": "north*"}, "north-b: mains")
            task.tool_call("start_pump", {"name": "north-b"}, "north-b runs")
            task.succeed("the greenhouse is watered")
        return task.trace_id

    def test_each_run_is_of_the_user_that_its_metadata_names(self) -> None:
        users = [unique("user"), unique("user")]
        self.handler = HindsightCallbackHandler(self.client, user=lambda metadata: metadata["user"])
        memory = HindsightMiddleware(self.client, timeout=LIMIT)
        agent = self.agent(SCRIPT, memory, errors_as_messages)
        for self.user in users:
            _, run = self.run_agent(agent.invoke, "The roses are dry: start their pump", metadata={"user": self.user})
            self.assertEqual(run.trajectory.user, self.user)
            self.assertEqual((run.trajectory.scope.level, run.trajectory.scope.id), (2, self.user))
            self.assertTrue(all("<hindsight-memory" not in str(given) for given in self.model.seen), "of the other user")
            self.model.seen.clear()
        self.user = users[0]
        self.run_agent(agent.invoke, "The roses are dry: start their pump", metadata={"user": self.user})
        self.assertIn("north-b", self.model.seen[0][1].content, "the middleware takes the user of the task")

    def test_a_run_of_which_nobody_is_named_is_not_recorded(self) -> None:
        for user in (lambda metadata: metadata.get("user"), lambda metadata: metadata["user"]):
            handler = HindsightCallbackHandler(self.client, user=user)  # type: ignore[arg-type, misc]
            before = self.client.recorder.state
            self.agent(["done"]).invoke({"messages": ["start the pump"]}, {"callbacks": [handler]})
            state = self.client.recorder.state
            self.assertEqual((state.recorded, state.lost), (before.recorded, before.lost + 1))
            self.assertIn("user", state.problem)

    def test_within_a_task_the_steps_join_it(self) -> None:
        with self.client.task("keep the plants alive", user=self.user) as task:
            answer = self.agent(["all is well"]).invoke(
                {"messages": ["are the plants alive?"]}, {"callbacks": [self.handler]}
            )
            task.tool_call("page", {"who": "nobody"}, "not needed")
        self.assertEqual(answer["messages"][-1].content, "all is well")
        run = trajectory(self.client, task.trace_id, user=self.user)
        self.assertEqual([s.action_detail for s in run.trajectory.steps], ["all is well", '{"who": "nobody"}'])

    def test_runs_side_by_side_do_not_mix(self) -> None:
        def work(inputs: Any, config: Any) -> str:
            return list_pumps.invoke({"pattern": inputs["input"]}, config)

        tasks: List[Any] = []
        begin = self.client.task
        self.client.task = lambda *a, **k: tasks.append(begin(*a, **k)) or tasks[-1]  # type: ignore
        inputs = [{"input": f"pump {n}"} for n in range(20)]
        RunnableLambda(work).batch(inputs, {"callbacks": [self.handler]})
        self.client.flush(LIMIT)
        self.assertEqual(len(tasks), 20)
        self.assertEqual({task.goal for task in tasks}, {i["input"] for i in inputs})
        for task in tasks[:3]:
            run = trajectory(self.client, task.trace_id, user=self.user).trajectory
            self.assertEqual([s.action_detail for s in run.steps], [f'{{"pattern": "{run.task_description}"}}'])

    def test_a_memory_that_is_away_changes_nothing(self) -> None:
        with Client("http://127.0.0.1:9", timeout=0.5) as nobody:
            memory = HindsightMiddleware(nobody, timeout=0.3)
            handler = HindsightCallbackHandler(nobody)
            agent = self.agent(SCRIPT, memory, errors_as_messages)
            answer = agent.invoke({"messages": ["start the pump"]}, {"callbacks": [handler]})
            self.assertEqual(answer["messages"][-1].content, SCRIPT[-1])
            self.assertIn("hindsight serve", nobody.recorder.state.trouble)
            nobody.close(0.1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
