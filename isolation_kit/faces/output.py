"""The output folder `.isolation/`: ignored by git, laid out once, written whole files at a time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from isolation_kit.errors import ConfigError, KitError
from isolation_kit.faces.parts import dump_outcome, load_outcome
from isolation_kit.journal import Entry, Journal, read
from isolation_kit.outcome import Item, ItemOutcome
from isolation_kit.scenario import Scenario

__all__ = ["Output", "shown", "write_file"]


def shown(path: Path) -> str:
    """`path` as one would type it here: from the working folder, never absolute."""
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:  # on another drive
        return path.name


def write_file(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a whole file or none: a reader never sees half of it.

    Raises:
        ConfigError: if the place cannot be written to.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        temporary.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: Path, error: OSError) -> ConfigError:
    """The message for a place that cannot be written to."""
    return ConfigError(
        f"{shown(path)} cannot be written ({error.strerror or type(error).__name__}); make its folder "
        'writable or choose another, for example [report] output = "build/isolation" in isolation.toml'
    )


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

    def prepare(self, report_paths: Iterable[Path] = (), *, fresh: bool = True) -> None:
        """Lay the folder out; a fresh run moves what an earlier one left to `previous/`.

        Raises:
            ConfigError: if it, or the place of a report, cannot be written to.
        """
        try:
            previous = self.folder / "previous"
            self._refuse_foreign()
            self.folder.mkdir(parents=True, exist_ok=True)
            stale = [place for place in (self.parts, self.journal_folder) if fresh and place.exists()]
            if stale:
                shutil.rmtree(previous, ignore_errors=True)
                previous.mkdir(parents=True, exist_ok=True)
            for place in stale:
                place.rename(previous / place.name)
            for place in (self.parts, self.cases, self.journal_folder):
                place.mkdir(exist_ok=True)
            for path in report_paths:
                path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(self.folder, error) from None
        self._ignore()
        for path in report_paths:
            if path.is_dir() or not os.access(path.parent, os.W_OK):
                raise unwritable(path, OSError(0, "a folder is there" if path.is_dir() else "read-only"))

    def _refuse_foreign(self) -> None:
        """Take a new folder or one of the kit's: another would be filled, and hidden from git."""
        own = (self.parts, self.cases, self.journal_folder)
        if self.folder.is_dir() and any(self.folder.iterdir()) and not any(place.exists() for place in own):
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
        for case in outcome.smallest:
            self.store_case(case.scenario)
        path = self.part_of(outcome.item)
        write_file(path, dump_outcome(outcome))
        return path

    def store_case(self, scenario: Scenario) -> Path:
        """Store a case for replay; it holds placeholders, never a token."""
        self._ignore()
        path = self.cases / f"{scenario.digest()}.json"
        if not path.exists():  # named by its content
            write_file(path, scenario.to_json() + "\n")
        return path

    def load(self, item: Item) -> ItemOutcome | None:
        """The stored outcome of an item, if it came to one."""
        path = self.part_of(item)
        try:
            return load_outcome(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, KitError):
            return None

    # -- the journal -------------------------------------------------------------------------------------

    def journal(self, worker: str) -> Journal:
        """The findings log of one worker process."""
        return Journal(self.journal_folder / f"{worker}.jsonl")

    def journalled(self) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
        """All that the workers logged, and remarks on logs that are torn or broken."""
        entries: list[Entry] = []
        remarks = []
        for path in sorted(self.journal_folder.glob("*.jsonl")):
            reading = read(path)
            entries += reading.entries
            if reading.broken_at:
                remarks.append(f"the findings log {path.name} was changed at line {reading.broken_at}")
        return tuple(entries), tuple(remarks)
