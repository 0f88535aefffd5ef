"""The puppets' endpoint: HTTP in, ModelCall out, and back; in process and on a socket."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.policy import crossing
from isolation_kit.scenario import Answer, Delegate, Place, Scenario, TurnPlan
from isolation_kit.stage import Ledger, ModelCall, ModelReply, Recorder, Runner, Stage, ToolUse
from isolation_kit.stage.case import Case
from isolation_kit.stage.server import Endpoint
from isolation_kit.stage.wire import UNKNOWN_AGENT, Wire
from isolation_kit.target import Agent, Turn, Via, declaration_of, target
from isolation_kit.trace import Channel, Trace

USER = Place("user.current").placeholder
TASK = Place("task.input").placeholder
TASK_TOOL = {
    "type": "function",
    "function": {
        "name": "ask_billing",
        "parameters": {"properties": {"task": {"type": "string"}}, "required": ["task"]},
    },
}
AGENTS = {"support": Agent(children={"billing": Via("ask_billing")}), "billing": Agent()}
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

    def reply(self, call: ModelCall) -> ModelReply:
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


def test_headers_pass_without_credentials_and_transport() -> None:
    """A header of the child's request is recorded; keys, cookies, host and lengths are not."""
    stage, case = opened()
    headers = {"x-tenant": "acme", "authorization": "Bearer sk-fake", "cookie": "sid=fake"}
    ask(stage.app, GOOD, headers=headers)
    recorded = json.loads(case.recorder.trace().seen(Channel.CHILD_HEADERS)[0].data)
    assert recorded["x-tenant"] == "acme"
    assert not {"authorization", "cookie", "host", "content-length"} & set(recorded)


def test_the_socket_answers_as_the_app_in_process_does() -> None:
    """One app, two doors: equal bytes, and the socket closes after each answer."""
    stage, _ = opened()
    with Endpoint() as endpoint:
        over_socket = httpx.get(f"{endpoint.url(stage)}/models", trust_env=False)
        refused = httpx.post(f"{endpoint.url(stage)}/responses", json={}, trust_env=False)
    assert [model["id"] for model in over_socket.json()["data"]] == ["r0~support", "r0~billing"]
    assert over_socket.headers["connection"] == "close"
    assert refused.content == ask(stage.app, {}, path="/r0/v1/responses").content


def test_the_endpoint_starts_at_first_use_and_frees_its_port() -> None:
    """No server before the first URL, none after close, and a second start works."""
    endpoint = Endpoint()
    assert not endpoint.running
    stage, _ = opened()
    for _ in range(2):
        url = httpx.URL(endpoint.url(stage))
        assert httpx.get(f"{url}/models", trust_env=False).status_code == 200
        endpoint.close()
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((url.host, url.port or 0), timeout=1)
    assert not endpoint.running


def team(leaky: bool) -> Any:
    """A parent and a child over the socket; the leaky one shows the child the user's words in metadata."""

    @target(root="support", agents=AGENTS)
    async def over_http(stage: Stage) -> AsyncIterator[Callable[[Turn], Any]]:
        async with httpx.AsyncClient(base_url=stage.base_url, trust_env=False) as web:

            async def complete(agent: str, text: str, **more: Any) -> dict[str, Any]:
                body = {
                    "model": stage.model_name(agent),
                    "messages": [{"role": "user", "content": text}],
                    **more,
                }
                reply = (await web.post("/chat/completions", json=body)).raise_for_status().json()
                message: dict[str, Any] = reply["choices"][0]["message"]
                return message

            async def say(turn: Turn) -> str:
                message = await complete("support", turn.text, tools=[TASK_TOOL])
                for call in message.get("tool_calls", ()):
                    task = json.loads(call["function"]["arguments"])["task"]
                    more = {"metadata": {"asked": turn.text}} if leaky else {}
                    await complete("billing", task, **more)
                    message = await complete("support", turn.text)
                return str(message["content"])

            yield say

    return over_http


def run(factory: Any, scenario: Scenario) -> tuple[Trace, set[tuple[str, str, str]]]:
    """The trace of one case over the socket, and what crossed a boundary as (agent, slot, direction)."""
    declaration = declaration_of(factory)
    with Endpoint() as endpoint:
        runner = Runner(declaration, Ledger(seed=7), endpoint=endpoint.url)
        trace = runner.execute(scenario)
        runner.close()
    events = {event.seq: event for event in trace.events}
    sessions = {index: turn.session for index, turn in enumerate(scenario.turns)}
    crossed = set()
    for sighting in trace.sightings:
        event = events[sighting.seq]
        direction = crossing(sighting, event, {}, declaration, sessions)
        if direction:
            crossed.add((event.agent, sighting.place.slot, str(direction)))
    return trace, crossed


def delegating(users: int) -> Scenario:
    """One delegating turn a user; with several users all turns run at once."""
    turns = tuple(
        TurnPlan(
            user,
            f"Check this {Place('user.current', user, -1, user).placeholder}",
            (Delegate(0, f"Look at {Place('task.input', user, -1, user).placeholder}", (Answer("Done."),)),),
            session=f"s{user}",
        )
        for user in range(users)
    )
    names = tuple(f"u_{user}" for user in range(users))
    return Scenario("cross-user", "wire", 7, turns, users=names, concurrent=users > 1)


@pytest.mark.parametrize("users", [1, 4], ids=["alone", "at once"])
def test_a_leak_in_a_field_beside_the_messages_is_seen(users: int) -> None:
    """What a child's request holds outside its messages counts, and each user's call stays that user's."""
    trace, crossed = run(team(leaky=True), delegating(users))
    assert (trace.error, trace.problems) == ("", ())
    assert crossed == {("billing", "user.current", "down")}


@pytest.mark.parametrize("users", [1, 4], ids=["alone", "at once"])
def test_the_clean_team_is_silent(users: int) -> None:
    """The same team without the extra field: no finding, no problem, every turn answered, every task seen."""
    trace, crossed = run(team(leaky=False), delegating(users))
    assert (trace.error, trace.problems, crossed) == ("", (), set())
    assert trace.answered == (True,) * users
    tasks = {event.user for event in trace.seen(Channel.CHILD_REQUEST)}
    assert tasks == set(range(users))
