"""What models and tools exchange: messages, tool calls, requests, replies. Frozen: no sharing by alias."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from isolation_kit.runtime.fields import AllowList
from isolation_kit.runtime.text import canonical

__all__ = ["Message", "Model", "ModelReply", "ModelRequest", "Role", "ToolCall", "ToolFunction", "ToolSpec"]

Role = Literal["system", "user", "assistant", "tool"]
ToolFunction = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to call a tool."""

    id: str
    name: str
    arguments: Mapping[str, object]
    _text: str = field(init=False, default="", repr=False, compare=False)

    @property
    def text(self) -> str:
        """The arguments as canonical JSON, made once: what is counted and what a provider is sent.

        Raises:
            TypeError, ValueError, RecursionError: where JSON has no word for one of them.
        """
        if not self._text:
            object.__setattr__(self, "_text", canonical(dict(self.arguments)))
        return self._text


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
        extract: takes what matters out of a text reply, before the cut; a text tool must have one, because a
            limit alone lets through whatever stands at the top of a page.
        timeout_ms: milliseconds of one call. A child's inner limit may be shorter.
        delegates: True for a tool behind which a child works. It has no reply of its own to filter: the
            child's result passed the bridge.
        definition: what a model's provider is sent of the tool, as canonical JSON.
    """

    name: str
    description: str
    parameter: str = "query"
    fields: AllowList | None = None
    text_limit: int = 0
    extract: Callable[[str], str] | None = None
    timeout_ms: int = 2800
    delegates: bool = False
    definition: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        text = self.text_limit > 0 and self.extract is not None
        if [self.fields is not None, text, self.delegates].count(True) != 1 or self.timeout_ms <= 0:
            raise ValueError(
                f"tool {self.name!r} must declare its fields, or text with a limit and an extractor, not "
                "both, and a timeout_ms above 0; for example fields=AllowList({'type': 'object', ...}) or "
                "text_limit=2000, extract=main_text"
            )
        told = {"name": self.name, "description": self.description, "parameters": self.schema}
        object.__setattr__(self, "definition", canonical(told))

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
