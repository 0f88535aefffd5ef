"""Attacks and pollutant classes as data: what the TOML files in `attacks/` and `fingerprints/` say.

One file holds one attack or one class, so that people who know attacks but not this code can read and add
them. A file is refused, with its name and the key, for anything that the reader does not know: a typing slip
must not turn into an attack that tests nothing.
"""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from types import UnionType
from typing import Any, NoReturn, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import unquote

from isolation_kit.errors import ContentError, UsageError
from isolation_kit.scenario import Slot, check_slot

__all__ = [
    "TOKEN",
    "Attack",
    "Bilingual",
    "Carrier",
    "Example",
    "FingerprintClass",
    "Overflow",
    "Structure",
    "class_of_slot",
    "classify",
    "content_root",
    "load_attacks",
    "load_fingerprint_classes",
    "normalise_field",
]

TOKEN = "{{token}}"  # noqa: S105  (the placeholder of a canary in a carrier or an example, no secret)

_CHANNELS = (
    *(
        "child.request",
        "child.headers",
        "child.tools",
        "child.tool.args",
        "child.tool.result",
        "child.context",
    ),
    *("result", "parent.request", "final.output", "stream"),
    *("store", "log", "span", "artifact", "environment", "process.memory"),
)
_OVERFLOW_FAMILY = "boundary-overflow"


@dataclass(frozen=True, slots=True)
class Carrier:
    """A text that carries canaries of one slot; `json`: an object whose keys are merged into a tool reply."""

    slot: str
    text: str
    language: str = "any"
    shape: str = "text"


@dataclass(frozen=True, slots=True)
class Structure:
    """What the family's generator builds: who speaks in which session about whom, turn by turn."""

    users: tuple[str, ...] = ("u_0",)
    order: tuple[int, ...] = (0,)
    sessions: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    about: tuple[int, ...] = ()
    follow_up: bool = False
    concurrent: bool = False


@dataclass(frozen=True, slots=True)
class Overflow:
    """Which text is blown up to which sizes, and of what atoms it is made."""

    of: str
    sizes: tuple[str, ...]
    atoms: tuple[str, ...]
    twist: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """A text at a channel, and whether seeing a canary of `slot` there is a leak under the default policy."""

    slot: str
    channel: str
    text: str
    counts: bool
    why: str


@dataclass(frozen=True, slots=True)
class Attack:
    """One way in which isolation is known to fail, with its source, its carriers and its examples."""

    id: str
    family: str
    title: str
    models: str
    source: str
    link: str
    carriers: tuple[Carrier, ...]
    examples: tuple[Example, ...]
    structure: Structure = Structure()
    overflow: Overflow | None = None
    maps: tuple[str, ...] = ()

    def __hash__(self) -> int:
        """By id: hashing all texts would cost more than what is cached under it."""
        return hash((self.family, self.id))


@dataclass(frozen=True, slots=True)
class Bilingual:
    """The same sentence in English and in Chinese."""

    en: str
    zh: str


@dataclass(frozen=True, slots=True)
class FingerprintClass:
    """One class of pollutant: the names it goes by, how it shows, where it comes from and what removes it."""

    id: str
    title: Bilingual
    names: tuple[str, ...]
    slots: tuple[str, ...]
    values: tuple[str, ...]
    severity: str
    symptom: Bilingual
    cause: Bilingual
    remedy: Bilingual
    rule: str
    matches: tuple[str, ...]
    misses: tuple[str, ...]
    source: str
    link: str


def content_root(folder: str) -> Path:
    """The place of a shipped content folder: inside the wheel, or in the checkout it was installed from.

    Raises:
        ContentError: if neither place has the folder.
    """
    package = Path(str(files("isolation_kit")))
    shipped = package / "_content" / folder
    if shipped.is_dir():
        return shipped
    checkout = package.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / folder).is_dir():
        return checkout / folder
    raise ContentError(
        f"the content folder {folder!r} is neither inside the installed package nor beside it in a checkout; "
        "the installation is incomplete: reinstall it with 'pip install --force-reinstall isolation-kit'"
    )


def load_attacks(folders: Sequence[Path] = ()) -> tuple[Attack, ...]:
    """Read all attacks, sorted by family and id; a file in `folders` replaces a shipped one of the same id.

    Args:
        folders: more folders that are laid out as `attacks/` is: one folder a family, one file an attack.

    Raises:
        ContentError: for the first file that is broken; names the file, the key and what is allowed.
    """
    found: dict[str, Attack] = {}
    for root in (content_root("attacks"), *folders):
        here: dict[str, Path] = {}
        for path in _toml_files(root, depth=2):
            attack = _read(Attack, path)
            _check_attack(attack, path)
            _refuse_second(attack.id, path, here)
            found[attack.id] = attack
    return tuple(sorted(found.values(), key=lambda attack: (attack.family, attack.id)))


def load_fingerprint_classes(folders: Sequence[Path] = ()) -> tuple[FingerprintClass, ...]:
    """Read all pollutant classes, sorted by id; a file in `folders` replaces a shipped one of the same id.

    Raises:
        ContentError: for the first file that is broken, or for a name or slot that two classes claim.
    """
    found: dict[str, tuple[FingerprintClass, Path]] = {}
    for root in (content_root("fingerprints"), *folders):
        for path in _toml_files(root, depth=1):
            entry = _read(FingerprintClass, path)
            _check_class(entry, path)
            found[entry.id] = entry, path
    claims: dict[str, str] = {}
    for entry, path in found.values():
        for key in sorted({normalise_field(name) for name in entry.names}) + list(entry.slots):
            if key in claims:
                allowed = "a name or slot that no other class has"
                _refuse(
                    path, "names", f"{key!r} is taken by the class {claims[key]!r}", allowed, "x_trace_id"
                )
            claims[key] = entry.id
    return tuple(found[key][0] for key in sorted(found))


_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[\s._\-]+")
_LONGEST_FIELD = 256  # characters; a target chooses its keys, and no known name is longer
_INDEX = re.compile(r"\[[^\]]*\]")


@lru_cache(maxsize=4096)
def normalise_field(field: str) -> str:
    """Fold a field name to one spelling: `X-Trace-Id`, `xTraceId` and `%78-trace-id` become `x_trace_id`."""
    plain = unicodedata.normalize("NFKC", unquote(field[:_LONGEST_FIELD]))
    return _SEPARATORS.sub("_", _HUMP.sub("_", plain)).strip("_").casefold()


def classify(field: str, classes: Iterable[FingerprintClass]) -> FingerprintClass | None:
    """The class that knows `field` by name: the whole of it first, then the last step of a dotted path."""
    plain = _INDEX.sub("", field)
    for name in dict.fromkeys((normalise_field(plain), normalise_field(plain.rpartition(".")[2]))):
        for entry in classes:
            if name and any(name == normalise_field(known) for known in entry.names):
                return entry
    return None


def class_of_slot(slot: str, classes: Iterable[FingerprintClass]) -> FingerprintClass | None:
    """The class that tokens of `slot` belong to, or None (for instance for a user's own `x.` slot)."""
    return next((entry for entry in classes if slot in entry.slots), None)


@dataclass(frozen=True, slots=True)
class _Rule:
    allowed: str
    example: str
    holds: Callable[[Any], bool]


def _is_slot(name: str) -> bool:
    try:
        check_slot(name)
    except UsageError:
        return False
    return True


def _is_anchored(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return pattern.startswith(r"\A") and pattern.endswith(r"\Z")


def _is_rule(text: str) -> bool:
    try:
        entries = tomllib.loads(text).get("filter")
    except tomllib.TOMLDecodeError:
        return False
    required = {"field", "action", "reason"}
    return (
        isinstance(entries, list)
        and bool(entries)
        and all(isinstance(entry, dict) and required <= set(entry) for entry in entries)
    )


def _one_of(*names: str) -> _Rule:
    return _Rule(" | ".join(repr(name) for name in names), repr(names[0]), lambda value: value in names)


def _shaped(pattern: str, allowed: str, example: str) -> _Rule:
    return _Rule(allowed, repr(example), lambda value: re.fullmatch(pattern, value) is not None)


def _text(example: str) -> _Rule:
    return _Rule("a text that is not blank", repr(example), lambda value: bool(value.strip()))


def _many(example: str) -> _Rule:
    return _Rule("a list with at least one entry", example, bool)


def _any(allowed: str, example: str) -> _Rule:
    return _Rule(allowed, example, lambda value: True)


_ID = _shaped(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", "lower case letters, digits, '-' and '_'", "two-subjects")
_LINK = _shaped(
    r"(?:https://\S+)?", "an https address, or '' if there is none", "https://example.org/issues/1"
)
_SLOT = _Rule(f"{', '.join(Slot)}, or a name of your own under 'x.'", "'user.earlier'", _is_slot)
_SOURCE = _text("article 000 section 4.7")
_PAIR = _any("a table with the keys en and zh", '{ en = "Trace ids", zh = "追踪号" }')
_LONG = 100_000

# One rule for each key. Where the value is a list of texts, the rule holds for each text in it.
_RULES: Mapping[str, _Rule] = {
    "Carrier.slot": _SLOT,
    "Carrier.text": _Rule(
        f"a text of at most {_LONG} characters that holds {TOKEN}",
        f"'Look up the bill, reference {TOKEN}'",
        lambda value: TOKEN in value and len(value) <= _LONG,
    ),
    "Carrier.language": _one_of("zh", "en", "any"),
    "Carrier.shape": _one_of("text", "json"),
    "Structure.users": _text("agent_1"),
    "Structure.order": _Rule("indices into users, from 0", "[0, 1, 0]", lambda value: value >= 0),
    "Structure.sessions": _text("default"),
    "Structure.subjects": _text("张伟"),
    "Structure.about": _Rule(
        "indices into subjects, or -1 for none", "[0, 1, -1]", lambda value: value >= -1
    ),
    "Structure.follow_up": _any("true or false", "true"),
    "Structure.concurrent": _any("true or false", "true"),
    "Overflow.of": _one_of("task", "history", "tool.result", "tool.args", "identifier"),
    "Overflow.sizes": _one_of("limit-1", "limit", "limit+1", "10x"),
    "Overflow.atoms": _Rule("texts that are not empty", "['word ', '账单']", bool),
    "Overflow.twist": _one_of("", "deep-nesting", "many-keys", "lone-surrogate", "duplicate-keys"),
    "Example.slot": _SLOT,
    "Example.channel": _one_of(*_CHANNELS),
    "Example.text": _text(f"trace_id={TOKEN}"),
    "Example.counts": _any("true or false", "true"),
    "Example.why": _text("a child needs its task, not the parent's history"),
    "Attack.id": _ID,
    "Attack.family": _ID,
    "Attack.title": _text("Two people in one conversation"),
    "Attack.models": _text("A follow-up about the first person is answered with the second one's data."),
    "Attack.source": _SOURCE,
    "Attack.link": _LINK,
    "Attack.carriers": _many(f"[[carrier]] with slot = 'user.current', text = '{TOKEN}'"),
    "Attack.examples": _many("[[example]] with slot, channel, text, counts and why"),
    "Attack.structure": _any("a table", "[structure] with users = ['u_0', 'u_1'] and order = [0, 1, 0]"),
    "Attack.overflow": _any("a table", "[overflow] with of = 'task', sizes = ['limit+1'], atoms = ['账单']"),
    "Attack.maps": _shaped(r"CWE-\d{1,5}|LLM\d\d:20\d\d|ASI\d\d", "CWE or OWASP identifiers", "CWE-488"),
    "Bilingual.en": _text("Trace ids"),
    "Bilingual.zh": _text("追踪号"),
    "FingerprintClass.id": _ID,
    "FingerprintClass.title": _PAIR,
    "FingerprintClass.names": _Rule(
        "lower-case names that are not blank",
        "'trace_id'",
        lambda value: value.strip() == value.lower() != "",
    ),
    "FingerprintClass.slots": _SLOT,
    "FingerprintClass.values": _Rule(
        r"regular expressions between \A and \Z", r"'\A[0-9a-f]{32}\Z'", _is_anchored
    ),
    "FingerprintClass.severity": _one_of("low", "medium", "high", "critical"),
    "FingerprintClass.symptom": _PAIR,
    "FingerprintClass.cause": _PAIR,
    "FingerprintClass.remedy": _PAIR,
    "FingerprintClass.rule": _Rule(
        "TOML with [[filter]] tables that have field, action and reason",
        "[[filter]] with field = ['trace_id'], action = 'drop', reason = 'infrastructure'",
        _is_rule,
    ),
    "FingerprintClass.matches": _text("traceId"),
    "FingerprintClass.misses": _text("amount"),
    "FingerprintClass.source": _SOURCE,
    "FingerprintClass.link": _LINK,
}
_SINGULAR = {"carriers": "carrier", "examples": "example"}  # [[carrier]] reads better than [[carriers]]

T = TypeVar("T")


def _refuse(path: Path, key: str, given: str, allowed: str, example: str) -> NoReturn:
    raise ContentError(
        f"{path}: key {key!r}: {given}; allowed: {allowed}; example: {example}. Correct or remove the file."
    )


def _toml_files(root: Path, depth: int) -> list[Path]:
    if not root.is_dir():
        raise ContentError(
            f"the content folder {root} does not exist or is no folder; allowed: a folder laid out as the "
            "shipped one, for example attacks/<family>/<id>.toml; correct the path or create the folder"
        )
    found = sorted(path for path in root.rglob("*.toml") if not path.name.startswith("."))
    for path in found:
        if len(path.relative_to(root).parts) != depth:
            layout = "<family>/<id>.toml" if depth == 2 else "<class>.toml"
            raise ContentError(
                f"{path}: the file lies at the wrong depth; allowed: {root / layout}; move the file there"
            )
    return found


def _read(kind: type[T], path: Path) -> T:
    reason = ""
    raw: dict[str, Any] = {}
    try:
        raw = tomllib.loads(path.read_bytes().decode("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        reason = str(error) if isinstance(error, tomllib.TOMLDecodeError) else type(error).__name__
    if reason:
        _refuse(
            path, "(the whole file)", f"cannot be read ({reason})", "TOML in UTF-8", 'id = "two-subjects"'
        )
    value: T = _table(kind, raw, path, "")
    return value


def _table(kind: type[Any], raw: object, path: Path, prefix: str) -> Any:
    if not isinstance(raw, dict):
        _refuse(path, prefix.rstrip("."), f"is a {type(raw).__name__}", "a table", "[structure]")
    hints = get_type_hints(kind)
    keys = {_SINGULAR.get(item.name, item.name): item for item in fields(kind)}
    for key in raw:
        if key not in keys:
            allowed = ", ".join(sorted(keys))
            _refuse(path, prefix + key, "is not known here", allowed, f"{sorted(keys)[0]} = ...")
    values = {}
    for key, item in keys.items():
        rule = _RULES[f"{kind.__name__}.{item.name}"]
        if key in raw:
            values[item.name] = _value(hints[item.name], raw[key], path, prefix + key, rule)
        elif item.default is MISSING:
            _refuse(path, prefix + key, "is missing", rule.allowed, rule.example)
    return kind(**values)


def _value(hint: Any, raw: Any, path: Path, key: str, rule: _Rule) -> Any:
    if get_origin(hint) is UnionType:
        hint = get_args(hint)[0]
    if is_dataclass(hint):
        return _table(hint, raw, path, f"{key}.")  # type: ignore[arg-type]
    if get_origin(hint) is not tuple:
        if type(raw) is not hint or not rule.holds(raw):
            _refuse(path, key, _shown(raw), rule.allowed, rule.example)
        return raw
    if type(raw) is not list:
        _refuse(path, key, f"is a {type(raw).__name__}", f"a list: {rule.allowed}", rule.example)
    item = get_args(hint)[0]
    if is_dataclass(item) and not rule.holds(raw):
        _refuse(path, key, "is an empty list", rule.allowed, rule.example)
    return tuple(_value(item, entry, path, f"{key}[{index}]", rule) for index, entry in enumerate(raw))


def _shown(raw: object) -> str:
    # Long texts are payloads, short ones are typing slips that the author must see.
    if isinstance(raw, str):
        return f"got {raw!r}" if len(raw) <= 40 else f"got a text of {len(raw)} characters"
    return f"got {raw!r}" if isinstance(raw, (bool, int)) else f"is a {type(raw).__name__}"


def _refuse_second(name: str, path: Path, here: dict[str, Path]) -> None:
    if name in here:
        _refuse(
            path,
            "id",
            f"{name!r} is also the id of {here[name].parent.name}/{here[name].name}",
            "one file an id",
            "x",
        )
    here[name] = path


def _check_name(path: Path, key: str, given: str, expected: str) -> None:
    if given != expected:
        _refuse(path, key, f"got {given!r}", "the name of the file or of its folder", repr(expected))


def _check_attack(attack: Attack, path: Path) -> None:
    _check_name(path, "id", attack.id, path.stem)
    _check_name(path, "family", attack.family, path.parent.name)
    for index, carrier in enumerate(attack.carriers):
        if carrier.shape == "json" and not _is_object(carrier.text):
            allowed = "one JSON object without duplicate keys (other texts: shape = 'text')"
            _refuse(
                path, f"carrier[{index}].text", "is no such object", allowed, f'{{"trace_id": "{TOKEN}"}}'
            )
    for index, example in enumerate(attack.examples):
        if example.counts and TOKEN not in example.text:
            allowed = f"true only where the text holds {TOKEN}"
            _refuse(path, f"example[{index}].counts", "is true without a canary", allowed, "false")
    _check_structure(attack.structure, path)
    if (attack.overflow is not None) != (attack.family == _OVERFLOW_FAMILY):
        given = "is missing" if attack.overflow is None else f"stands in the family {attack.family!r}"
        _refuse(path, "overflow", given, f"in each {_OVERFLOW_FAMILY} attack, nowhere else", "[overflow]")
    if attack.overflow is not None and not (attack.overflow.sizes and attack.overflow.atoms):
        _refuse(path, "overflow", "has no size or no atom", "at least one of each", "sizes = ['limit+1']")


def _check_structure(structure: Structure, path: Path) -> None:
    turns = len(structure.order)
    if not turns or max(structure.order) >= len(structure.users):
        allowed = f"at least one index from 0 to {len(structure.users) - 1} (the users)"
        _refuse(path, "structure.order", f"got {list(structure.order)}", allowed, "[0, 1, 0]")
    if len(set(structure.users)) != len(structure.users):
        _refuse(path, "structure.users", "names one user twice", "distinct names", "['agent_1', 'agent_10']")
    for key, entries in (("sessions", structure.sessions), ("about", structure.about)):
        if entries and len(entries) != turns:
            _refuse(
                path,
                f"structure.{key}",
                f"has {len(entries)} entries",
                f"none, or {turns} (one a turn)",
                "[]",
            )
    if structure.about and max(structure.about) >= len(structure.subjects):
        allowed = f"-1 to {len(structure.subjects) - 1} (the subjects)"
        _refuse(path, "structure.about", f"got {list(structure.about)}", allowed, "[0, 1, 0]")
    if structure.follow_up and (not structure.about or structure.about[-1] not in structure.about[:-1]):
        allowed = "true only where the last turn is about the subject of an earlier one"
        _refuse(path, "structure.follow_up", "has no earlier subject", allowed, "about = [0, 1, 0]")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("duplicate key")
    return dict(pairs)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, object_pairs_hook=_unique), dict)
    except (ValueError, RecursionError):
        return False


def _check_class(entry: FingerprintClass, path: Path) -> None:
    _check_name(path, "id", entry.id, path.stem)
    for key, names, wanted in (("matches", entry.matches, True), ("misses", entry.misses, False)):
        if not names:
            _refuse(path, key, "is empty", "at least one field name", "['traceId']")
        for name in names:
            if (classify(name, (entry,)) is not None) is not wanted:
                allowed = "names that the class knows" if wanted else "names that the class does not know"
                _refuse(path, key, f"{name!r} contradicts names", allowed, "['traceId']")
