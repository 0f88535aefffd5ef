"""The output folder `.isolation/`: ignored by git, laid out once, written whole files at a time."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from json import dumps, loads
from os import O_CREAT, O_TRUNC, O_WRONLY, W_OK, access, fdopen, getpid, replace
from os import open as open_file
from os.path import relpath
from pathlib import Path

from isolation_kit.errors import ConfigError, KitError
from isolation_kit.faces.lock import Lock
from isolation_kit.faces.parts import dump_outcome, load_outcome
from isolation_kit.faces.progress import WatchedJournal
from isolation_kit.journal import Entry, read
from isolation_kit.outcome import Item, ItemOutcome, Smallest
from isolation_kit.scenario import Scenario

__all__ = ["Output", "shown", "write_file"]


def shown(path: Path) -> str:
    """`path` as one would type it here: from the working folder, never absolute."""
    try:
        return Path(relpath(path)).as_posix()
    except (ValueError, OSError):  # on another drive, or the working folder is gone
        return path.name


def write_file(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a whole file or none: a reader never sees half of it.

    Raises:
        ConfigError: if the place cannot be written to.
    """
    _refuse_special(path)
    temporary = path.with_name(f".{path.name}.{getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC, mode)
        with fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        replace(temporary, path)
    except OSError as error:
        raise unwritable(path, error.strerror or type(error).__name__) from None


def unwritable(path: Path, why: str) -> ConfigError:
    """The message for a place that cannot be written to."""
    return ConfigError(
        f"{shown(path)} cannot be written ({why}); make its folder writable or choose another, for example "
        '[report] output = "build/isolation" in isolation.toml'
    )


def _refuse_special(path: Path) -> None:
    """A file would be put in the place of a device, a pipe or a link to one."""
    if path.is_symlink() and not path.exists():
        raise unwritable(path, "a link to nowhere is there")
    if path.exists() and not path.is_file():
        raise unwritable(path, "a folder is there" if path.is_dir() else "what is there is no regular file")


def _check_report(path: Path) -> None:
    try:
        _refuse_special(path)
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error.strerror or type(error).__name__) from None
    if not access(path.parent, W_OK):
        raise unwritable(path, "read-only")


class Output:
    """The folder of one run's results.

    Args:
        folder: usually `.isolation` beside `isolation.toml`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.parts = folder / "parts"
        self.cases = folder / "cases"
        self.journal_folder = folder / "journal"
        self.settings = folder / "run.json"
        self._lock = Lock(folder / ".lock")

    def prepare(self, report_paths: Iterable[Path] = (), *, fresh: bool = True) -> None:
        """Check every place, lock the folder and lay it out; call `release` at the end of the run.

        A fresh run moves what an earlier one left to `previous/`.

        Raises:
            ConfigError: if it, or the place of a report, cannot be written to; then nothing was moved.
            UsageError: if another run writes here.
        """
        for path in report_paths:
            _check_report(path)
        try:
            self._refuse_foreign()
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock.take()
            if fresh:
                self._set_aside()
            for place in (self.parts, self.cases, self.journal_folder):
                place.mkdir(exist_ok=True)
        except OSError as error:
            raise unwritable(self.folder, error.strerror or type(error).__name__) from None
        self._ignore()

    def lock(self) -> None:
        """Lock the folder without changing it.

        Raises:
            UsageError: if another run writes here.
        """
        if self.folder.is_dir():
            self._lock.take()

    def release(self) -> None:
        """Let other runs use the folder."""
        self._lock.close()

    @property
    def holds_findings(self) -> bool:
        """True if an earlier run left a part or a line of a findings log."""
        places = (*self.parts.glob("*.json"), *self.journal_folder.glob("*.jsonl"))
        return any(path.is_file() and path.stat().st_size > 0 for path in places)

    def _set_aside(self) -> None:
        # A run that ended before its first item leaves nothing: what `previous/` holds is worth more.
        if not self.holds_findings:
            return
        previous = self.folder / "previous"
        shutil.rmtree(previous, ignore_errors=True)
        previous.mkdir()
        for place in (self.parts, self.journal_folder, self.settings):
            if place.exists():
                place.rename(previous / place.name)

    def _refuse_foreign(self) -> None:
        """Take a new folder or one of the kit's: another would be filled, and hidden from git."""
        own = (self.parts, self.cases, self.journal_folder)
        if not self.folder.is_dir() or any(place.exists() for place in own):
            return
        if any(place.name not in (".lock", ".gitignore") for place in self.folder.iterdir()):
            raise ConfigError(
                f"the output folder {shown(self.folder)} holds files that are not the kit's; name a new one, "
                'for example [report] output = "build/isolation" in isolation.toml'
            )

    def _ignore(self) -> None:
        """Keep run output out of the user's repository, whatever its own ignore file says."""
        mark = self.folder / ".gitignore"
        if not mark.exists():
            write_file(mark, "*\n")

    # -- parts and cases ---------------------------------------------------------------------------------

    def part_of(self, item: Item) -> Path:
        """Where an item's outcome is stored."""
        return self.parts / f"{item.target}.{item.family}.json"

    def store(self, outcome: ItemOutcome) -> Path:
        """Store an outcome and its smallest cases."""
        self.store_cases(outcome)
        for case in outcome.smallest:
            self._store_pair(case)
        path = self.part_of(outcome.item)
        write_file(path, dump_outcome(outcome))
        return path

    def store_cases(self, outcome: ItemOutcome) -> None:
        """Store the smallest cases of an outcome, and the first that ended in an error."""
        for case in outcome.smallest:
            self.store_case(case.scenario)
        if outcome.failed is not None:
            self.store_case(outcome.failed)

    def store_case(self, scenario: Scenario) -> Path:
        """Store a case for replay; it holds placeholders, never a token."""
        self._ignore()
        path = self.cases / f"{scenario.digest()}.json"
        if not path.exists():  # named by its content
            write_file(path, scenario.to_json() + "\n")
        return path

    def _store_pair(self, case: Smallest) -> None:
        """The two cases of a comparison, a key a line: `diff` shows what made the difference."""
        for name, scenario in zip(("base", "varied"), case.pair, strict=False):
            text = dumps(loads(scenario.to_json()), indent=1, sort_keys=True, ensure_ascii=False)
            write_file(self.cases / f"{case.fingerprint.id}-{name}.json", text + "\n")

    def load(self, item: Item) -> ItemOutcome | None:
        """The stored outcome of an item, if it came to one."""
        path = self.part_of(item)
        try:
            return load_outcome(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, KitError):
            return None  # absent or damaged: the findings log knows what it found

    # -- the journal -------------------------------------------------------------------------------------

    def journal(self, worker: str) -> WatchedJournal:
        """The findings log of one worker process."""
        return WatchedJournal(self.journal_folder / f"{worker}.jsonl")

    def journalled(self) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
        """All that the workers logged, and remarks on logs that are torn or broken."""
        entries: list[Entry] = []
        remarks = []
        for path in sorted(self.journal_folder.glob("*.jsonl")):
            try:
                reading = read(path)
            except OSError as error:
                remarks.append(f"the findings log {path.name} cannot be read ({type(error).__name__})")
                continue
            entries += reading.entries
            if reading.broken_at:
                remarks.append(f"the findings log {path.name} was changed at line {reading.broken_at}")
        return tuple(entries), tuple(remarks)
