"""One `pytest --isolation` session: what is collected, what came back from the workers, and its end."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

from isolation_kit.config import place_of
from isolation_kit.errors import IsolationKitError, UsageError
from isolation_kit.faces import (
    Clock,
    Done,
    Finished,
    Options,
    Project,
    Work,
    begin,
    finish,
    open_project,
    outcomes_of,
)
from isolation_kit.finding import Verdict
from isolation_kit.outcome import Item
from isolation_kit.pytest_plugin.items import AuditFile, AuditItem
from isolation_kit.pytest_plugin.waiting import Terminal

__all__ = ["Session", "config_file", "start"]

_OPTIONS = ("cases", "seed", "profile", "max_time", "baseline", "fail_on", "replay", "shard")
_NOTHING = (
    "--isolation was given, but the arguments select neither an item of isolation.toml nor a test that is "
    "marked 'isolation', so nothing would be audited; run the audit alone with 'pytest --isolation "
    "isolation.toml', your suite and the audit with 'pytest --isolation', or mark a test with "
    "@pytest.mark.isolation"
)

_NONE_RAN = (
    "--isolation was given, but no test that is marked 'isolation' ran to its end (all were skipped or "
    "expected to fail), so nothing was audited; let one run, or audit isolation.toml with "
    "'pytest --isolation isolation.toml'"
)


def start(config: pytest.Config) -> None:
    """Load the project and hook it into this session.

    Raises:
        pytest.UsageError: for anything that is wrong with options, `isolation.toml` or what it names.
    """
    worker = getattr(config, "workerinput", None)
    path = Path(worker["isolation_file"]) if worker else config_file(config)
    try:
        project = open_project(path, _options(config))
        if worker is None and not config.option.collectonly:
            begin(project)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    if config.args_source in (pytest.Config.ArgsSource.TESTPATHS, pytest.Config.ArgsSource.INVOCATION_DIR):
        config.args.append(str(path))
    config.pluginmanager.register(Session(config, project, path), "isolation-session")


def config_file(config: pytest.Config) -> Path:
    """The `isolation.toml` of this session: the one among the arguments, else beside the user or the root.

    Raises:
        pytest.UsageError: if the arguments name several.
    """
    folder = config.invocation_params.dir
    named = {folder / arg.split("::")[0] for arg in config.args}
    files = sorted(path for path in named if path.suffix == ".toml")
    if len(files) > 1:
        raise pytest.UsageError(
            f"the arguments name {len(files)} configuration files; allowed: one a run, for example: "
            f"pytest --isolation {files[0].name}"
        )
    if files:
        return files[0]
    places = (folder / "isolation.toml", config.rootpath / "isolation.toml")
    return next((path for path in places if path.is_file()), places[0])


def _options(config: pytest.Config) -> Options:
    raw: dict[str, Any] = {name: config.getoption(f"isolation_{name}") for name in _OPTIONS}
    raw["reports"] = config.getoption("isolation_report")
    for name in ("update_baseline", "reveal"):
        raw[name] = config.getoption(f"isolation_{name}") or None
    return Options.parse(raw, config.invocation_params.dir, "--isolation-")


class Session:
    """The hooks of one session. Under xdist the controller only collects results, the workers run items."""

    def __init__(self, config: pytest.Config, project: Project, path: Path) -> None:
        self.project = project
        self.path = path
        self._config = config
        self._clock = Clock()
        self._work: Work | None = None
        self._selected: set[Item] = set()
        self._crashed: set[Item] = set()
        self._nothing = False
        self._ran = False
        self._finished: Finished | None = None
        self._trouble = ""
        self._terminal = Terminal(heard=not self._is_worker)

    @property
    def _is_worker(self) -> bool:
        return hasattr(self._config, "workerinput")

    # -- collection --------------------------------------------------------------------------------------

    def pytest_report_header(self) -> str:
        """One line above the tests."""
        run, names = self.project.config.run, ", ".join(self.project.declarations)
        if self.project.case is not None:
            return f"isolation: replay of one case, seed {run.seed}, targets: {names}"
        return f"isolation: seed {run.seed}, {run.cases} cases an item, targets: {names}"

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect the session's own `isolation.toml`."""
        if file_path != self.path and not _same(file_path, self.path):
            return None
        return AuditFile.of(parent, file_path, self.project.items, self.run)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        """After everybody's selection: a session that would audit nothing is refused."""
        yield
        self._selected = {item.audit_item for item in items if isinstance(item, AuditItem)}
        marked = any(item.get_closest_marker("isolation") for item in items)
        if self._selected or marked or session.testsfailed:
            return
        if self._is_worker:
            # An exception here would look like a crash of the worker; the controller raises it instead.
            items.clear()
            self._config.workeroutput["isolation_nothing"] = True  # type: ignore[attr-defined]
            return
        raise pytest.UsageError(_NOTHING)

    # -- running -----------------------------------------------------------------------------------------

    def run(self, item: Item) -> Done:
        """Run one item in this process."""
        if self._work is None:
            worker = getattr(self._config, "workerinput", {"workerid": "main"})
            self._work = Work(self.project, worker["workerid"], self._terminal.progress)
        return self._work.run(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """What a target printed is hostile and may hold a payload: it does not get into any report."""
        report = yield
        if isinstance(item, AuditItem):
            report.sections.clear()
        if isinstance(item, AuditItem) or item.get_closest_marker("isolation"):
            # An attribute travels with the report from an xdist worker to the controller.
            report.isolation_ran = (  # type: ignore[attr-defined]
                report.when == "call" and not report.skipped
            )
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """xdist: tell a worker which file this session reads."""
        node.workerinput["isolation_file"] = str(self.path)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Iterable[str]) -> None:
        """xdist: learn from the workers what was selected."""
        self._selected |= {item for item in self.project.items if any(_names(node, item) for node in ids)}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """xdist: learn from a worker that it had nothing to do."""
        self._nothing |= bool(getattr(node, "workeroutput", {}).get("isolation_nothing"))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notice what ran, and an item whose worker died: xdist reports it as failed in no phase at all."""
        self._ran |= getattr(report, "isolation_ran", False)
        if report.when not in ("setup", "call", "teardown"):
            self._crashed |= {item for item in self.project.items if _names(report.nodeid, item)}

    # -- the end -----------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Close the targets; on the controller, write the reports and let nothing end green by chance."""
        if self._work is not None:
            self._work.close()
        if self._is_worker or self._config.option.collectonly:
            return
        if self._nothing and not self._selected:
            self._trouble = _NOTHING
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            return
        if not self._selected:
            if not self._ran and session.exitstatus == pytest.ExitCode.OK:
                self._trouble = _NONE_RAN
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
            return
        try:
            outcomes = outcomes_of(self.project, tuple(self._selected), self._why)
            command = ("pytest", *map(str, self._config.invocation_params.args))
            self._finished = finish(self.project, outcomes, command=command, clock=self._clock)
        except IsolationKitError as error:
            self._trouble = str(error)
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            return
        except Exception as error:
            # Without its text: the target may have had a hand in it. Parts and findings log stay.
            self._trouble = f"a fault of the kit, {place_of(error)}; please report it"
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
            return
        if self._finished.verdict is not Verdict.PASS and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_unconfigure(self) -> None:
        """Let other runs use the output folder."""
        self.project.output.release()
        self._terminal.close()

    def _why(self, item: Item) -> str:
        if item in self._crashed:
            return "its worker process died while it ran"
        return "the session ended before this item did"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The report in short, in the order of the long one."""
        from isolation_kit.report import terminal

        if self._trouble:
            terminalreporter.write_line(f"ERROR: {self._trouble}", red=True)
        if self._finished is None:
            return
        writer = self._config.get_terminal_writer()
        terminalreporter.section("isolation")
        terminalreporter.write_line(
            terminal(self._finished.report, color=writer.hasmarkup, width=writer.fullwidth)
        )
        for remark in self._finished.remarks:
            terminalreporter.write_line(remark)


def _names(node: str, item: Item) -> bool:
    return node.endswith(f"::{item.name}")


def _same(one: Path, two: Path) -> bool:
    return one.name == two.name and one.exists() and two.exists() and one.samefile(two)
