"""The journal: every finding is on disk before anybody hears of it, so that a killed run loses nothing.

One file a worker, JSON lines, each written by one `os.write` to a file opened for appending. A line carries
in `prev` the digest of the line before it: a torn last line is tolerated, a changed or missing one is seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from json import dumps, loads
from os import O_APPEND, O_CREAT, O_WRONLY, write
from os import close as close_file
from os import open as open_file
from pathlib import Path
from typing import Any

from isolation_kit.closing import Closing
from isolation_kit.errors import ConfigError, IsolationKitError
from isolation_kit.finding import Finding
from isolation_kit.scenario import Scenario

__all__ = ["Entry", "Journal", "Reading", "read"]

# The functions that write are bound at import: a target that patches `os` or `json` must not erase a finding.
_START = "0" * 16


@dataclass(frozen=True, slots=True)
class Entry:
    """One case that showed something: where it stood in its item, its findings, and perhaps the case itself.

    `scenario` is stored with the first case of each fingerprint only; the others name it by digest.
    """

    item: str
    block: int
    index: int
    digest: str
    findings: tuple[Finding, ...]
    scenario: Scenario | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a journal holds. `torn`: the last line was cut. `broken_at`: first line off the chain, or 0."""

    entries: tuple[Entry, ...]
    torn: bool = False
    broken_at: int = 0


class Journal(Closing):
    """The append-only log of one worker process; a context manager.

    Args:
        path: the file; missing folders are made, an existing file is continued.

    Raises:
        ConfigError: if the file cannot be opened for writing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: set[tuple[str, str]] = set()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            raw = path.read_bytes() if path.exists() else b""
            self._file = open_file(path, O_WRONLY | O_APPEND | O_CREAT, 0o600)
        except OSError as error:
            raise ConfigError(
                f"the findings log {path.name} in {path.parent} cannot be written ({error.strerror}); give a "
                'folder that you may write to, for example [report] output = "build/isolation" in '
                "isolation.toml"
            ) from None
        self._prev, torn = _tail(raw)
        if torn:
            write(self._file, b"\n")

    def case(
        self, item: str, block: int, index: int, scenario: Scenario, findings: Iterable[Finding]
    ) -> None:
        """Put the findings of one case on disk; returns after the write, so announce them only then.

        Args:
            item: the item's name, `family[target]`.
            block: the block of the census; the sweep has block 0.
            index: the case's place in its block.
        """
        found = tuple(findings)
        if not found:
            return
        fresh = {(item, finding.fingerprint.id) for finding in found} - self._seen
        self._seen |= fresh
        self._append(
            {
                "item": item,
                "block": block,
                "index": index,
                "digest": scenario.digest(),
                "findings": [loads(finding.to_json()) for finding in found],
                **({"scenario": loads(scenario.to_json())} if fresh else {}),
            }
        )

    def _append(self, record: Mapping[str, Any]) -> None:
        line = _line({**record, "prev": self._prev})
        view = memoryview(line + b"\n")
        while view:
            view = view[write(self._file, view) :]
        self._prev = _digest(line)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            close_file(self._file)
            self._file = -1


def read(path: Path) -> Reading:
    """Read a journal back, as far as it can be trusted.

    Lines behind a break of the chain are still returned (a finding is never dropped), the break is reported.
    """
    lines = path.read_bytes().split(b"\n")
    rest = lines.pop()
    torn = rest != b""
    if _record(rest) is not None:
        lines.append(rest)  # only the line's end was cut off
    entries: list[Entry] = []
    prev, broken_at = _START, 0
    for number, line in enumerate(lines, start=1):
        record = _record(line)
        if record is None or record.get("prev") != prev:
            # A line that a kill tore is closed by the next writer, who goes on from the last whole one.
            if record is None and _goes_on(lines, number, prev):
                torn = True
                continue
            broken_at = broken_at or number
        if record is not None:
            entries += _entry(record)
            prev = _digest(line)
    return Reading(tuple(entries), torn, broken_at)


def _goes_on(lines: list[bytes], number: int, prev: str) -> bool:
    record = _record(lines[number]) if number < len(lines) else None
    return number == len(lines) or (record is not None and record.get("prev") == prev)


def _entry(record: Mapping[str, Any]) -> Iterator[Entry]:
    try:
        scenario = record.get("scenario")
        yield Entry(
            item=record["item"],
            block=record["block"],
            index=record["index"],
            digest=record["digest"],
            findings=tuple(Finding.from_json(dumps(finding)) for finding in record["findings"]),
            scenario=None if scenario is None else Scenario.from_json(dumps(scenario)),
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, IsolationKitError):
        return


def _tail(raw: bytes) -> tuple[str, bool]:
    """The digest of the last whole line, and whether the file ends within a line."""
    lines = raw.split(b"\n")
    last = next((line for line in reversed(lines) if _record(line) is not None), None)
    return (_START if last is None else _digest(last)), lines[-1] != b""


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _line(record: Mapping[str, Any]) -> bytes:
    return dumps(record, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode()


def _digest(line: bytes) -> str:
    return blake2b(line, digest_size=8).hexdigest()
