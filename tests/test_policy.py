"""Who may see what: every slot on every channel against a plain reading of the rules, and `[[allow]]`."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import CHANNELS, SLOTS, names, slots

from isolation_kit.finding import Direction, Finding, Fingerprint
from isolation_kit.policy import Allow, Policy, audience, crossing, denied_to_children
from isolation_kit.scenario import Place, Slot
from isolation_kit.target import Agent, Declaration, Tool, Via
from isolation_kit.trace import CHILD_CHANNELS, SINKS, Channel, Event, Planted, Sighting

FIELDS = {"type": "object", "properties": {"note": {"type": "string"}}}
OPEN = Declaration("t", "boss", {"boss": Agent({"kid": Via("task")}), "kid": Agent(tools=(Tool("find"),))})
STRICT = replace(OPEN, agents={**OPEN.agents, "kid": Agent(tools=(Tool("find", FIELDS),))})
CHILD_SIDE = (*sorted(CHILD_CHANNELS), Channel.RESULT)
TABLE = [(slot, channel) for slot in SLOTS for channel in Channel]


def judged(
    slot: str,
    channel: Channel,
    *,
    declaration: Declaration = STRICT,
    place: Place | None = None,
    event: Event | None = None,
    live: bool = True,
    sessions: dict[int, str] | None = None,
) -> Direction | None:
    """One token of `slot` seen on `channel` by its own user, session, subject and child instance."""
    place = place or Place(slot)
    agent = "kid" if channel in CHILD_SIDE else "boss"
    event = event or Event(1, channel, agent, b"", 0 if agent == "kid" else -1, 0, "s", 0, -1)
    own = slot.startswith(("task.", "child."))
    given_to = {place: (Planted(0, place, "tok", "kid" if own else "", 0 if own else -1),)}
    sighting = Sighting(1, place, "case", 0, "verbatim", "confirmed", live, "d")
    return crossing(sighting, event, given_to, declaration, sessions or {0: "s"})


def may_see(slot: str, channel: str) -> bool:
    """The rules as a person would say them; written without a look at the kit's table."""
    task = slot.startswith("task.")
    answer = slot == "child.answer"
    kept_from_user = (
        *("parent.system", "parent.description", "parent.tool.noise", "parent.tool.description"),
        *("parent.state", "parent.metadata", "parent.session_id"),
    )
    match channel:
        case "log" | "span" | "process.memory" | "child.headers" | "child.tools":
            return False  # never anything of a person's, whoever's it is
        case "child.tool.result":
            return task or slot.startswith("child.")  # the raw reply, before anything filters it
        case "child.request" | "child.tool.args" | "child.context":
            return task or (slot.startswith("child.") and slot != "child.tool.noise")
        case "result":
            return task or answer
        case "parent.request":
            return task or answer or slot.startswith(("user.", "parent."))
        case "final.output" | "stream":
            from_parent = slot.startswith(("user.", "parent.")) and slot not in kept_from_user
            return task or answer or from_parent
        case "store":
            from_parent = slot.startswith(("user.", "parent."))
            return task or answer or (from_parent and slot not in ("parent.system", "parent.tool.noise"))
        case "artifact":
            return task or answer or slot == "child.tool.result"
        case "environment":
            return slot == "environment"
    raise AssertionError(channel)


@pytest.mark.parametrize(("slot", "channel"), TABLE, ids=[f"{s}-{c}" for s, c in TABLE])
def test_the_whole_table(slot: str, channel: Channel) -> None:
    """Each of the slots on each of the channels is allowed exactly where the rules say so."""
    assert (judged(slot, channel) is None) == may_see(slot, channel)
    assert (slot in audience(channel)) == may_see(slot, channel)


@pytest.mark.parametrize("channel", Channel, ids=str)
@pytest.mark.parametrize("slot", ["x.session_cache", "x.a.b_2"])
def test_own_slots_are_denied_everywhere(slot: str, channel: Channel) -> None:
    """A label that the table does not know is never "visible to all"."""
    assert judged(slot, channel) is not None


@given(slots, st.sampled_from(Channel), st.integers(1, 5))
def test_another_users_token_is_a_leak_on_every_channel(slot: str, channel: Channel, user: int) -> None:
    """Across, even where the slot itself is open."""
    assert judged(slot, channel, place=Place(slot, user=user)) is Direction.ACROSS


@given(slots, st.sampled_from(Channel), st.sampled_from((OPEN, STRICT)))
def test_a_token_of_a_closed_execution_is_residue(slot: str, channel: Channel, kit: Declaration) -> None:
    """After, before any other rule."""
    assert judged(slot, channel, declaration=kit, live=False) is Direction.AFTER


@given(slots, st.sampled_from(CHILD_SIDE))
def test_another_subjects_token_is_a_leak_where_one_person_is_meant(slot: str, channel: Channel) -> None:
    """The children and their results work on one person; the parent and its store hold both."""
    place = Place(slot, subject=1)
    event = Event(1, channel, "kid", b"", 0, 0, "s", 0, 0)
    assert judged(slot, channel, place=place, event=event) is Direction.ACROSS
    upstairs = Event(1, Channel.PARENT_REQUEST, "boss", b"", -1, 0, "s", 0, 0)
    expected = None if may_see(slot, "parent.request") else judged(slot, Channel.PARENT_REQUEST)
    assert judged(slot, Channel.PARENT_REQUEST, place=place, event=upstairs) is expected


@given(slots, st.sampled_from(Channel))
def test_a_token_of_another_session_is_residue(slot: str, channel: Channel) -> None:
    """The same user in a later session starts from nothing."""
    place = Place(slot, turn=0)
    agent = "kid" if channel in CHILD_SIDE else "boss"
    event = Event(1, channel, agent, b"", 0, 0, "s2", 1, -1)
    found = judged(slot, channel, place=place, event=event, sessions={0: "s1", 1: "s2"})
    assert found is Direction.AFTER


@given(st.sampled_from([s for s in SLOTS if s.startswith(("task.", "child."))]), st.sampled_from(Channel))
def test_a_siblings_token_is_a_leak_at_a_child(slot: str, channel: Channel) -> None:
    """Sideways: what was given to the first instance does not belong to the second."""
    agent = "kid" if channel in CHILD_SIDE else "boss"
    event = Event(1, channel, agent, b"", 1, 0, "s", 0, -1)
    found = judged(slot, channel, event=event)
    assert (found is Direction.SIDEWAYS) == (channel in CHILD_CHANNELS)


@pytest.mark.parametrize(("slot", "channel"), TABLE, ids=[f"{s}-{c}" for s, c in TABLE])
def test_the_direction_follows_from_the_edge(slot: str, channel: Channel) -> None:
    """A sink is out; a child's work above it is up; a parent's slot at a child is down."""
    direction = judged(slot, channel)
    if direction is None:
        return
    if channel in SINKS:
        assert direction is Direction.OUT
    elif channel in CHILD_CHANNELS:
        assert direction is Direction.DOWN
    else:
        assert direction is (Direction.UP if slot.startswith("child.") else Direction.OUT)


@pytest.mark.parametrize("channel", [Channel.CHILD_REQUEST, Channel.CHILD_TOOL_ARGS], ids=str)
def test_noise_is_denied_only_where_a_tool_declares_its_fields(channel: Channel) -> None:
    """Without declared fields the whole reply is the child's to read."""
    assert judged("child.tool.noise", channel, declaration=OPEN) is None
    assert judged("child.tool.noise", channel, declaration=STRICT) is Direction.DOWN
    assert judged("parent.tool.noise", channel, declaration=OPEN) is Direction.DOWN


@given(st.lists(slots, max_size=6))
def test_paired_runs_vary_what_no_child_may_see(chosen: list[str]) -> None:
    """Never a task token, never a child's own."""
    assert denied_to_children(chosen) == {s for s in chosen if not s.startswith(("task.", "child."))}


TODAY = date(2026, 3, 1)
entries = st.builds(
    Allow,
    st.sampled_from(("user.current", "field.debug", "*", "user.*")),
    st.sampled_from(("child.request", "log", "*")),
    st.sampled_from(("kid", "writer", "*")),
    names,
    names,
    st.one_of(st.none(), st.integers(-2, 2).map(lambda days: TODAY + timedelta(days))),
)


@given(st.lists(entries, max_size=4), st.sampled_from(("user.current", "field.debug")))
def test_an_entry_opens_exactly_itself(declared: list[Allow], what: str) -> None:
    """Same slot, channel and child, and its last day not passed; there are no wildcards."""
    label = Policy(tuple(declared), today=TODAY).allowed_by(what, "child.request", "kid", "down")
    opening = [
        entry.label
        for entry in declared
        if (entry.slot, entry.channel, entry.child) == (what, "child.request", "kid")
        and (entry.until is None or entry.until >= TODAY)
    ]
    assert label == (opening[0] if opening else "")


def test_the_last_day_still_counts() -> None:
    """`until` is inclusive; the day after, the entry opens nothing."""
    entry = Allow("user.current", "child.request", "kid", "by design", "platform", until=TODAY)
    for days, expected in ((-1, entry.label), (0, entry.label), (1, "")):
        policy = Policy((entry,), today=TODAY + timedelta(days))
        assert policy.allowed_by("user.current", "child.request", "kid", "down") == expected


@pytest.mark.parametrize("way", ["across", "after", "down", "up", "sideways", "out"])
def test_another_users_data_is_opened_by_name_only(way: str) -> None:
    """An entry for the customer's own words opens no other customer's."""
    plain = Allow("user.current", "child.request", "kid", "their own words", "platform")
    named = Allow("user.current", "child.request", "kid", "shared desk", "platform", direction=way)
    ask = ("user.current", "child.request", "kid")
    assert bool(Policy((plain,), today=TODAY).allowed_by(*ask, way)) == (way not in ("across", "after"))
    assert [
        other
        for other in ("across", "after", "down", "up", "sideways", "out")
        if Policy((named,), today=TODAY).allowed_by(*ask, other)
    ] == [way]


def test_a_finding_is_marked_and_stays() -> None:
    """`allowed_by` takes it out of the decision, not out of the report."""
    fingerprint = Fingerprint("t", "boss>kid", "user.current", "child.request", "down")
    open_, marked = Finding(fingerprint, "canary"), Finding(fingerprint, "canary", allowed_by="entry")
    assert (open_.counts, marked.counts) == (True, False)
    assert marked.fingerprint == open_.fingerprint


@given(st.lists(entries, max_size=3), st.lists(entries, max_size=3))
def test_the_digest_tells_policies_apart(one: list[Allow], two: list[Allow]) -> None:
    """The run block of a report names the exceptions that held, owner and reason left out."""

    def plain(allow: list[Allow]) -> list[tuple[str, str, str, date | None]]:
        return [(entry.slot, entry.channel, entry.child, entry.until) for entry in allow]

    same = Policy(tuple(one), TODAY).digest == Policy(tuple(two), TODAY).digest
    assert same == (plain(one) == plain(two))


def test_the_table_covers_every_channel_and_names_only_known_slots() -> None:
    """A channel without a row would raise in the middle of an audit."""
    assert {str(channel) for channel in Channel} == set(CHANNELS)
    assert all(audience(channel) <= set(Slot) for channel in Channel)
