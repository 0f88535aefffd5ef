"""Only declared fields cross, recursively and closed-world, by strict parsing; the rest is a fingerprint.

Looks at the brief as the child gets it, at tool replies as the child's model sees them, and at the result as
it goes up, each against the schema that the target declares. Walks the schema itself: JSON Schema lets
undeclared keys pass by default.
A text that breaks a declared pattern, format, enum or length is told as well.
Kills: 10, 11, 13, 14, 15, 17, 18, 49 and 51 of the table of seeded defects.
Source: article 000 sections 2.2, 3.2 and 4.4.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from isolation_kit.errors import StrictJSONError
from isolation_kit.finding import Direction, Finding, Fingerprint, Judgement
from isolation_kit.oracles.misfits import misfits
from isolation_kit.oracles.names import shown_name
from isolation_kit.oracles.protocol import Oracle, Variant, mode_of, verdict_of
from isolation_kit.policy import Policy
from isolation_kit.scenario import Scenario
from isolation_kit.strictjson import loads
from isolation_kit.target import Declaration, Schema
from isolation_kit.trace import Channel, Event, Trace

__all__ = ["ORACLE", "undeclared"]

_NAME = "contract"
_UNREADABLE = "(not strict JSON)"
_MORE = "(more fields)"
_UNDECLARED = "undeclared field"
_NODES = 20_000
_NAMES = 12  # different field names an event: a flood of keys is one fault, not hundreds


def _check(
    scenario: Scenario, declaration: Declaration, policy: Policy
) -> Generator[tuple[Variant, ...], tuple[Trace, ...], Judgement]:
    agents = declaration.agents.values()
    if not any(agent.brief or agent.result or agent.declares_fields for agent in agents):
        return Judgement.not_applicable(_NAME, "the target declares no brief, result or tool fields")
    (trace,) = yield (Variant(scenario),)
    if not any(event.agent != declaration.root for event in trace.events):
        return Judgement.not_applicable(_NAME, "no child was reached")
    tokens = tuple(text for item in trace.planted for text in item.spellings)
    seen: dict[Fingerprint, Finding] = {}
    for event in _last_words(trace.events):
        names: set[str] = set()
        for channel, path, tool, form in _violations(event, declaration):
            name = _shown(path[-1], tokens)
            if name not in names and len(names) >= _NAMES:
                path, name = (*path[:-1], _MORE), _MORE
            names.add(name)
            finding = _finding(scenario, declaration, policy, event, channel, path, tool, form, tokens)
            seen.setdefault(finding.fingerprint, finding)
    findings = tuple(seen[key] for key in sorted(seen))
    return Judgement(_NAME, verdict_of(findings), findings)


ORACLE = Oracle(
    name=_NAME,
    claim="only declared fields cross, at every depth",
    check=_check,
    every={"quick": 1, "ci": 1, "deep": 1},
    source="article 000 section 3.2",
    scheduled=True,
)

Path = tuple[str, ...]


def _last_words(events: tuple[Event, ...]) -> Iterator[Event]:
    """The events without those requests that a later one of the same child repeats and goes on from."""
    later: dict[tuple[str, int], bytes] = {}
    kept = []
    for event in reversed(events):
        if event.channel is Channel.CHILD_REQUEST:
            key = (event.agent, event.instance)
            if key in later and later[key].startswith(event.data[:-2]):
                continue
            later[key] = event.data
        kept.append(event)
    return reversed(kept)


def undeclared(schema: Schema, value: Any) -> Iterator[Path]:
    """The paths of all keys in `value` that `schema` does not declare, closed-world (list indices left out).

    A subschema without `properties` and `items` declares a plain value: an object or list there is undeclared
    content. `additionalProperties: true` or a schema opens that level.
    """
    if isinstance(value, dict | list):
        yield from _walk(schema, value, (), [_NODES])


def _walk(schema: Schema, value: Any, path: Path, budget: list[int]) -> Iterator[Path]:
    """The undeclared keys in an object or list; a plain value has none."""
    budget[0] -= 1
    if budget[0] < 0:
        return
    if isinstance(value, list):
        yield from _walk_list(schema, value, path, budget)
        return
    properties = schema.get("properties", {})
    extra = schema.get("additionalProperties", False)
    for key, item in value.items():
        inner = properties.get(key, extra)
        if inner is False:
            yield (*path, str(key))
        elif isinstance(item, dict | list) and isinstance(inner, Mapping):
            yield from _walk(inner, item, (*path, str(key)), budget)


def _walk_list(schema: Schema, value: list[Any], path: Path, budget: list[int]) -> Iterator[Path]:
    items = schema.get("items")
    if isinstance(items, Mapping):
        for item in value:
            if isinstance(item, dict | list):
                yield from _walk(items, item, path, budget)
    elif items is None and schema.get("type") not in (None, "array"):
        yield from [(*path, "[]")] * len(value)


def _violations(event: Event, declaration: Declaration) -> Iterator[tuple[Channel, Path, str, str]]:
    agent = declaration.agents.get(event.agent)
    if agent is None or event.agent == declaration.root:
        return
    if event.channel is Channel.CHILD_CONTEXT and agent.brief is not None and not event.tool:
        yield from ((event.channel, path, "", form) for path, form in _strict(agent.brief, event.data))
    elif event.channel is Channel.RESULT and agent.result is not None:
        yield from ((event.channel, path, "", form) for path, form in _strict(agent.result, event.data))
    elif event.channel is Channel.CHILD_REQUEST and agent.declares_fields:
        for name, content in _tool_messages(event.data):
            tool = agent.tool(name)
            if tool is not None and tool.fields is not None:
                for path, form in _strict(tool.fields, content, True):
                    yield event.channel, path, name, form


def _strict(schema: Schema, data: bytes | str, reply: bool = False) -> Iterator[tuple[Path, str]]:
    try:
        value = loads(data)
    except StrictJSONError:
        yield (_UNREADABLE,), _UNDECLARED
        return
    if reply and isinstance(value, Mapping) and set(value) == {"error"}:
        return  # the runtime's own words about a reply that it refused
    yield from ((path, _UNDECLARED) for path in undeclared(schema, value))
    if not reply:
        yield from ((path, "broken rule") for path in misfits(schema, value))


def _tool_messages(body: bytes) -> Iterator[tuple[str, str]]:
    """(tool name, content) of the tool messages of a request in OpenAI chat form."""
    try:
        messages = json.loads(body).get("messages", [])
    except (ValueError, AttributeError, RecursionError):
        return
    names: dict[str, str] = {}
    for message in messages if isinstance(messages, list) else []:
        if not isinstance(message, Mapping):
            continue
        for call in message.get("tool_calls") or ():
            if isinstance(call, Mapping):
                function = call.get("function", call)
                names[str(call.get("id"))] = str(function.get("name", ""))
        content = message.get("content")
        if message.get("role") == "tool" and isinstance(content, str):
            yield names.get(str(message.get("tool_call_id")), str(message.get("name", ""))), content


def _finding(
    scenario: Scenario,
    declaration: Declaration,
    policy: Policy,
    event: Event,
    channel: Channel,
    path: Path,
    tool: str,
    form: str,
    tokens: tuple[str, ...],
) -> Finding:
    direction = Direction.UP if channel is Channel.RESULT else Direction.DOWN
    what = f"field.{_shown(path[-1], tokens)}"
    return Finding(
        Fingerprint(declaration.name, declaration.edge(event.agent), what, str(channel), str(direction)),
        _NAME,
        mode=mode_of(scenario),
        form=form,
        path="/".join(_shown(part, tokens) for part in path),
        source_tool=tool,
        turn=event.turn,
        user=event.user,
        instance=event.instance,
        allowed_by=policy.allowed_by(what, str(channel), event.agent, direction),
    )


def _shown(key: str, tokens: tuple[str, ...]) -> str:
    return key if key in (_UNREADABLE, _MORE) else shown_name(key, tokens)
