"""A project ready to be audited: everything that can be wrong is checked here, before the first case."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from isolation_kit.audit import BLOCK, DEFAULT_FAMILIES, FAMILIES, Plan, blocks, items
from isolation_kit.config import Config, close_to, load, resolve
from isolation_kit.content import Attack, FingerprintClass, load_attacks, load_fingerprint_classes
from isolation_kit.errors import ConfigError, UsageError
from isolation_kit.faces.options import Options, applied
from isolation_kit.faces.output import Output
from isolation_kit.outcome import Item
from isolation_kit.report import Baseline
from isolation_kit.scenario import Scenario
from isolation_kit.target import Declaration

__all__ = ["REPLAY", "Project", "only", "open_project", "project_of"]

REPLAY = "replay"


@dataclass(frozen=True, slots=True)
class Project:
    """One run as configured: what to audit, with what, and where results go.

    Attributes:
        config: `isolation.toml` with the command line's options applied.
        declarations: by target name.
        deadline: a `time.monotonic()` value, or None.
        case: the stored case that is replayed instead of an audit, or None.
    """

    config: Config
    options: Options
    declarations: Mapping[str, Declaration]
    families: tuple[str, ...]
    attacks: tuple[Attack, ...]
    classes: tuple[FingerprintClass, ...]
    items: tuple[Item, ...]
    output: Output
    baseline: Baseline | None = None
    deadline: float | None = None
    case: Scenario | None = None

    def plan(self, target: str) -> Plan:
        """What the audit of one target is to do."""
        run = self.config.run
        return Plan(
            seed=run.seed,
            cases=run.cases,
            families=self.families,
            skins=run.skins,
            profile=run.profile,
            policy=self.config.policy,
            attacks=self.attacks,
            case_timeout=float(run.case_timeout),
            deadline=self.deadline,
            shard=self.options.shard,
            untested=self.config.untested_of(target),
        )

    @property
    def report_paths(self) -> tuple[Path, ...]:
        """Every report file that this run writes outside of its own folder."""
        return tuple(report.path for report in self.config.reports)


def open_project(path: Path, options: Options) -> Project:
    """Load `isolation.toml` and all that it names.

    Raises:
        UsageError: for the first thing that is wrong; says where and the way out.
    """
    return project_of(load(path), options)


def project_of(config: Config, options: Options) -> Project:
    """A project from a configuration that is loaded already.

    Raises:
        UsageError: as `open_project`.
    """
    config = applied(config, options)
    families = _families(config)
    declarations = {
        entry.name: resolve(entry.factory, config.root).named(entry.name) for entry in config.targets
    }
    _check_children(config, declarations)
    seconds = config.run.max_time
    case = _case(options.replay)
    return Project(
        config=config,
        options=options,
        declarations=declarations,
        families=families,
        attacks=load_attacks(config.content.attacks),
        classes=load_fingerprint_classes(config.content.fingerprints),
        items=_items(config, options, declarations, families) if case is None else _replays(declarations),
        output=Output(config.output),
        baseline=_baseline(config, options),
        deadline=None if seconds is None else time.monotonic() + seconds,
        case=case,
    )


def _items(
    config: Config, options: Options, declarations: Mapping[str, Declaration], families: tuple[str, ...]
) -> tuple[Item, ...]:
    number, shards = options.shard
    if not blocks(config.run.cases, options.shard):
        most = len(blocks(config.run.cases))
        raise UsageError(
            f"shard {number}/{shards} has nothing to run: {config.run.cases} cases are {most} blocks of "
            f"{BLOCK}, and a shard runs whole blocks; use at most {most} shards, for example "
            f"--isolation-shard 1/{most}, or more cases"
        )
    return items(tuple(declarations), families, number)


def _families(config: Config) -> tuple[str, ...]:
    for name in config.run.families:
        if name not in FAMILIES:
            raise ConfigError(
                f"{config.path}: [run]: families names {name!r}, which does not exist"
                f"{close_to(name, FAMILIES)}; allowed: {', '.join(FAMILIES)}; example: families = "
                f'["{FAMILIES[0]}"]. Correct the file.'
            )
    return config.run.families or DEFAULT_FAMILIES


def _check_children(config: Config, declarations: Mapping[str, Declaration]) -> None:
    everywhere = sorted({agent for entry in declarations.values() for agent in entry.agents})
    for allow in config.policy.allow:
        _check_agent(config, "[[allow]]", allow.child, everywhere)
    for item in config.untested:
        _check_agent(config, "[[untested]]", item.child, declarations[item.target].children)


def _check_agent(config: Config, table: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        example = known[0] if known else "the target has none"
        raise ConfigError(
            f"{config.path}: {table}: child = {name[:40]!r} names no declared agent{close_to(name, known)}; "
            f"allowed: {', '.join(known)}; example: child = {example!r}. Correct the file."
        )


def _case(path: Path | None) -> Scenario | None:
    if path is None:
        return None
    try:
        if path.exists() and not path.is_file():
            raise OSError(0, "it is no regular file")
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise ConfigError(
            f"the case {path.name} cannot be read ({error.strerror}); give a file that a run wrote under "
            ".isolation/cases/, for example: --isolation-replay .isolation/cases/1a2b3c4d5e6f7081.json"
        ) from None
    try:
        return Scenario.from_json(text)
    except UsageError as error:
        raise UsageError(f"{path.name}: {error}") from None


def _replays(declarations: Mapping[str, Declaration]) -> tuple[Item, ...]:
    return tuple(Item(order, target, REPLAY) for order, target in enumerate(declarations))


def _baseline(config: Config, options: Options) -> Baseline | None:
    path = config.gate.baseline
    if path is None or (options.update_baseline and not path.exists()):
        return None
    return Baseline.load(path)


def only(project: Project, target: str) -> Project:
    """The project cut down to one target.

    Raises:
        ConfigError: if it has no such target.
    """
    if target not in project.declarations:
        known = tuple(project.declarations)
        raise ConfigError(
            f"--target {target[:40]!r} names no [[target]]{close_to(target, known)}; allowed: "
            f"{', '.join(known)}; for example --target {known[0]}"
        )
    return replace(project, items=tuple(item for item in project.items if item.target == target))
