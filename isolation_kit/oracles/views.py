"""Views that can be compared: what one recipient got in one delegation, free of what may rightly differ.

Live tokens are replaced by their place. The kit's own running ids (`call_000003` of a puppet, `msg_00000007`
of `stage.ids`, `[ref:t1.c0]`) are numbered by first appearance, for a longer case moves them. What a target
cannot keep equal (ids, clocks, counters of its own) is masked by typed JSON paths such as
`messages[*].id: string`, learnt from two runs with one secret; the recorder searches a masked value as well.
Delegations are aligned by turn and ordinal: the second one to `worker` in turn 3 is that in every run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from math import log2
from typing import Any, NamedTuple

from isolation_kit.oracles.masks import embedded, masks_for, parsed, under, without
from isolation_kit.scenario import Place
from isolation_kit.trace import CHILD_CHANNELS, Channel, Event, Planted, Trace

__all__ = [
    "Difference",
    "Key",
    "Label",
    "Seen",
    "View",
    "Views",
    "bits",
    "child_views",
    "differences",
    "first_difference",
    "learn",
    "masked",
    "parent_views",
    "place_label",
    "scripted_label",
]

_OWN_ID = re.compile(rb"\b(?:(call)_\d{6}|([A-Za-z]{1,24})_\d{8})\b|\[(ref):t\d+(?:\.c\d+)?\]")
_PARENT_CHANNELS = frozenset({Channel.PARENT_REQUEST, Channel.RESULT, Channel.FINAL_OUTPUT, Channel.STREAM})
_NODES = 20_000


class Key(NamedTuple):
    """A recipient in one delegation: agent, turn (counted from the first one compared), ordinal in it."""

    agent: str
    turn: int
    ordinal: int = 0


class Seen(NamedTuple):
    """One step of a View: bytes on a channel, made comparable."""

    channel: Channel
    tool: str
    data: bytes


View = tuple[Seen, ...]
Views = dict[Key, View]
Label = Callable[[Place], str]


class Difference(NamedTuple):
    """The first step in which two Views of a recipient differ, and the JSON path in it."""

    key: Key
    channel: Channel
    step: int
    path: str


def place_label(place: Place) -> str:
    """Slot, user, turn and number."""
    return f"{place.label}/{place.n}"


def scripted_label(scripted: Collection[Place]) -> Label:
    """Like `place_label` for places of the script; those that a target plants itself move with the turns."""
    return lambda place: place_label(place) if place in scripted else f"{place.slot}/u{place.user}"


# -- what was seen -----------------------------------------------------------------------------------------


def child_views(
    trace: Trace, *, first_turn: int = 0, masks: Collection[str] = (), label: Label = place_label
) -> Views:
    """The View of each delegation to a child; turns before `first_turn` are left out, later ones move up.

    Args:
        label: what stands in the place of a token.
    """
    ordinals: dict[tuple[str, int, int], int] = {}
    counts: dict[tuple[str, int], int] = {}
    steps: dict[Key, list[Event]] = {}
    for event in trace.events:
        if event.channel not in CHILD_CHANNELS or 0 <= event.turn < first_turn:
            continue
        mine = (event.agent, event.turn, event.instance)
        if mine not in ordinals:
            ordinals[mine] = counts.get(mine[:2], 0)
            counts[mine[:2]] = ordinals[mine] + 1
        steps.setdefault(Key(event.agent, _moved(event.turn, first_turn), ordinals[mine]), []).append(event)
    return _views(steps, trace.planted, masks, label)


def parent_views(
    trace: Trace, root: str, *, first_turn: int = 0, masks: Collection[str] = (), label: Label = place_label
) -> Views:
    """The View of the root agent in each turn: requests, accepted results, what it told the user."""
    steps: dict[Key, list[Event]] = {}
    for event in trace.events:
        if event.channel in _PARENT_CHANNELS and not 0 <= event.turn < first_turn:
            steps.setdefault(Key(root, _moved(event.turn, first_turn)), []).append(event)
    return _views(steps, trace.planted, masks, label)


def _moved(turn: int, first_turn: int) -> int:
    return turn - first_turn if turn >= 0 else turn


def _views(
    steps: Mapping[Key, list[Event]], planted: tuple[Planted, ...], masks: Collection[str], label: Label
) -> Views:
    labels = {text.encode(): f"<{label(item.place)}>".encode() for item in planted for text in item.spellings}
    tokens = re.compile(b"|".join(map(re.escape, labels))) if labels else None
    out: Views = {}
    for key, events in steps.items():
        numbers: dict[bytes, bytes] = {}
        out[key] = tuple([_seen(event, tokens, labels, numbers) for event in events])
    return masked(out, masks)


def _seen(
    event: Event,
    tokens: re.Pattern[bytes] | None,
    labels: Mapping[bytes, bytes],
    numbers: dict[bytes, bytes],
) -> Seen:
    def numbered(match: re.Match[bytes]) -> bytes:
        if match[0] not in numbers:
            numbers[match[0]] = b"%s_#%d" % (match[1] or match[2] or match[3], len(numbers))
        return numbers[match[0]]

    data = event.data
    if tokens is not None:
        data = tokens.sub(lambda match: labels[match[0]], data)
    return Seen(event.channel, event.tool, _OWN_ID.sub(numbered, data))


# -- masks -------------------------------------------------------------------------------------------------


def masked(views: Views, masks: Collection[str]) -> Views:
    """The Views without the values that `masks` name, each by its path and type."""
    if not masks:
        return views
    wanted = frozenset(masks)
    return {
        key: tuple([seen._replace(data=without(seen.data, wanted)) for seen in view])
        for key, view in views.items()
    }


def learn(one: Views, two: Views) -> tuple[frozenset[str], tuple[str, ...]]:
    """What differs between two runs with one secret: the masks that make them equal, and what none can.

    A number or a word is masked whole, in a text only its uuids and times. A text, a list of another length,
    an event more or less cannot be: a mask for those would hide what is looked for.
    """
    masks: set[str] = set()
    rest: set[str] = set()
    for key in sorted({*one, *two}):
        a, b = one.get(key, ()), two.get(key, ())
        for left, right in zip(a, b, strict=False):
            if left == right:
                continue
            for path, old, new in _leaves(left, right):
                found = masks_for(path, old, new)
                masks.update(found)
                if not found:
                    rest.add(f"{left.channel} {path}".rstrip())
        if len(a) != len(b):
            rest.add(f"the number of events at {key.agent!r}")
    return frozenset(masks), tuple(sorted(rest))


# -- comparing ---------------------------------------------------------------------------------------------


def differences(one: Views, two: Views) -> tuple[Difference, ...]:
    """The first difference of each recipient that has one, by key."""
    found = (first_difference(key, one.get(key, ()), two.get(key, ())) for key in sorted({*one, *two}))
    return tuple(item for item in found if item is not None)


def first_difference(key: Key, one: View, two: View) -> Difference | None:
    """Where two Views part, or None if they are equal."""
    for step, (left, right) in enumerate(zip(one, two, strict=False)):
        if left != right:
            path = next((path for path, _, _ in _leaves(left, right)), "")
            return Difference(key, left.channel, step, path)
    if len(one) == len(two):
        return None
    longer, step = (one if len(one) > len(two) else two), min(len(one), len(two))
    return Difference(key, longer[step].channel, step, "(an event more)")


def bits(views: Iterable[View]) -> float:
    """log2 of the number of different Views: what a recipient can learn at most from these runs."""
    return log2(max(1, len(set(views))))


def _leaves(left: Seen, right: Seen) -> Iterator[tuple[str, Any, Any]]:
    """The paths in which two steps differ, with both values; ("", None, None) where they are no JSON."""
    if left.channel != right.channel or left.tool != right.tool:
        yield "(another event)", None, None
        return
    one, two = parsed(left.data), parsed(right.data)
    if one is None or two is None:
        yield "", None, None
        return
    found = False
    for item in _parted(one, two, "", [_NODES]):
        found = True
        yield item
    if not found:
        yield "(order of keys, or spelling)", None, None


def _parted(one: Any, two: Any, path: str, budget: list[int]) -> Iterator[tuple[str, Any, Any]]:
    one, two = embedded(one), embedded(two)
    budget[0] -= 1
    if one == two or budget[0] < 0:
        return
    if isinstance(one, dict) and isinstance(two, dict):
        for key in [*one, *(key for key in two if key not in one)]:
            if key in one and key in two:
                yield from _parted(one[key], two[key], under(path, key), budget)
            else:
                yield f"{under(path, key)} (one has it)", None, None
    elif isinstance(one, list) and isinstance(two, list):
        for left, right in zip(one, two, strict=False):
            yield from _parted(left, right, f"{path}[*]", budget)
        if len(one) != len(two):
            yield f"{path} (length)".lstrip(), None, None
    else:
        yield path, one, two
