"""Traces: what was seen, read back byte for byte, and looked at by channel and recipient."""

from __future__ import annotations

import pytest
from hypothesis import given
from strategies import traces

from isolation_kit.trace import CHILD_CHANNELS, SINKS, Channel, Event, Planted, Trace

TOKEN = "q7x4" * 5


@given(traces)
def test_json_round_trip(trace: Trace) -> None:
    """All events, sightings and counters survive, bytes included."""
    assert Trace.from_json(trace.to_json()) == trace


@given(traces)
def test_a_view_is_one_recipients_part_in_order(trace: Trace) -> None:
    """The views of all agents over all channels are a partition of the events."""
    agents = {event.agent for event in trace.events}
    views = {agent: trace.view(agent, Channel) for agent in agents}
    assert sum(len(view) for view in views.values()) == len(trace.events)
    for agent, view in views.items():
        assert list(view) == [event for event in trace.events if event.agent == agent]


@given(traces)
def test_seen_takes_one_channel(trace: Trace) -> None:
    """The channels are a partition of the events."""
    seen = [trace.seen(channel) for channel in Channel]
    assert sum(map(len, seen)) == len(trace.events)
    assert all(
        {event.channel for event in part} <= {channel} for channel, part in zip(Channel, seen, strict=True)
    )


def test_reprs_hold_neither_bytes_nor_tokens() -> None:
    """A failing assertion prints reprs: they must not print what was recorded."""
    event = Event(0, Channel.LOG, "parent", TOKEN.encode())
    planted = Planted(0, None, TOKEN)  # type: ignore[arg-type]
    assert TOKEN not in f"{event!r} {planted!r} {Trace('c', (event,), planted=(planted,))!r}"


@pytest.mark.parametrize("channel", Channel, ids=str)
def test_each_channel_has_an_interchange_code(channel: Channel) -> None:
    """AgentLeak's C1 to C7, and a child's channel is never a sink."""
    assert channel.agentleak in {f"C{number}" for number in range(1, 8)}
    assert not {channel} <= CHILD_CHANNELS & SINKS


def test_all_codes_are_used() -> None:
    """The map to AgentLeak covers its seven channels."""
    assert {channel.agentleak for channel in Channel} == {f"C{number}" for number in range(1, 8)}
