"""`isolation.toml`: the main interface. Read strictly: a typing slip must not become a test of nothing."""

from __future__ import annotations

import tomllib
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal

from isolation_kit.config.resolve import place_of, resolve
from isolation_kit.config.rules import LISTS, TABLES, check, close_to, refuse, toml_name
from isolation_kit.config.values import ReportFile, duration, report_file, shard
from isolation_kit.errors import ConfigError
from isolation_kit.policy import Allow, Policy

__all__ = [
    "Config",
    "Content",
    "FailOn",
    "Gate",
    "Profile",
    "ReportFile",
    "Run",
    "TargetEntry",
    "Untested",
    "close_to",
    "duration",
    "load",
    "place_of",
    "report_file",
    "resolve",
    "shard",
]

Profile = Literal["quick", "ci", "deep"]
FailOn = Literal["any", "new", "never"]


@dataclass(frozen=True, slots=True)
class Run:
    """`[run]`: seed, cases per item, families (none: all of them), times in seconds.

    `skins`: what canaries wear beside the bare token, for systems that act on the shape of a text.
    """

    seed: int = 7
    cases: int = 1000
    families: tuple[str, ...] = ()
    skins: tuple[str, ...] = ()
    profile: Profile = "quick"
    max_time: float | None = None
    case_timeout: float = 20.0


@dataclass(frozen=True, slots=True)
class TargetEntry:
    """`[[target]]`: the name it goes by, and the factory as `module:function`."""

    name: str
    factory: str


@dataclass(frozen=True, slots=True)
class Untested:
    """`[[untested]]`: a child that is left out on purpose; after `until` it counts as not reached again."""

    target: str
    child: str
    reason: str
    until: date | None = None

    def expired(self, today: date) -> bool:
        """True if the entry's last day has passed."""
        return self.until is not None and today > self.until


@dataclass(frozen=True, slots=True)
class Gate:
    """`[gate]`: what fails, the baseline's file, and above which share (0..1) of refused cases it fails."""

    fail_on: FailOn = "any"
    baseline: Path | None = None
    refused_share: float = 0.25


@dataclass(frozen=True, slots=True)
class Content:
    """`[content]`: the user's own folders of attacks and fingerprint classes."""

    attacks: tuple[Path, ...] = ()
    fingerprints: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """A whole `isolation.toml`; every path in it is absolute."""

    path: Path
    targets: tuple[TargetEntry, ...]
    run: Run = field(default_factory=Run)
    policy: Policy = field(default_factory=Policy)
    untested: tuple[Untested, ...] = ()
    gate: Gate = field(default_factory=Gate)
    content: Content = field(default_factory=Content)
    output: Path = Path(".isolation")
    reports: tuple[ReportFile, ...] = ()

    @property
    def root(self) -> Path:
        """The file's folder: what its paths and modules are relative to."""
        return self.path.parent

    def untested_of(self, target: str) -> Mapping[str, str]:
        """Child to reason, for the entries of `target` that have not expired."""
        today = self.policy.today
        return {
            item.child: item.reason
            for item in self.untested
            if item.target == target and not item.expired(today)
        }


def load(path: Path) -> Config:
    """Read and check an `isolation.toml`.

    Raises:
        ConfigError: if it is missing or broken; names the key, what is allowed and an example.
    """
    path = path.absolute()
    raw = _parse(path)
    known = (*TABLES, *LISTS)
    for name in raw:
        if name not in known:
            refuse(
                path,
                f"[{repr(name[:40])[1:-1]}]",
                f"this table is not known{close_to(name, known)}",
                ", ".join([*(f"[{table}]" for table in TABLES), *(f"[[{table}]]" for table in LISTS)]),
                "[run]",
            )
    tables = {name: check(path, f"[{name}]", keys, raw.get(name, {})) for name, keys in TABLES.items()}
    lists = {name: _entries(path, name, raw.get(name, [])) for name in LISTS}
    targets = tuple(TargetEntry(**entry) for entry in lists["target"])
    _check_targets(path, targets)
    untested = tuple(Untested(**entry) for entry in lists["untested"])
    for item in untested:
        if item.target not in {entry.name for entry in targets}:
            names = [entry.name for entry in targets]
            given = f"target = {item.target[:40]!r} names no [[target]]{close_to(item.target, names)}"
            refuse(path, "[[untested]]", given, ", ".join(names), f'target = "{names[0]}"')
    root = path.parent
    return Config(
        path=path,
        targets=targets,
        run=_run(tables["run"]),
        policy=_policy(tables["policy"], lists["allow"]),
        untested=untested,
        gate=Gate(**_paths(root, tables["gate"], "baseline")),
        content=Content(
            **{key: tuple(root / name for name in names) for key, names in tables["content"].items()}
        ),
        output=root / tables["report"].get("output", ".isolation"),
        reports=tuple(report_file(text, root) for text in tables["report"].get("reports", ())),
    )


def _parse(path: Path) -> dict[str, Any]:
    try:
        if path.exists() and not path.is_file():
            raise OSError(0, "it is no regular file")
        raw = path.read_bytes()
        if raw.startswith(BOM_UTF8):
            raise tomllib.TOMLDecodeError("it starts with a byte order mark; save it without one")
        return tomllib.loads(raw.decode("utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"there is no {path.name} in {path.parent}; write one with 'isolation-kit init', or name yours, "
            "for example: pytest --isolation path/to/isolation.toml"
        ) from None
    except tomllib.TOMLDecodeError as error:
        reason = str(error)
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is no UTF-8"
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except ValueError:
        reason = "an integer has too many digits"
    except RecursionError:
        reason = "it is nested too deeply"
    raise ConfigError(
        f'{path}: this is no TOML in UTF-8 ({reason}); correct that place, for example: name = "support"'
    )


def _entries(path: Path, name: str, raw: object) -> list[dict[str, Any]]:
    if not isinstance(raw, list):
        refuse(path, name, f"is {toml_name(raw)}", f"[[{name}]], in double brackets", f"[[{name}]]")
    return [
        check(path, f"[[{name}]] {number}", LISTS[name], entry) for number, entry in enumerate(raw, start=1)
    ]


def _check_targets(path: Path, targets: tuple[TargetEntry, ...]) -> None:
    example = 'a table with name = "support" and factory = "my_app.isolation:support_team"'
    if not targets:
        refuse(path, "[[target]]", "none is declared", "at least one: the system under test", example)
    # Names become file names, and some file systems do not tell upper from lower case.
    names = [entry.name.lower() for entry in targets]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        refuse(path, "[[target]]", f"the name {twice[0]!r} is used twice", "each name once", example)


def _run(raw: dict[str, Any]) -> Run:
    values = dict(raw)
    for name in ("families", "skins"):
        if name in values:
            values[name] = tuple(dict.fromkeys(values[name]))
    if "max_time" in values:
        values["max_time"] = duration(values["max_time"])
    return Run(**values)


def _policy(raw: dict[str, Any], allow: list[dict[str, Any]]) -> Policy:
    masks = tuple(raw.get("masks", ()))
    return Policy(tuple(Allow(**entry) for entry in allow), **{**raw, "masks": masks})


def _paths(root: Path, raw: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: root / value if key in names else value for key, value in raw.items()}
