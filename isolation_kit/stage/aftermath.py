"""Looks around after the children of a turn have ended, and after the case: what is left, and where.

A baseline is taken before the target is built. While a system lives, its parent rightly holds what it told
and was told, so only a child's own work counts then (its text, its tools' arguments and replies) and what
lies outside of the parent's heap; after the case, when the target is torn down, nothing may be left at all.
Source: article 000 sections 4.2 and 5.5; article 001 section 2.2.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import PurePath
from typing import Any

from isolation_kit.canary import ALPHABET, TOKEN_LENGTH
from isolation_kit.scenario import Place, Slot
from isolation_kit.stage import outside, reachable
from isolation_kit.stage.case import Case
from isolation_kit.stage.names import plain_name
from isolation_kit.stage.running import Running
from isolation_kit.trace import Channel, Remnant

__all__ = ["Aftermath"]

_WORK = frozenset({Slot.CHILD_TEXT, Slot.CHILD_TOOL_ARGS, Slot.CHILD_TOOL_RESULT, Slot.CHILD_TOOL_NOISE})
_CHILDS = _WORK | {Slot.TASK_GOAL, Slot.TASK_INPUT, Slot.TASK_CONSTANTS, Slot.CHILD_ANSWER}
_SIDE_FILES = ("-wal", "-shm", "-journal")
_MOMENT = 0.01  # seconds
_LOOKS = 4  # with a longer wait before each, where threads may still drop what they hold
_PATIENCE = 20  # moments that are waited for what is about to end
_MOST_PATHS = 1  # of one execution: it is a search through all of the process
_MOST = 40  # remnants of one look: a flood of them is one fault

Test = Callable[[Place], bool]


class Aftermath:
    """The looks at one execution. Sightings are kept as places: no token and no text."""

    def __init__(self, case: Case) -> None:
        self.remnants: tuple[Remnant, ...] = ()
        self.unlooked = outside.UNLOOKED
        self._case = case
        self._paths = 0
        self._worn: tuple[tuple[str, str], ...] = ()
        head = re.escape(case.recorder.ledger.mint.prefix)
        body = f"[{ALPHABET}]{{{TOKEN_LENGTH - len(case.recorder.ledger.mint.prefix)}}}"
        self._head = case.recorder.ledger.mint.prefix
        self._text = re.compile(head + body)
        self._bytes = re.compile((head + body).encode())

    @contextmanager
    def around(self) -> Iterator[None]:
        """Take the baseline, watch the children while they live, and stop watching."""
        self._environment = dict(os.environ)
        self._arguments = list(sys.argv)
        self._folders = tuple(outside.Folder.now(path) for path in outside.folders())
        self._running = Running()
        self._case.watch = self.while_it_lives
        reachable.freeze()
        try:
            yield
        finally:
            reachable.thaw()

    # -- the three moments -------------------------------------------------------------------------------

    def while_it_lives(self) -> None:
        """A child asks its model: what every process of the same user can read of it now."""
        self._keep(self._environ(-1), ())
        for pid in outside.descendants() - self._running.processes:
            for kind, data in zip(("arguments", "environment"), outside.arguments(pid), strict=True):
                self._keep(self._scanned(kind, Channel.ENVIRONMENT, "process", data, _secret), ())

    async def after_turn(self, index: int) -> None:
        """All children of a turn have ended."""
        # What woke this very step (a future with a tool's reply, when a tool ran in a task or a thread of its
        # own) is held by the event loop until the step ends, and a thread drops its work a moment later.
        await asyncio.sleep(0)
        self._learn()
        held = reachable.held_since(self._tokens, self._kit())
        for number in range(_LOOKS if threading.active_count() > 1 else 1):
            if not self._objects_of(held, _work):
                break
            held = []  # a look must not keep what it looks for
            await asyncio.sleep(_MOMENT * 2**number)
            held = reachable.held_since(self._tokens, self._kit())
        found = [*self._environ(index), *self._files(index, _childs), *self._of_survivors(index, _work)]
        self._keep(found, self._objects(index, _work, held))

    async def after_case(self) -> None:
        """The target is torn down, unless it stays up for the campaign."""
        self._learn()
        stays = self._case.declaration.scope == "campaign"
        wanted = _work if stays else _any
        left = await self._outliving()
        files = self._files(-1, _childs if stays else _all)
        found = [*self._environ(-1), *files, *self._of_survivors(-1, wanted), *left]
        held = reachable.held_since(self._tokens, self._kit())
        held += reachable.held_in_modules(self._tokens)
        self._keep(found, self._objects(-1, wanted, held))

    def _learn(self) -> None:
        """What canaries wear in this case."""
        self._worn = tuple((item.token, item.worn) for item in self._case.recorder.planted if item.worn)

    def _keep(self, found: Iterable[Remnant], more: Iterable[Remnant]) -> None:
        known = {item[:5] for item in self.remnants}
        for item in (*found, *more):
            if item[:5] not in known and len(known) < _MOST:
                known.add(item[:5])
                self.remnants = (*self.remnants, item)

    # -- outside of the heap -----------------------------------------------------------------------------

    def _environ(self, turn: int) -> Iterator[Remnant]:
        now = dict(os.environ)
        if now != self._environment:
            for name in sorted(now.keys() | self._environment.keys()):
                if now.get(name) != self._environment.get(name):
                    data = f"{name}={now.get(name, '')}".encode("utf-8", "surrogatepass")
                    holder = self._plain(name)
                    told = tuple(
                        self._scanned("environment", Channel.ENVIRONMENT, holder, data, _secret, turn)
                    )
                    yield from told or (Remnant("environment", Channel.ENVIRONMENT, holder, turn=turn),)
        if sys.argv != self._arguments:
            data = "\0".join(sys.argv).encode("utf-8", "surrogatepass")
            yield from self._scanned("arguments", Channel.ENVIRONMENT, "sys.argv", data, _secret, turn)

    def _files(self, turn: int, counts: Callable[[tuple[Place, ...]], bool]) -> Iterator[Remnant]:
        """New and changed files whose tokens, taken together, are a child's: `counts` says so."""
        new = [outside.files(folder, rewritten=turn < 0) for folder in self._folders]
        workdir = (outside.below(self._case.workdir),) if self._case.workdir else ()
        for path, data in chain(*new, *workdir):
            places = self._places(os.fsencode(path) + b"\n" + data)
            if places and counts(places):
                name = PurePath(path)
                side = name.name.endswith(_SIDE_FILES)
                holder = "sqlite" if side else self._plain(name.suffix) or "no_suffix"
                kind = "side file" if side else "file"
                yield Remnant(kind, Channel.ARTIFACT, holder, places=places, turn=turn)

    def _of_survivors(self, turn: int, wanted: Test) -> Iterator[Remnant]:
        """What processes below this one still hold: arguments, environment and memory."""
        for pid in sorted(outside.descendants()):
            if pid not in self._running.processes:
                for kind, data in zip(("arguments", "environment"), outside.arguments(pid), strict=True):
                    yield from self._scanned(kind, Channel.ENVIRONMENT, "process", data, _secret, turn)
            held: set[str] = set()
            for part in outside.memory(pid):
                held.update(self._tokens(part))
            yield from self._remnant("process", Channel.PROCESS_MEMORY, "process", held, wanted, turn)

    async def _outliving(self) -> list[Remnant]:
        """Threads, tasks, processes, descriptors and segments that were not there before the case."""
        left: list[Remnant] = []
        for _ in range(_PATIENCE):
            left = list(self._running.more(self._plain))
            if not left:
                break
            await asyncio.sleep(_MOMENT)
        return left

    # -- within the heap ---------------------------------------------------------------------------------

    def _kit(self) -> tuple[object, ...]:
        return (self._case, self._case.recorder, self)

    def _objects_of(
        self, held: list[tuple[object, tuple[str, ...]]], wanted: Test
    ) -> dict[str, tuple[object, set[Place]]]:
        """By the name of its type: an object that holds canaries of the wanted places, and these places."""
        known = {item.token: item.place for item in self._case.recorder.planted}
        rows: dict[str, tuple[object, set[Place]]] = {}
        for item, tokens in held:
            places = {known[token] for token in tokens if token in known and wanted(known[token])}
            if places:
                rows.setdefault(type(item).__name__, (item, set()))[1].update(places)
        return rows

    def _objects(self, turn: int, wanted: Test, held: list[tuple[object, tuple[str, ...]]]) -> list[Remnant]:
        rows = self._objects_of(held, wanted)
        if not rows:
            return []
        if self._paths < _MOST_PATHS:
            reachable.thaw()  # what is set aside would not be listed among those who hold it
        out = []
        mine = (held, rows, *held, *rows.values())
        for name, (item, found) in rows.items():
            self._paths += 1
            down = reachable.path_to(item, mine) if self._paths <= _MOST_PATHS else (name,)
            names = [self._plain(part) for part in down]
            path, memory = " > ".join(names), Channel.PROCESS_MEMORY
            out.append(Remnant("object", memory, names[-1], path, tuple(sorted(found)), turn))
        reachable.freeze()
        return out

    # -- tokens ------------------------------------------------------------------------------------------

    def _tokens(self, text: Any) -> tuple[str, ...]:
        """The tokens in a text or in bytes, as they stand there or in what they wear."""
        if isinstance(text, str):
            found = self._text.findall(text) if self._head in text else []
            return (*found, *(token for token, worn in self._worn if worn in text))
        data = text if isinstance(text, bytes) else bytes(text)
        # The search for the head comes first: it is ten times as fast as the pattern.
        seen = self._bytes.findall(data) if self._head.encode() in data else []
        return (*map(bytes.decode, seen), *(token for token, worn in self._worn if worn.encode() in data))

    def _places(self, data: bytes) -> tuple[Place, ...]:
        """The places of this case whose tokens lie in `data`, in any decoded form."""
        known = {item.token: item.place for item in self._case.recorder.planted}
        hits = self._case.recorder.ledger.scan(data).hits
        return tuple(sorted({known[hit.token] for hit in hits if hit.token in known}))

    def _scanned(
        self, kind: str, channel: Channel, holder: str, data: bytes, wanted: Test, turn: int = -1
    ) -> Iterator[Remnant]:
        places = tuple(place for place in self._places(data) if wanted(place))
        if places:
            yield Remnant(kind, channel, holder, places=places, turn=turn)

    def _remnant(
        self, kind: str, channel: Channel, holder: str, tokens: Iterable[str], wanted: Test, turn: int
    ) -> Iterator[Remnant]:
        known = {item.token: item.place for item in self._case.recorder.planted}
        places = tuple(sorted({known[token] for token in tokens if token in known}))
        places = tuple(place for place in places if wanted(place))
        if places:
            yield Remnant(kind, channel, holder, places=places, turn=turn)

    def _plain(self, name: str) -> str:
        return plain_name(name, self._case.recorder.ledger.pool)


def _any(place: Place) -> bool:
    return True


def _all(places: tuple[Place, ...]) -> bool:
    return True


def _childs(places: tuple[Place, ...]) -> bool:
    """While the system lives its parent may keep files: one with nothing but a child's in it is a child's."""
    return all(place.slot in _CHILDS for place in places)


def _work(place: Place) -> bool:
    """A child's own work: nobody else may ever hold it."""
    return place.slot in _WORK


def _secret(place: Place) -> bool:
    return place.slot != Slot.ENVIRONMENT
