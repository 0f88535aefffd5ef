"""What models and tools exchange: messages, tool calls, requests, replies. Frozen: no sharing by alias."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from isolation_kit.runtime.fields import AllowList

__all__ = ["Message", "Model", "ModelReply", "ModelRequest", "Role", "ToolCall", "ToolFunction", "ToolSpec"]

Role = Literal["system", "user", "assistant", "tool"]
ToolFunction = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to call a tool."""

    id: str
    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; `calls` belong to an assistant, `call_id` to a tool's reply."""

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it, and what of its reply the model may see.

    Args:
        parameter: the one parameter of the tool, a string.
        fields: the allow-list for a reply in JSON; None stands for a tool that replies with text.
        text_limit: the most characters of a text reply; a text tool must state it.
        extract: takes what matters out of a text reply, before the cut.
    """

    name: str
    description: str
    parameter: str = "query"
    fields: AllowList | None = None
    text_limit: int = 0
    extract: Callable[[str], str] | None = None

    def __post_init__(self) -> None:
        if self.fields is None and self.text_limit <= 0:
            raise ValueError(
                f"tool {self.name!r} declares neither fields nor a text limit; give one of them, for example "
                "fields=AllowList({'type': 'object', 'properties': {...}}) or text_limit=2000"
            )

    @property
    def schema(self) -> dict[str, object]:
        """The JSON Schema of the tool's arguments."""
        return {
            "type": "object",
            "properties": {self.parameter: {"type": "string"}},
            "required": [self.parameter],
            "additionalProperties": False,
        }


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of an agent's model: everything that leaves for the model is in here."""

    agent: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What a model says: text, tool calls, or both."""

    text: str
    calls: tuple[ToolCall, ...] = ()


class Model(Protocol):
    """Anything that answers requests."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Answer one request."""
        ...
