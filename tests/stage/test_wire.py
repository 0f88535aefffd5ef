"""The puppets' endpoint: HTTP in, ModelCall out, and back; in process and on a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support_team import AGENTS

from isolation_kit.scenario import Answer, Place, Scenario, TurnPlan
from isolation_kit.stage import Ledger, ModelCall, ModelReply, Recorder, Stage, ToolUse, wire
from isolation_kit.stage.case import Case
from isolation_kit.stage.chat_completions import UNKNOWN_AGENT
from isolation_kit.stage.wire import Wire
from isolation_kit.target import Turn, declaration_of, target
from isolation_kit.trace import Channel

USER = Place("user.current").placeholder
TASK = Place("task.input").placeholder
SCENARIO = Scenario("noise-injection", "wire", 7, (TurnPlan(0, f"Hello {USER}", (Answer("Hi."),)),))
TEXTS = st.text(max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@target(root="support", agents=AGENTS)
async def hand_written(stage: Stage) -> AsyncIterator[Callable[[Turn], Any]]:
    """A declaration for cases that the tests drive themselves."""
    yield lambda turn: turn.text


class Echo:
    """A stage that keeps the calls that it gets and gives one reply."""

    run_id = "r0"

    def __init__(self, reply: ModelReply) -> None:
        declaration = declaration_of(hand_written)
        self.case = Case(SCENARIO, declaration, Recorder(Ledger(seed=7), SCENARIO, "c"))
        self.calls: list[ModelCall] = []
        self._reply = reply

    async def answer(self, call: ModelCall) -> ModelReply:
        self.calls.append(call)
        return self._reply


def ask(app: Any, body: Any, *, path: str = "/r0/v1/chat/completions", headers: Any = None) -> httpx.Response:
    """One request to the app in process."""

    async def post() -> httpx.Response:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url="http://puppets"
        ) as web:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            return await web.post(path, content=content, headers=headers)

    return asyncio.run(post())


def opened() -> tuple[Stage, Case]:
    """A stage in the middle of a case whose first turn is open."""
    recorder = Recorder(Ledger(seed=7), SCENARIO, SCENARIO.base_digest())
    case = Case(SCENARIO, declaration_of(hand_written), recorder)
    stage = Stage(lambda _: "", "r0")
    stage.enter(case)
    case.begin(0)
    return stage, case


@given(
    messages=st.lists(st.dictionaries(TEXTS, JSON, max_size=3), max_size=3),
    extra=st.dictionaries(st.sampled_from(["user", "metadata", "response_format"]), JSON, max_size=2),
)
def test_a_request_reaches_the_puppet_unchanged(
    messages: list[dict[str, Any]], extra: dict[str, Any]
) -> None:
    """Every message and every further field of a request is in the ModelCall, whatever it holds."""
    echo = Echo(ModelReply("fine"))
    answer = ask(Wire((echo,)), {"model": "r0~billing", "messages": messages, **extra})
    assert answer.status_code == 200
    assert (echo.calls[0].agent, echo.calls[0].messages) == ("billing", tuple(messages))
    assert echo.calls[0].extra == extra


@given(text=st.text(st.characters(), max_size=30), query=st.text(st.characters(), max_size=30))
def test_a_reply_reaches_the_client_unchanged(text: str, query: str) -> None:
    """Text and tool arguments of a reply survive the wire, lone surrogates included."""
    echo = Echo(ModelReply(text, (ToolUse("call_1", "lookup", {"query": query}),)))
    choice = ask(Wire((echo,)), {"model": "r0~support", "messages": []}).json()["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert (choice["message"]["content"] or "") == text
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {"query": query}


GOOD = {"model": "r0~billing", "messages": []}
REFUSED = {
    "streaming": ({**GOOD, "stream": True}, "/r0/v1/chat/completions", 400),
    "unknown run": (GOOD, "/r9/v1/chat/completions", 404),
    "another run's model": ({**GOOD, "model": "r9~billing"}, "/r0/v1/chat/completions", 404),
    "unknown agent": ({**GOOD, "model": "r0~sales"}, "/r0/v1/chat/completions", 404),
    "plain model name": ({**GOOD, "model": "gpt-5"}, "/r0/v1/chat/completions", 404),
    "no JSON": (b"{", "/r0/v1/chat/completions", 400),
    "no UTF-8": (b'{"model": "\xff"}', "/r0/v1/chat/completions", 400),
    "endless nesting": (b"[" * 200_000, "/r0/v1/chat/completions", 400),
    "equal keys": (
        b'{"model": "r0~billing", "messages": [], "messages": []}',
        "/r0/v1/chat/completions",
        400,
    ),
    "no object": ([1], "/r0/v1/chat/completions", 400),
    "no messages": ({"model": "r0~billing"}, "/r0/v1/chat/completions", 400),
    "text as message": ({**GOOD, "messages": ["hi"]}, "/r0/v1/chat/completions", 400),
    "no model": ({"messages": []}, "/r0/v1/chat/completions", 400),
    "another API": (GOOD, "/r0/v1/responses", 404),
}


@pytest.mark.parametrize(("body", "path", "status"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_served_is_refused_and_kept_as_a_problem(body: Any, path: str, status: int) -> None:
    """A refusal has OpenAI's error shape, and the running case says that it happened."""
    stage, case = opened()
    answer = ask(stage.app, body, path=path)
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    assert any("refused a request" in problem for problem in case.recorder.problems)


def test_a_good_request_leaves_no_problem() -> None:
    """The clean twin of the refusals: a call that is served is no problem."""
    stage, case = opened()
    answer = ask(stage.app, {"model": "r0~support", "messages": [], "stream": False, "tools": None})
    assert answer.json()["choices"][0]["message"] == {"role": "assistant", "content": "Hi."}
    assert case.recorder.problems == []


@pytest.mark.parametrize("model", ["r0~sales", "r0~billing"], ids=["unknown agent", "streaming"])
def test_a_refused_call_is_still_searched(model: str) -> None:
    """A canary in a call that gets no answer is seen, and no message shows it."""
    stage, case = opened()
    token = case.fill(USER)
    body = {"model": model, "messages": [{"role": "user", "content": token}], "stream": True}
    answer = ask(stage.app, body)
    trace = case.recorder.trace()
    seen = {event.agent for event in trace.seen(Channel.CHILD_REQUEST)}
    assert seen == {UNKNOWN_AGENT if model.endswith("sales") else "billing"}
    assert trace.sightings
    assert token not in answer.text + "".join(trace.problems)


def test_a_call_outside_a_case_is_refused() -> None:
    """Without a running case there is nothing to answer from, and nothing breaks."""
    answer = ask(Stage(lambda _: "", "r0").app, GOOD)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "no_case")


def test_a_body_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The endpoint reads no more than its limit, and says so."""
    monkeypatch.setattr(wire, "MAX_BODY", 100)
    stage, case = opened()
    body = {**GOOD, "messages": [{"role": "user", "content": "x" * 100}]}
    assert ask(stage.app, body).status_code == 413
    assert any("longer than 100 bytes" in problem for problem in case.recorder.problems)
    assert ask(stage.app, GOOD).status_code == 200


def test_a_fault_of_the_kit_is_no_answer() -> None:
    """If the kit itself fails, the client gets a 500 and the case a problem that names the type alone."""

    class Broken(Echo):
        async def answer(self, call: ModelCall) -> ModelReply:
            raise RuntimeError("sk-fake")

    broken = Broken(ModelReply(""))
    answer = ask(Wire((broken,)), GOOD)
    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "server_error")
    assert broken.case.recorder.problems == ["the endpoint failed with RuntimeError"]
    assert "sk-fake" not in answer.text


def test_headers_pass_without_credentials_and_transport() -> None:
    """A header of the child's request is recorded; keys, cookies, host and lengths are not."""
    stage, case = opened()
    headers = {"x-tenant": "acme", "authorization": "Bearer sk-fake", "cookie": "sid=fake"}
    ask(stage.app, GOOD, headers=headers)
    recorded = json.loads(case.recorder.trace().seen(Channel.CHILD_HEADERS)[0].data)
    assert recorded["x-tenant"] == "acme"
    assert not {"authorization", "cookie", "host", "content-length"} & set(recorded)
