"""The allow-list: of a JSON value only declared fields stay, at every depth; the rest is dropped, reported.

Article 000, sections 2.2 and 3.2. Deleted, not commented out: what a model can read, it uses. The world is
closed: an object without `properties` keeps no key, whatever `additionalProperties` says.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from isolation_kit.errors import StrictJSONError, UsageError
from isolation_kit.runtime.rules import Rule, check, compiled
from isolation_kit.runtime.text import Digest, canonical
from isolation_kit.strictjson import MAX_DEPTH, loads

__all__ = ["REPORTS", "AllowList", "Dropped", "Kept", "plain_key"]

REPORTS = 256  # reports of one value; one more counts the rest
_PATH_LIMIT = 200
_ENCODED_DEPTH = 8
# A quote, a bracket, or the sign that begins an encoding of its own, as percent, entity or escape.
_ENCODED_BRACKET = re.compile(
    r"%(?:22|25|5b|7b)|&(?:quot|amp|lcub|lbrace|lsqb|lbrack|#)|\\u00|\\x[257]", re.IGNORECASE
)
_KINDS: Mapping[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
}
_PLAIN = frozenset({"null", "boolean", "number"})
# An object or a list of some content, a comment or a Python key in front of it.
_EMBEDDED = re.compile(r"""[{\[]\s*(?:/\*[^*]*\*/\s*|//[^\n]*\n\s*)?\\*["{\[]|\{\s*\\*'[^'\n]{0,200}'\s*:""")
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")


@dataclass(frozen=True, slots=True)
class Dropped:
    """A field that was deleted: where it stood, its type and size, a keyed digest. Never the value.

    `length` counts characters of canonical JSON, or bytes of an unknown protobuf field, whose path ends in
    its number (`#15`). List positions are written `[]`, so that equal fields count together. `skew` marks a
    field that a newer version declares: no pollution, and dropped all the same. Of one value `REPORTS` fields
    are told one by one; a last report of the kind `rest` says in `length` how many more there were.
    """

    path: str
    kind: str
    length: int
    digest: str
    skew: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """What an allow-list left of a value. `ok` is False if the value itself is of an undeclared type."""

    value: Any
    dropped: tuple[Dropped, ...]
    ok: bool = True


@dataclass(frozen=True, slots=True)
class _Shape:
    """A JSON Schema, reduced to what an allow-list needs."""

    kinds: frozenset[str]
    properties: Mapping[str, _Shape]
    items: _Shape | None


class AllowList:
    """A JSON Schema used as an allow-list. Its rules are compiled at first use, once.

    Args:
        schema: type, properties, items, required, pattern and the like (JSON Schema 2020-12).

    Raises:
        UsageError: for a schema whose types or names say nothing, or that holds itself.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self._shape = _compile(schema, MAX_DEPTH)

    def checked(self) -> AllowList:
        """This list, if all of its schema is one.

        Raises:
            UsageError: if a keyword says what JSON Schema has no meaning for, or what JSON cannot say.
        """
        check(self.schema)
        return self

    @cached_property
    def _rule(self) -> Rule:
        return compiled(self.schema)

    @property
    def names(self) -> frozenset[str]:
        """The declared fields of the top level."""
        return frozenset(self._shape.properties)

    def keep(self, value: Any, digest: Digest, *, embedded: bool = False) -> Kept:
        """The declared part of `value`, and what was dropped.

        Args:
            digest: makes the digests of dropped values; keyed, so that they cannot be guessed.
            embedded: True drops declared strings that carry JSON, which would be a way round the allow-list.
        """
        dropped: list[Dropped] = []
        walk = _Walk(dropped, digest, embedded)
        left = walk.keep(value, self._shape, "")
        if walk.more:
            dropped.append(Dropped("", "rest", walk.more, ""))
        return Kept(None, tuple(dropped), ok=False) if left is _GONE else Kept(left, tuple(dropped))

    def problem(self, kept: Any) -> str:
        """The first broken rule of what `keep` left, as a path of the schema, or ""."""
        return self._rule(kept)


def plain_key(key: str) -> str:
    """`key` without percent-encoding, HTML entities, `\\u` and `\\x` escapes: so it is judged and told."""
    for _ in range(_ENCODED_DEPTH):
        plain = html.unescape(unquote(key)) if "%" in key or "&" in key else key
        if "\\u" in plain or "\\x" in plain:
            plain = _ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), plain)
        if plain == key:
            break
        key = plain
    return key


_GONE = object()


class _Walk:
    """One pass over a value, collecting what it deletes."""

    def __init__(self, dropped: list[Dropped], digest: Digest, embedded: bool) -> None:
        self._dropped = dropped
        self._digest = digest
        self._embedded = embedded
        self.more = 0

    def keep(self, value: Any, shape: _Shape, path: str) -> Any:
        kind = _KINDS.get(type(value), "object")
        if kind not in shape.kinds:
            return self._drop(value, path, kind)
        if kind == "object":
            return self._object(value, shape, path)
        if kind == "array":
            return self._array(value, shape, path)
        if kind == "string" and self._embedded and _carries_json(value):
            return self._drop(value, path, "json in string")
        return value

    def _object(self, value: Mapping[str, Any], shape: _Shape, path: str) -> dict[str, Any]:
        out = {}
        for key, item in value.items():
            declared = shape.properties.get(key)
            # A declared name in an encoded spelling is dropped as well: two spellings of one field are two
            # values for one field.
            if declared is None:
                if len(self._dropped) < REPORTS:
                    name = plain_key(key)
                    self._drop(item, f"{path}.{name}" if path else name, _kind(item))
                else:
                    self.more += 1
                continue
            kind = _KINDS.get(type(item), "object")
            if kind in declared.kinds and (kind in _PLAIN or (kind == "string" and not self._embedded)):
                out[key] = item  # as `keep` would, without a call and a path for each value
                continue
            left = self.keep(item, declared, f"{path}.{key}" if path else key)
            if left is not _GONE:
                out[key] = left
        return out

    def _array(self, value: list[Any], shape: _Shape, path: str) -> list[Any]:
        if shape.items is None:
            for item in value:
                self._drop(item, f"{path}[]", _kind(item))
            return []
        left = [self.keep(item, shape.items, f"{path}[]") for item in value]
        return [item for item in left if item is not _GONE]

    def _drop(self, value: Any, path: str, kind: str) -> Any:
        if len(self._dropped) >= REPORTS:
            self.more += 1
            return _GONE
        text = canonical(value)
        self._dropped.append(
            Dropped(path[:_PATH_LIMIT], kind, len(text), self._digest(text.encode("utf-8", "surrogatepass")))
        )
        return _GONE


def _carries_json(text: str) -> bool:
    encoded = _ENCODED_BRACKET.search(text) is not None
    if not encoded and "{" not in text and "[" not in text:
        return False
    plain = plain_key(text) if encoded else text
    if _EMBEDDED.search(plain):
        return True
    if plain.lstrip()[:1] not in ("{", "["):
        return False
    try:
        return isinstance(loads(plain), dict | list)
    except StrictJSONError:
        return False


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "object")


def _compile(schema: Any, depth: int) -> _Shape:
    if isinstance(schema, bool):  # `true` declares nothing in particular, so nothing is kept
        return _Shape(frozenset(), {}, None)
    if not isinstance(schema, Mapping) or depth < 0:
        raise _no_schema("a schema" if depth >= 0 else "a schema that holds itself, or of such a depth,")
    stated = schema.get("type", "object" if "properties" in schema else ())
    kinds = (stated,) if isinstance(stated, str) else stated
    if not isinstance(kinds, list | tuple) or not all(isinstance(kind, str) for kind in kinds):
        raise _no_schema("a type")
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping) or not all(isinstance(name, str) for name in properties):
        raise _no_schema("properties")
    items = schema.get("items")
    return _Shape(
        kinds=frozenset("number" if kind == "integer" else kind for kind in kinds),
        properties={name: _compile(inner, depth - 1) for name, inner in properties.items()},
        items=_compile(items, depth - 1) if items is not None else None,
    )


def _no_schema(what: str) -> UsageError:
    return UsageError(
        f"{what} that is none: allowed are objects, a type as text or a list of texts, and properties as an "
        f"object of schemas, at most {MAX_DEPTH} deep, for example "
        "{'type': 'object', 'properties': {'amount': {'type': 'number'}}}"
    )
