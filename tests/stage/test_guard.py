"""Connections off the loopback are refused and reported while a case runs, and only then."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_kit.scenario import Scenario, TurnPlan
from isolation_kit.stage import Ledger, Runner, Stage
from isolation_kit.stage.guard import Guard, is_local
from isolation_kit.target import Agent, Turn, Via, declaration_of, target
from isolation_kit.trace import Trace

FAR = "192.0.2.7"  # TEST-NET-1 (RFC 5737): belongs to nobody
SCENARIO = Scenario("noise-injection", "guard", 7, (TurnPlan(0, "Hello"),))


@given(st.ip_addresses())
def test_only_loopback_and_unspecified_addresses_are_local(address: Any) -> None:
    """The judgement agrees with the standard library for every address, also as an IPv4-mapped one."""
    expected = address.is_loopback or address.is_unspecified
    mapped = getattr(address, "ipv4_mapped", None)
    if mapped is not None:
        expected = mapped.is_loopback or mapped.is_unspecified
    assert is_local(str(address)) == expected
    if isinstance(address, ipaddress.IPv4Address):
        assert is_local(f"::ffff:{address}") == expected


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST.", "api.localhost", "", None, b"127.0.0.1", "::1"])
def test_own_names_are_local(name: object) -> None:
    """The machine's own names pass in every spelling."""
    assert is_local(name)


@pytest.mark.parametrize("name", ["example.com", "localhost.example.com", "127.0.0.1.example.com", 7])
def test_other_names_are_not_local(name: object) -> None:
    """A name that merely looks local does not pass."""
    assert not is_local(name)


def over_tcp() -> None:
    socket.create_connection((FAR, 443), timeout=1)


def over_udp() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"metric", (FAR, 8125))


def by_name() -> None:
    socket.create_connection(("telemetry.example.com", 443), timeout=1)


def in_own_thread() -> None:
    def attempt() -> None:
        with contextlib.suppress(OSError):
            over_tcp()

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()


def run(attempt: Callable[[], None]) -> Trace:
    """The trace of a case in which the target makes one attempt and swallows what comes of it."""

    @target(root="support", agents={"support": Agent({"billing": Via("ask_billing")}), "billing": Agent()})
    async def curious(stage: Stage) -> AsyncIterator[Callable[[Turn], Any]]:
        async def say(turn: Turn) -> str:
            with contextlib.suppress(OSError):
                attempt()
            return "done"

        yield say

    runner = Runner(declaration_of(curious), Ledger(seed=7))
    trace = runner.execute(SCENARIO)
    runner.close()
    return trace


@pytest.mark.parametrize(
    ("attempt", "place"),
    [
        (over_tcp, f"{FAR}:443"),
        (over_udp, f"{FAR}:8125"),
        (by_name, "telemetry.example.com:443"),
        (in_own_thread, f"{FAR}:443"),
    ],
    ids=["tcp", "udp", "name", "thread"],
)
def test_a_way_out_is_refused_and_named(attempt: Callable[[], None], place: str) -> None:
    """Even a target that hides the failure leaves a problem that names host and port."""
    trace = run(attempt)
    assert trace.error == ""
    assert trace.problems == (
        f"the target tried to reach {place}, off the loopback; the connection was refused",
    )


def test_the_loopback_stays_open() -> None:
    """The clean twin: a target that talks to this machine is left alone."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert run(lambda: socket.create_connection(("localhost", port), timeout=1).close()).problems == ()


def test_asyncio_connections_are_refused_too() -> None:
    """A loop's own connect goes the same way."""
    reports: list[str] = []
    guard = Guard()

    def work() -> None:
        guard.watch()
        with guard.active(reports.append), contextlib.suppress(OSError):
            asyncio.run(asyncio.wait_for(asyncio.open_connection(FAR, 443), 1))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(reports) == 1


def test_threads_of_others_are_left_alone() -> None:
    """While a guard is active for a worker, the rest of the process connects where it likes."""
    reports: list[str] = []
    guard = Guard()
    thread = threading.Thread(target=guard.watch)
    thread.start()
    thread.join()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mine, guard.active(reports.append):
        # No route is no matter: the guard would speak first.
        mine.connect_ex((FAR, 9))
    assert reports == []


def test_a_guard_is_inert_between_cases() -> None:
    """Outside a case nothing is judged; inside, the caller gets an ordinary refusal."""
    guard = Guard()
    guard.check("example.com", 443)
    with guard.active(lambda _: None), pytest.raises(ConnectionRefusedError, match=r"example\.com:443"):
        guard.check("example.com", 443)


def test_a_host_name_cannot_carry_a_secret_into_the_report() -> None:
    """A part of a name that is long enough for a canary is shown by its length alone."""
    reports: list[str] = []
    secret = "qx7fake0fake0fake0fk"
    guard = Guard()
    with guard.active(reports.append), pytest.raises(ConnectionRefusedError) as refusal:
        guard.check(f"{secret}.example.com", 53)
    assert secret not in reports[0] + str(refusal.value)
    assert "<20 characters>.example.com:53" in reports[0]
