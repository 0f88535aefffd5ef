"""What crosses a child's pipe, as JSON values: briefs, specs, messages, calls. Only known shapes come back.

The child trusts what its parent sends. The parent does not trust what a child sends, so whatever comes up is
checked for its types here; who the child is, which tools it has and what headers it sends, it cannot say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any

from isolation_kit.errors import UsageError
from isolation_kit.runtime.brief import TaskBrief
from isolation_kit.runtime.child import ChildSpec, WayDown
from isolation_kit.runtime.contract import Contract
from isolation_kit.runtime.fields import Dropped
from isolation_kit.runtime.loops import LoopLimits
from isolation_kit.runtime.messages import Message, ModelReply, ToolCall, ToolSpec
from isolation_kit.runtime.process.frames import FrameError
from isolation_kit.runtime.result import Reason
from isolation_kit.runtime.tools import TOOL_CODES
from isolation_kit.runtime.wiring import RunLimits

__all__ = [
    "CODES",
    "PROGRAM_ERROR",
    "brief_of",
    "call_of",
    "drops_of",
    "messages_of",
    "named",
    "plain_brief",
    "plain_call",
    "plain_messages",
    "plain_reply",
    "plain_spec",
    "plain_start",
    "reply_of",
    "spec_of",
    "text_of",
]

PROGRAM_ERROR = "program_error"  # in place of a model's reply

_ROLES = frozenset({"system", "user", "assistant", "tool"})
_PATH_LIMIT = 200
_LONGEST = 1 << 40
_DROPPED_KINDS = frozenset({"null", "boolean", "number", "string", "array", "object", "rest"})
CODES = frozenset(str(reason) for reason in Reason) | TOOL_CODES  # all that a child can say in the clear


def plain_start(
    brief: TaskBrief, spec: ChildSpec, count: Callable[..., Any], limits: RunLimits, entry: str, shelves: bool
) -> dict[str, Any]:
    """All that a child is told at its start.

    Args:
        count: the runtime's token counter.
        entry: `module:function` to run instead of the usual child, or "".
        shelves: True if its long outputs can be shelved.

    Raises:
        UsageError: for a token counter that cannot be found by its name.
    """
    return {
        "entry": entry,
        "brief": plain_brief(brief),
        "spec": plain_spec(spec),
        "shelves": shelves,
        "count": named(count),
        "limits": asdict(limits),
        "log_level": spec.contract.log_level,
    }


def plain_brief(brief: TaskBrief) -> dict[str, Any]:
    """A brief for its child, with the output schema."""
    return _fields(brief)


def brief_of(raw: Mapping[str, Any]) -> TaskBrief:
    """The brief again."""
    return TaskBrief(**_frozen(raw))


def plain_spec(spec: ChildSpec) -> dict[str, Any]:
    """A spec for its child. What a tool may show is not in it: the parent runs and filters the tools."""
    return {
        **_fields(spec, "tools", "children", "contract", "loops"),
        "tools": [_plain_tool(tool) for tool in spec.tools],
        "ways": [_plain_tool(way.tool) for way in spec.children],
        "contract": {**_fields(spec.contract), "allowed_fields": {}},
        "loops": _fields(spec.loops),
    }


def spec_of(raw: Mapping[str, Any], way_down: Callable[[ToolSpec], WayDown]) -> ChildSpec:
    """The spec again; `way_down` makes the ways to the child's own children."""
    rest = {**_frozen(raw), "tools": tuple([_tool(*tool) for tool in raw["tools"]])}
    rest["children"] = tuple([way_down(_tool(*tool)) for tool in rest.pop("ways")])
    rest["contract"] = Contract(**raw["contract"])
    rest["loops"] = LoopLimits(**raw["loops"])
    return ChildSpec(**rest)


def _plain_tool(tool: ToolSpec) -> list[str]:
    return [tool.name, tool.description, tool.parameter]


def _tool(name: str, description: str, parameter: str) -> ToolSpec:
    return ToolSpec(name, description, parameter, text_limit=1, extract=str)


def named(function: Callable[..., Any]) -> str:
    """`module:name` of a function that a child is to use as well.

    Raises:
        UsageError: for one that cannot be found by its name.
    """
    name = getattr(function, "__qualname__", "<>")
    if "<" in name:
        raise UsageError(
            "the runtime's token counter cannot be named, and a child in a process of its own has to find "
            "it; give a function of a module, for example count=my_app.tokens.count, no lambda and no closure"
        )
    return f"{function.__module__}:{name}"


def plain_messages(messages: tuple[Message, ...]) -> list[Any]:
    """Messages as lists."""
    return [
        [message.role, message.content, _plain_calls(message.calls), message.call_id] for message in messages
    ]


def messages_of(raw: Any) -> tuple[Message, ...]:
    """The messages again.

    Raises:
        FrameError: if one is no message.
    """
    if not isinstance(raw, list):
        raise FrameError("bad_frame")
    return tuple([_message(item) for item in raw])


def plain_call(call: ToolCall) -> list[Any]:
    """A tool call as a list."""
    return [call.id, call.name, dict(call.arguments)]


def call_of(raw: Any) -> ToolCall:
    """A tool call.

    Raises:
        FrameError: if it is none.
    """
    match raw:
        case [str(identity), str(name), dict(arguments)]:
            return ToolCall(identity, name, arguments)
    raise FrameError("bad_frame")


def plain_reply(reply: ModelReply) -> list[Any]:
    """A model's reply for the child.

    Raises:
        FrameError: if what a model client returned is none.
    """
    raw = [text_of(reply.text), _plain_calls(reply.calls)]
    reply_of(raw)
    return raw


def reply_of(raw: Any) -> ModelReply:
    """The reply again."""
    return ModelReply(raw[0], tuple([call_of(call) for call in raw[1]]))


def drops_of(raw: Any) -> list[Dropped]:
    """What a child dropped of its own result. In place of a digest each holds the value: see `inside`.

    Raises:
        FrameError: if it is no such thing.
    """
    if not isinstance(raw, list):
        raise FrameError("bad_frame")
    return [_dropped(item) for item in raw]


def _dropped(raw: Any) -> Dropped:
    match raw:
        case [str(path), str(kind), int(length), str(value)] if (
            kind in _DROPPED_KINDS and 0 <= length < _LONGEST
        ):
            return Dropped(path[:_PATH_LIMIT], kind, int(length), value)
    raise FrameError("bad_frame")


def text_of(raw: Any) -> str:
    """A text.

    Raises:
        FrameError: if it is none.
    """
    if not isinstance(raw, str):
        raise FrameError("bad_frame")
    return raw


def _message(raw: Any) -> Message:
    match raw:
        case [str(role), str(content), list(calls), str(call_id)] if role in _ROLES:
            return Message(role, content, tuple([call_of(call) for call in calls]), call_id)  # type: ignore[arg-type]
    raise FrameError("bad_frame")


def _plain_calls(calls: tuple[ToolCall, ...]) -> list[Any]:
    return [plain_call(call) for call in calls]


def _fields(thing: Any, *without: str) -> dict[str, Any]:
    names = [field.name for field in fields(thing) if field.init and field.name not in without]
    return {name: getattr(thing, name) for name in names}


def _frozen(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()}
