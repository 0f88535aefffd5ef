"""One load run in one process: users' answers are judged, findings written, counters kept; no Locust here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import getpid
from pathlib import Path
from typing import Any

from isolation_kit.config import Config, ReportFile, TargetEntry, load
from isolation_kit.content import Attack, load_attacks, load_fingerprint_classes
from isolation_kit.faces import Clock, Output, shown, write_file, write_report
from isolation_kit.faces.surroundings import run_block
from isolation_kit.finding import Finding, Verdict
from isolation_kit.journal import Entry, Journal
from isolation_kit.load.check import Checker, Seen
from isolation_kit.load.counts import VIEWS, Counts
from isolation_kit.load.identity import Identities, Identity, LoadTurn
from isolation_kit.load.outcome import ROOT, SERVICE, declaration_of, item_name, outcomes
from isolation_kit.load.scripts import Script, scripts_of
from isolation_kit.load.settings import LoadSettings
from isolation_kit.load.started import note
from isolation_kit.load.summary import Load, series
from isolation_kit.load.summary import told as summary_told
from isolation_kit.load.tokens import Tokens
from isolation_kit.report import Baseline, Timing, build, exit_verdict

__all__ = ["Finished", "Run"]


@dataclass(frozen=True, slots=True)
class Finished:
    """The report of a run, its verdict under the gate, the run in sentences, and where the report lies."""

    report: Mapping[str, Any]
    verdict: Verdict
    told: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass(slots=True)
class Run:
    """One process's part of a load run.

    Args:
        worker: its index among the workers, -1 in a run without.
        attacks: the shipped ones, where somebody has read them already.
        second: seconds since the epoch, a clock that all workers share.
        zero: the second in which the run began.
    """

    settings: LoadSettings
    worker: int = -1
    second: Callable[[], float] = time.time
    target: str = "task"
    attacks: tuple[Attack, ...] = ()
    clock: Clock = field(default_factory=Clock)
    counts: Counts = field(default_factory=Counts)  # since the last report to the master
    total: Counts = field(default_factory=Counts)  # at the master: of all workers
    zero: int = field(default_factory=lambda: int(time.time()))
    config: Config = field(init=False)
    tokens: Tokens = field(init=False)
    checker: Checker = field(init=False)
    output: Output = field(init=False)
    _people: Identities | None = None
    _journal: Journal | None = None
    _index: int = 0

    def __post_init__(self) -> None:
        self.config = _config(self.settings)
        self.tokens = Tokens(self.settings.seed)
        self.checker = Checker(self.tokens, self.config.policy, SERVICE, ROOT)
        self.output = Output(self.settings.output)

    # -- users -------------------------------------------------------------------------------------------

    def take(self) -> Identity:
        """A user that nobody else in the run is."""
        if self._people is None:
            self.ready()
            scripts = scripts_of(self.attacks, self.settings.families, target=self.target)
            self._people = Identities(self.tokens, scripts, self.worker)
        return self._people.take()

    def ready(self) -> None:
        """Read what users say, before the first one speaks."""
        if not self.attacks or self.config.content.attacks:
            self.attacks = load_attacks(self.config.content.attacks)

    def give_back(self, identity: Identity) -> None:
        """The user stops."""
        if self._people is not None:
            self._people.give_back(identity)

    # -- judging -----------------------------------------------------------------------------------------

    def sent(self, how: str = "") -> None:
        """Count a request; `how`: it was broken off, or read slowly."""
        self.counts.add("sent")
        self.counts.add("at", str(self._now()), "requests")
        if how:
            self.counts.add(how)

    def failed(self, kind: str) -> None:
        """Count a request that came to no answer, by kind: a closed list of names and numbers."""
        self.counts.add("failed", kind)
        self.counts.add("at", str(self._now()), "failures")

    def response(
        self, turn: LoadTurn, data: bytes, *, complete: bool, unread: int = 0, head: bytes = b""
    ) -> Verdict:
        """Judge an answer; returns after what was found is on disk.

        Args:
            complete: True if it is a whole answer.
            unread: bytes of it that nobody read.
            head: its header lines.
        """
        if unread:
            self.counts.add("unread", amount=unread)
        if not self.settings.check:
            return Verdict.PASS
        seen = self.checker.response(turn, data, complete=complete and not unread, head=head)
        if not complete and not seen.findings:
            return Verdict.PASS  # a failure that shows nothing is counted as a failure, not as judged
        self._record(turn.script.family, turn.script, seen)
        kinds = {finding.kind for finding in seen.findings if finding.counts}
        return min(kinds, key=tuple(Verdict).index, default=Verdict.PASS)

    def view(self, view: Mapping[str, Any]) -> None:
        """Judge what a child saw."""
        seen = self.checker.view(
            str(view["user"]), str(view["agent"]), str(view["text"]), whole=view["ending"] == "ended"
        )
        if self.tokens.user(str(view["user"])) >= 0:
            self.counts.add("agent", str(view["agent"]))
            self._record(VIEWS, _UNKNOWN, seen)

    def _record(self, family: str, script: Script, seen: Seen) -> None:
        if seen.decoded:
            self.counts.add("decoded")
        if seen.unread:
            self.counts.add("unread", amount=seen.unread)
        second = self._now()
        if seen.findings:
            self._write(family, second, script, seen.findings)
        self.counts.checked(family, second, seen.findings)

    def _write(self, family: str, second: int, script: Script, findings: tuple[Finding, ...]) -> None:
        if self._journal is None:
            name = f"load-{self.worker if self.worker >= 0 else 'main'}-{getpid()}"
            self._journal = Journal(self.output.journal_folder / f"{name}.jsonl")
        self._index += 1
        scenario = script.scenario(self.settings.seed)
        self._journal.case(item_name(family), second, self._index, scenario, findings)

    def _now(self) -> int:
        return int(self.second())

    # -- the end -----------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Lay the output folder out: once a run, at the master.

        Raises:
            UsageError: if it cannot be written to, or another run writes there.
        """
        self.clock, self.zero = Clock(), int(time.time())
        self.output.prepare(report.path for report in self.config.reports)
        note(self.output, self.settings, self.zero, ended=False)

    def finish(self, load_: Load, *, recorded: bool, command: Sequence[str]) -> Finished:
        """Write the reports and judge the run."""
        entries, remarks = self.output.journalled()
        whole = self.total.at_least(_on_disk(entries))
        untold = 0 if load_.killed else whole.leaks() - self.total.leaks()
        if untold:
            remarks = (*remarks, f"{untold} leaks stand in the findings logs only: a worker was lost")
        total = whole.since(self.zero)
        declaration = declaration_of(name for (name,), _ in total.keys("agent"))
        found = outcomes(total, load_, self.settings.families, entries, recorded)
        if remarks:
            found = (replace(found[0], notes=(*found[0].notes, *remarks)), *found[1:])
        gate = self.config.gate
        report = build(
            found,
            run=run_block(
                self.config,
                families=tuple(outcome.item.family for outcome in found),
                declarations=(),
                command=self.settings.command.split() or command,
                shard=(1, 1),
                kind="load",
                users=max(load_.users.values(), default=0),
                leaks_from=load_.leaks_from,
            ),
            policy=self.config.policy,
            classes=load_fingerprint_classes(self.config.content.fingerprints),
            declarations={declaration.name: declaration},
            baseline=None if gate.baseline is None else Baseline.load(gate.baseline),
            timing=Timing(self.clock.started, self.clock.seconds, load_.cpu_seconds),
            refused_share=gate.refused_share,
        )
        for outcome in found:
            for case in outcome.smallest:
                self.output.store_case(case.scenario)
        folder = self.output.folder
        files = [ReportFile(kind, folder / f"report.{kind}") for kind in ("json", "md", "html")]
        for file in (*files, *self.config.reports):
            write_report(report, file)
        write_file(folder / "load.json", series(total, load_) + "\n")
        note(self.output, self.settings, self.zero, ended=True)
        self.output.release()
        verdict = Verdict(exit_verdict(report, gate.fail_on))
        told = ", ".join(shown(file.path.absolute()) for file in files)
        sentences = (*summary_told(total, load_), *load_.notes)
        return Finished(
            report, verdict, sentences, (f"reports: {told}, {shown((folder / 'load.json').absolute())}",)
        )


def _on_disk(entries: Sequence[Entry]) -> Counts:
    """What the findings logs tell: a worker that was killed could not report its last findings."""
    counts = Counts()
    for entry in entries:
        family = entry.item.partition("[")[0].removeprefix("load-")
        counts.checked(family, entry.block, entry.findings)
    return counts


_UNKNOWN = Script("recorded-views", "recorded-view", "‹a turn of this user›", "{}", "‹its task›", "")


def _config(settings: LoadSettings) -> Config:
    if settings.config is not None:
        config = load(settings.config)
        return replace(config, run=replace(config.run, seed=settings.seed), output=settings.output)
    place = Path.cwd() / "isolation.toml"
    config = Config(place, (TargetEntry("service", ""),), output=settings.output)
    return replace(config, run=replace(config.run, seed=settings.seed, cases=0, families=settings.families))
