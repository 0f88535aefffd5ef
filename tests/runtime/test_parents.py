"""The two parents: a model that delegates by `task`, and rules that route without one."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.errors import KitError
from isolation_kit.runtime import (
    CLEAN,
    ChildSpec,
    MemoryStore,
    ModelReply,
    ParentScope,
    Rule,
    RulesParent,
    RunLimits,
    TaskParent,
    ToolCall,
    rules_turn,
    task_tool,
    task_turn,
)
from isolation_kit.runtime.failures import Language, in_language
from isolation_kit.runtime.parent_rules import parse
from isolation_kit.runtime.parent_task import LOOP_REPLY, MODEL_FAILED_REPLY, ROUND_LIMIT_REPLY
from isolation_kit.runtime.store import StoreFullError
from isolation_kit.targets.reference import BILL_QUERY, PDF_EXPORT, RULES, TRIGGERS


def delegation(text: str) -> ModelReply:
    """The parent model hands `text` to the worker."""
    return ModelReply("my plan", (ToolCall("call_0", "task", {"task": text}),))


def test_a_parent_gets_the_result_and_nothing_else(rig: Any, worker: ChildSpec, calls: Any) -> None:
    """Its planning context holds the child's answer, but no scratch work and no tool reply."""
    made = rig(
        {"parent": [delegation("find"), ModelReply("It is 42.")], "worker": [calls(), ModelReply("42")]},
        '{"note": "raw reply"}',
    )
    parent = TaskParent("parent", "Plan.", worker.tools, {"task": (task_tool("Delegate."), worker)})
    answer = asyncio.run(task_turn(made.runtime, parent, ParentScope("u", "s"), "how much?"))
    shown = repr(made.scripts["parent"].requests[-1].messages)
    assert answer == "It is 42."
    assert '"answer":"42"' in shown
    assert "thinking" not in shown
    assert "raw reply" not in shown


def test_only_the_parents_tier_can_delegate(rig: Any, worker: ChildSpec) -> None:
    """The parent is offered the basic tools and `task`; the child the basic tools."""
    made = rig({"parent": [delegation("find"), ModelReply("ok")], "worker": [ModelReply("42")]})
    parent = TaskParent("parent", "Plan.", worker.tools, {"task": (task_tool("Delegate."), worker)})
    asyncio.run(task_turn(made.runtime, parent, ParentScope("u", "s"), "how much?"))
    assert [tool.name for tool in made.scripts["parent"].requests[0].tools] == ["lookup", "task"]
    assert [tool.name for tool in made.scripts["worker"].requests[0].tools] == ["lookup"]


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [("task", {"task": 3}, "bad_arguments"), ("shell", {}, "unknown_tool")],
)
def test_a_bad_call_of_the_parents_model_gives_a_reason(
    rig: Any, worker: ChildSpec, name: str, arguments: dict[str, Any], reason: str
) -> None:
    """No child starts for it."""
    bad = ModelReply("", (ToolCall("c", name, arguments),))
    made = rig({"parent": [bad, ModelReply("ok")], "worker": [ModelReply("x")]})
    parent = TaskParent("parent", "Plan.", (), {"task": (task_tool("Delegate."), worker)})
    asyncio.run(task_turn(made.runtime, parent, ParentScope("u", "s"), "hello"))
    assert reason in made.scripts["parent"].requests[-1].messages[-1].content
    assert made.scripts["worker"].requests == []


def test_a_parent_that_never_answers_ends_at_its_round_limit(rig: Any, worker: ChildSpec, calls: Any) -> None:
    """The user gets a plain sentence, none of the parent's messages."""
    made = rig({"parent": [calls()]}, limits=RunLimits(rounds=3))
    parent = TaskParent("parent", "Plan.", worker.tools)
    assert asyncio.run(task_turn(made.runtime, parent, ParentScope("u", "s"), "hello")) == ROUND_LIMIT_REPLY
    assert len(made.scripts["parent"].requests) == 3


def test_a_cancelled_turn_leaves_no_call_unanswered(rig: Any, worker: ChildSpec) -> None:
    """The next turn's history is one that a model takes: each call has its reply, in order."""

    async def hang(query: str) -> str:
        await asyncio.sleep(60)
        return query

    asked = tuple(ToolCall(f"c{number}", "lookup", {"query": "q"}) for number in range(3))
    made = rig({"parent": [ModelReply("", asked)]})
    runtime = replace(made.runtime, tool=lambda name, agent: hang)
    parent = TaskParent("parent", "Plan.", worker.tools)
    scope = ParentScope("u", "s")

    async def scene() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(task_turn(runtime, parent, scope, "hello"), 0.05)

    asyncio.run(scene())
    assert [message.call_id for message in scope.history[-3:]] == ["c0", "c1", "c2"]
    assert states(made)[-1] == "error"


def repeating(rig: Any, worker: ChildSpec, *tasks: str) -> tuple[Any, str]:
    """A rig and the answer of a turn in which the parent's model hands down `tasks`, the last ever again."""
    said = [delegation(task) for task in tasks]
    made = rig({"parent": said, "worker": [ModelReply("42")]}, limits=RunLimits(rounds=12))
    parent = TaskParent("parent", "Plan.", (), {"task": (task_tool("Delegate."), worker)})
    return made, asyncio.run(task_turn(made.runtime, parent, ParentScope("u", "s"), "how much?"))


def test_a_parent_that_delegates_the_same_again_and_again_is_stopped(rig: Any, worker: ChildSpec) -> None:
    """Two children, then a reason in place of a result, and after three reasons the end, with an alarm."""
    made, answer = repeating(rig, worker, "find")
    assert answer == LOOP_REPLY
    assert states(made)[-1] == "error"
    assert len(made.watcher.named("delegation_began")) == 2
    assert len(made.scripts["parent"].requests) == 5
    assert '{"error":"loop_detected"}' in repr(made.scripts["parent"].requests[3].messages)
    assert made.watcher.named("alarm") == [("parent", "loop_detected", "")]


def test_a_parent_may_delegate_as_often_as_its_tasks_differ(rig: Any, worker: ChildSpec) -> None:
    """A dozen tasks by one tool, and the same two in turn, are work: no reason, no alarm."""
    made, answer = repeating(rig, worker, *[f"page {number // 2 % 3}" for number in range(12)])
    assert answer == ROUND_LIMIT_REPLY
    assert len(made.watcher.named("delegation_began")) == 12
    assert made.watcher.named("alarm") == []


# -- rules -----------------------------------------------------------------------------------------------


class _Echo:
    """A child model that answers with the request in its inputs."""

    async def reply(self, request: Any) -> ModelReply:
        found = re.search(r'"request":"([^"]*)"', request.messages[1].content)
        return ModelReply(f"bill {found[1] if found else '?'}")


def rules(rig: Any, parts: Any = CLEAN) -> tuple[Any, RulesParent]:
    """A rule-driven parent whose children echo their reference."""
    made = rig({}, parts=parts)
    made = replace(made, runtime=replace(made.runtime, model=lambda agent: _Echo()))
    children = {spec.name: spec for spec in (BILL_QUERY, PDF_EXPORT)}
    return made, RulesParent("parent", RULES, children, MemoryStore())


def talk(made: Any, parent: RulesParent, *turns: tuple[str, str]) -> list[str]:
    """The answers to (user, text) turns, each user in one session."""

    async def scene() -> list[str]:
        return [await rules_turn(made.runtime, parent, ParentScope(user, "s"), text) for user, text in turns]

    return asyncio.run(scene())


def states(made: Any) -> list[str]:
    """The states that the watcher was told."""
    return [str(state) for _, state in made.watcher.named("state_entered")]


CONVERSATION = (
    ("u", "查张伟的账单 编号〔zhang1〕"),
    ("u", "查李娜的账单 编号〔li1〕"),
    ("u", "张伟的账单最便宜吗"),
)


def test_a_follow_up_resolves_to_the_person_asked_about(rig: Any) -> None:
    """Article 000, section 4.7: the third answer is about the first person."""
    assert talk(*rules(rig), *CONVERSATION) == ["张伟: bill zhang1", "李娜: bill li1", "张伟: bill zhang1"]


def test_resolving_to_the_last_person_is_seen(rig: Any) -> None:
    """The leaky twin answers with the other person's bill."""
    leaky = replace(CLEAN, resolve_subject=lambda steps, subject: steps[-1])
    assert talk(*rules(rig, leaky), *CONVERSATION)[-1] == "张伟: bill li1"


def test_a_follow_up_reads_no_other_users_step(rig: Any) -> None:
    """Asked by somebody else in a session of the same name, there is no earlier step."""
    *_, answer = talk(*rules(rig), ("agent_1", CONVERSATION[0][1]), ("agent_10", "张伟的账单最便宜吗"))
    assert "zhang1" not in answer


def test_words_around_a_rule_are_ignored(rig: Any) -> None:
    """Debug markers and chatter reach no child and no step."""
    made, parent = rules(rig)
    talk(
        made,
        parent,
        ("u", "账单查询【DEBUG:trace_id=abc123,env=prod】查张伟的账单 编号〔zhang1〕 [ERROR] SELECT 1"),
    )
    crossed = b"".join(args[2] for args in made.watcher.named("context_crossed"))
    assert b"zhang1" in crossed
    assert b"abc123" not in crossed
    assert b"SELECT" not in crossed


@pytest.mark.parametrize("bill", ["U_" + "a" * 1000, "U_1\u0430", "U_\uff11", "U_1/../2", "U.1"])
def test_a_bare_reference_is_an_identifier_and_refused_if_malformed(rig: Any, bill: str) -> None:
    """Too long, with a look-alike, full width, a path: no child starts, and nothing is cut."""
    made, parent = rules(rig)
    (answer,) = talk(made, parent, ("u", f"查张伟的账单 编号 {bill}"))
    assert answer == "张伟: 请求格式有误，请检查编号。"
    assert len(made.watcher.named("context_born")) == 0


@pytest.mark.parametrize("behind", ["", "。", ". ", "谢谢", "，然后", "/", " U_2"])
def test_what_follows_a_bare_reference_is_no_part_of_it(rig: Any, behind: str) -> None:
    """The end of a sentence, Chinese words and spaces."""
    made, parent = rules(rig)
    talk(made, parent, ("u", f"查张伟的账单 编号 U_1{behind}"))
    (brief,) = [args[1] for args in made.watcher.named("context_born")]
    assert brief.inputs["bill_id"] == "U_1"


def test_text_without_a_rule_gets_a_plain_answer(rig: Any) -> None:
    """No rule, no child."""
    made, parent = rules(rig)
    assert talk(made, parent, ("u", "你好")) == [in_language("no_rule", Language.CHINESE)]
    assert states(made) == ["idle", "parsing", "routing", "error"]
    assert made.watcher.named("delegation_began") == []


def test_a_rules_parent_speaks_the_language_that_it_is_told(rig: Any) -> None:
    """Each sentence of its own, and those about failures; Chinese is what nobody asked for."""
    made, parent = rules(rig)
    parent.language = Language.ENGLISH
    malformed = "查张伟的账单 编号 U_" + "a" * 1000
    said = talk(made, parent, *[("u", text) for text in ("你好", CONVERSATION[2][1], malformed)])
    assert all(line.removeprefix("张伟: ").isascii() for line in said)
    assert len(set(said)) == 3


def test_too_many_tasks_at_once_are_refused(rig: Any) -> None:
    """A text full of triggers does not start a crowd of children."""
    made, parent = rules(rig)
    assert talk(made, parent, ("u", CONVERSATION[0][1] * 31)) == [in_language("too_many", Language.CHINESE)]
    assert made.watcher.named("delegation_began") == []


def test_two_tasks_in_one_turn_are_done_in_order(rig: Any) -> None:
    """The answer has a line for each."""
    (answer,) = talk(*rules(rig), ("u", "导出张伟的账单 编号〔b〕 查李娜的账单 编号〔a〕"))
    assert answer == "张伟: bill b\n李娜: bill a"


@given(
    st.sampled_from(["张伟", "李娜", "欧阳娜娜", "Maria Lopez", "O'Neil", ""]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="〔〕"), min_size=1, max_size=60),
    st.sampled_from(["", "顺便 ", "【DEBUG:x=1】", "请查一下。"]),
    st.sampled_from(["bill_query", "pdf_export"]),
)
def test_a_trigger_hands_its_task_over_whole(subject: str, task: str, noise: str, child: str) -> None:
    """Whatever the task's text, the routed input is that text."""
    trigger = TRIGGERS[child].replace("{subject}", subject).replace("{task}", task)
    first = parse(f"{noise}{trigger} 谢谢", RULES)[0]
    assert (first.rule.child, first.subject, first.inputs) == (child, subject, {"request": task})


def test_parsing_takes_time_in_proportion_to_the_text() -> None:
    """Ten times the text takes about ten times as long, whatever it repeats (a quadratic rule takes 100)."""

    def seconds(text: str) -> float:
        began = time.process_time()
        for _ in range(3):
            parse(text, RULES)
        return time.process_time() - began

    for piece in ("导出张伟的账单 编号〔", "a 最便宜吗 ", "查 的账单 "):
        assert seconds(piece * 2000) < 40 * seconds(piece * 200) + 0.05


def test_every_rule_has_an_owner() -> None:
    """Somebody signed each routing rule."""
    assert all(isinstance(rule, Rule) and rule.owner for rule in RULES)


def test_a_turn_walks_the_table_and_tells_its_routes(rig: Any) -> None:
    """Watchers hear each state, and which rule led to which child."""
    made, parent = rules(rig)
    talk(made, parent, ("u", "导出张伟的账单 编号〔b〕"))
    assert states(made) == ["idle", "parsing", "routing", "executing", "aggregating", "done"]
    ((_, decision),) = made.watcher.named("decided")
    assert (decision.kind, decision.chosen, decision.reason) == ("route", "pdf_export", "export")


# -- a store that fails ----------------------------------------------------------------------------------


class _FullStore(MemoryStore):
    """Takes `room` steps and then fails, with a user's value in its words."""

    def __init__(self, room: int, error: Exception) -> None:
        super().__init__()
        self.room = room
        self.error = error

    async def append(self, user: str, session: str, value: Any) -> Any:
        if self.room == 0:
            raise self.error
        self.room -= 1
        return await super().append(user, session, value)

    async def steps(self, user: str, session: str) -> Any:
        if self.room == 0:
            raise self.error
        return await super().steps(user, session)


@pytest.mark.parametrize(
    "error", [StoreFullError("zhang1"), OSError("INSERT zhang1")], ids=["kit", "foreign"]
)
@pytest.mark.parametrize("room", [0, 1])
def test_nothing_is_acknowledged_that_was_not_stored(rig: Any, room: int, error: Exception) -> None:
    """Two tasks, of which one cannot be stored: the turn ends in error, with a fixed text and no answer."""
    made, parent = rules(rig)
    parent.store = _FullStore(room, error)
    (answer,) = talk(made, parent, ("u", "查张伟的账单 编号〔zhang1〕 查李娜的账单 编号〔li1〕"))
    assert answer == in_language("not_stored", Language.CHINESE)
    assert states(made)[-1] == "error"
    assert "zhang1" not in repr(made.watcher.named("log_line"))


def test_a_store_that_cannot_be_read_ends_a_follow_up(rig: Any) -> None:
    """No child starts for a step that nobody could read."""
    made, parent = rules(rig)
    parent.store = _FullStore(0, OSError("disk"))
    assert talk(made, parent, ("u", "张伟的账单最便宜吗")) == [in_language("not_stored", Language.CHINESE)]
    assert made.watcher.named("delegation_began") == []


@pytest.mark.parametrize(
    "step",
    [
        5,
        None,
        ["subject"],
        "subject",
        {"subject": 1},
        {"subject": "张伟"},
        {"subject": "张伟", "inputs": 5},
        {"subject": ["张伟"], "inputs": {}},
        {"subject": "张伟", "inputs": {"id": 5}},
    ],
    ids=repr,
)
def test_a_stored_step_of_another_shape_is_none(rig: Any, step: Any) -> None:
    """Others may write into the session too; a follow-up finds what is a step and no more."""
    made, parent = rules(rig)
    asyncio.run(parent.store.append("u", "s", step))
    (answer,) = talk(made, parent, ("u", "张伟的账单最便宜吗"))
    assert answer == "张伟: 没有找到此前的查询：请写明账单编号。"


# -- foreign code that raises ----------------------------------------------------------------------------


class _Broken:
    """A model whose client puts the request into its error."""

    async def reply(self, request: Any) -> ModelReply:
        raise RuntimeError(f"400 bad request: {request.messages}")


def test_a_failing_model_of_the_parent_is_told_in_fixed_words(rig: Any, worker: ChildSpec) -> None:
    """Its error reaches neither the user nor the log, and the history stays whole."""
    made = rig({})
    runtime = replace(made.runtime, model=lambda agent: _Broken())
    scope = ParentScope("u", "s")
    answer = asyncio.run(task_turn(runtime, TaskParent("parent", "Plan.", ()), scope, "secret-7"))
    assert answer == MODEL_FAILED_REPLY
    assert states(made)[-1] == "error"
    assert "secret-7" not in repr(made.watcher.named("log_line"))
    assert scope.history[-1].content == answer


def test_a_launcher_that_raises_is_a_failure_like_another(rig: Any) -> None:
    """The user reads a sentence of the parent; the exception's words stay where they were caught."""

    async def broken(*_: Any) -> bytes:
        raise OSError("cannot fork for zhang1")

    made, parent = rules(rig)
    made = replace(made, runtime=replace(made.runtime, launch=broken))
    assert talk(made, parent, CONVERSATION[0]) == ["张伟: 处理出错，请稍后再试。"]
    assert "zhang1" not in repr(made.watcher.named("log_line"))
    assert len(made.watcher.named("delegation_ended")) == 1


def test_a_fault_of_the_kit_passes_and_still_ends_the_turn(rig: Any) -> None:
    """What the kit itself got wrong is not dressed up as a busy system."""

    async def faulty(*_: Any) -> bytes:
        raise KitError("a fault")

    made, parent = rules(rig)
    made = replace(made, runtime=replace(made.runtime, launch=faulty))
    with pytest.raises(KitError, match="a fault"):
        talk(made, parent, CONVERSATION[0])
    assert states(made)[-1] == "error"
