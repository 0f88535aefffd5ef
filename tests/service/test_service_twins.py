"""Each twin of the service leaks where the clean one, under the same turns, is silent."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from json import loads
from typing import Any

import pytest

from isolation_kit.errors import UsageError
from isolation_kit.service.desk import BusyError, Sessions
from isolation_kit.service.recording import Recording
from isolation_kit.service.script import Asked
from isolation_kit.service.settings import ServiceSettings
from isolation_kit.service.sharded import Service, opened
from isolation_kit.service.twins import TWINS, Twin

USERS = 8
LATENCY = 0.005


def asked(target: str, user: int, turn: int) -> Asked:
    """A turn whose every word names its user."""
    word = f"w{user}x{turn}"
    task = f"查张伟的账单 编号〔{word}〕" if target == "rules" else f"hello {word} 〔do {word}〕"
    return Asked(f"u_{user}", "s", task, f'{{"description": "r{word}", "trace_id": "t{word}"}}')


async def user(service: Service, target: str, number: int) -> list[tuple[int, str]]:
    """Some turns of a user and a follow-up; the first user breaks all but the last off. The answers."""
    answers = []
    for turn in range(6):
        work = asyncio.ensure_future(service.turn(asked(target, number, turn)))
        if number == 0 and turn < 5 and target == "task":
            # At another moment each time, so that one of them falls between a call and its reply.
            await asyncio.wait([work], timeout=LATENCY * (2 + turn))
            work.cancel()
        else:
            answers.append((number, await work))
    if target == "rules":
        answers.append((number, await service.turn(Asked(f"u_{number}", "s", "张伟的账单最便宜吗"))))
    return answers


async def foreign(target: str, twin: str) -> tuple[int, int]:
    """How many answers, and how many views of children, name another user."""
    recording = Recording("x" * 16)
    settings: dict[str, Any] = {"target": target, "twin": twin, "parents": 4, "latency": LATENCY}
    async with opened(ServiceSettings(**settings), recording) as service:
        work: list[Coroutine[Any, Any, list[tuple[int, str]]]] = [
            user(service, target, number) for number in range(USERS)
        ]
        answers = [pair for pairs in await asyncio.gather(*work) for pair in pairs]
    views = loads(recording.batch(empty=True))["views"]
    return (
        sum(_names_other(number, text) for number, text in answers),
        sum(_names_other(int(view["user"][2:]), view["text"]) for view in views),
    )


def _names_other(number: int, text: str) -> bool:
    return any(f"w{other}x" in text for other in range(USERS) if other != number)


@pytest.mark.parametrize("twin", TWINS, ids=[twin.name for twin in TWINS])
def test_a_twin_leaks(twin: Twin) -> None:
    """Another user's words are in an answer, or in what a child saw."""
    answers, views = asyncio.run(foreign(twin.target, twin.name))
    assert answers + views > 0


@pytest.mark.parametrize("target", ["task", "rules"])
def test_the_clean_service_is_silent(target: str) -> None:
    """The same turns, the same interleaving, nobody else's word anywhere."""
    assert asyncio.run(foreign(target, "")) == (0, 0)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"twin": "nobody"}, "allowed: shared-identity"),
        ({"twin": "pooled-store", "target": "task"}, "--target rules"),
    ],
    ids=["unknown", "other target"],
)
def test_a_wrong_twin_is_refused(settings: dict[str, Any], said: str) -> None:
    """The message names what there is."""

    async def run() -> None:
        async with opened(ServiceSettings(**settings)):
            pass

    with pytest.raises(UsageError, match=said):
        asyncio.run(run())


@pytest.mark.parametrize(
    ("field", "value"),
    [("target", "both"), ("launch", "rocket"), ("parents", 65), ("latency", -1), ("sessions", 0)],
)
def test_settings_out_of_bounds_are_refused(field: str, value: Any) -> None:
    """The message says what is allowed."""
    with pytest.raises(UsageError, match="allowed"):
        ServiceSettings(**{field: value})


def test_the_death_of_a_parent_touches_its_own_users_only() -> None:
    """Its users go on elsewhere without their sessions; all others keep theirs."""

    async def run() -> set[str]:
        async with opened(ServiceSettings(latency=0)) as service:
            everyone = [Asked(f"u_{number}", "s", "one") for number in range(100)]
            for one in everyone:
                await service.turn(one)
            before = {key[0] for key in service.sessions._open}
            service.kill("parent-3")
            gone = before - {key[0] for key in service.sessions._open}
            assert all([await service.turn(one) for one in everyone])
            assert service.health()["down"] == ["parent-3"]
            return {user for user in before if service.shard(user) == 3} ^ gone

    assert asyncio.run(run()) == set()


def test_sessions_are_bounded() -> None:
    """Of 10,000 open sessions the longest idle one is closed for the next; busy ones never are."""
    sessions = Sessions(10_000)
    first = sessions.of(Asked("u_0", "s", "one"))
    first.waiting = 1
    for number in range(1, 25_000):
        sessions.of(Asked(f"u_{number}", "s", "one"))
    assert (len(sessions), sessions.closed) == (10_000, 15_000)
    assert sessions.of(Asked("u_0", "s", "two")) is first
    for session in sessions._open.values():
        session.waiting = 1
    with pytest.raises(BusyError):
        sessions.of(Asked("u_x", "s", "one"))


def test_a_slow_listener_loses_the_oldest_views_and_knows_it() -> None:
    """The buffer is bounded; the running number tells how many are missing."""
    recording = Recording("x" * 16, limit=300)
    for number in range(20):
        recording.keep({"text": f"{number:050d}"})
    batch = recording.batch()
    assert b'"next":20,"from":16,' in batch
    assert batch.count(b'"text"') == 4
