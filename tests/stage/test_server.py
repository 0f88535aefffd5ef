"""The puppets' endpoint on 127.0.0.1: the same answers over a socket, and whose call is whose."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from support_team import AGENTS, TASK_TOOL

from isolation_kit.errors import KitError
from isolation_kit.policy import crossing
from isolation_kit.scenario import Answer, Delegate, Place, Scenario, TurnPlan
from isolation_kit.stage import Ledger, Recorder, Runner, Stage
from isolation_kit.stage.case import Case
from isolation_kit.stage.server import Endpoint
from isolation_kit.target import Turn, declaration_of, target
from isolation_kit.trace import Channel, Trace


def opened(run_id: str = "r0") -> Stage:
    """A stage in the middle of a case whose first turn is open."""
    scenario = Scenario("noise-injection", "server", 7, (TurnPlan(0, "Hello", (Answer(f"I am {run_id}."),)),))
    case = Case(scenario, declaration_of(team(leaky=False)), Recorder(Ledger(seed=7), scenario, "c"))
    stage = Stage(lambda _: "", run_id)
    stage.enter(case)
    case.begin(0)
    return stage


def ask(url: str, body: Any, path: str = "/chat/completions") -> httpx.Response:
    """One request over the socket."""
    return httpx.post(f"{url}{path}", json=body, trust_env=False)


def test_stages_of_several_runs_share_one_server() -> None:
    """The path says whose puppets answer; each run's own model name is needed there."""
    with Endpoint() as endpoint:
        urls = {run: endpoint.url(opened(run)) for run in ("r1", "r2")}
        assert len({httpx.URL(url).port for url in urls.values()}) == 1
        for run, url in urls.items():
            answer = ask(url, {"model": f"{run}~support", "messages": []})
            assert answer.json()["choices"][0]["message"]["content"] == f"I am {run}."
        assert ask(urls["r1"], {"model": "r2~support", "messages": []}).status_code == 404


def test_no_local_sockets_is_said_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing may listen on the loopback, the error names the way in process."""

    def forbidden(*_: Any, **__: Any) -> socket.socket:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "create_server", forbidden)
    stage = opened()
    with pytest.raises(KitError, match=r"Operation not permitted.*ASGITransport"):
        Endpoint().url(stage)


def test_the_socket_answers_as_the_app_in_process_does() -> None:
    """One app, two doors: equal bytes, and the socket closes after each answer."""
    body = {"model": "r0~support", "messages": []}
    with Endpoint() as endpoint:
        answer = ask(endpoint.url(opened()), body)
        listed = httpx.get(f"{endpoint.url(opened())}/models", trust_env=False).json()
    transport = httpx.ASGITransport(app=opened().app)
    in_process = asyncio.run(_post(transport, body))
    assert answer.content == in_process.content
    assert answer.headers["connection"] == "close"
    assert [model["id"] for model in listed["data"]] == ["r0~support", "r0~billing"]


async def _post(transport: httpx.ASGITransport, body: Any) -> httpx.Response:
    async with httpx.AsyncClient(transport=transport, base_url="http://puppets/r0/v1") as web:
        return await web.post("/chat/completions", json=body)


def test_the_endpoint_starts_at_first_use_and_frees_its_port() -> None:
    """No server before the first URL, none after close, and a second start works."""
    endpoint = Endpoint()
    assert not endpoint.running
    stage = opened()
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
