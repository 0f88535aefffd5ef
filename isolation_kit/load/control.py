"""What one process of a load run holds beside its users; at the master, what watches the whole.

Threads and sleeps are the standard library's: where Locust has patched them, they are its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from isolation_kit.content import Attack
from isolation_kit.load.counts import Counts
from isolation_kit.load.metrics import Pollution
from isolation_kit.load.run import Finished, Run
from isolation_kit.load.settings import LoadSettings
from isolation_kit.load.summary import Load
from isolation_kit.load.views import Listener, token_of

__all__ = ["Control"]

_STRANGER = "a worker of another run had joined: what it counted was left out"
_DRAIN = 5.0  # seconds for the last views to arrive
_QUIET = 0.5  # seconds without a view after which none is expected


@dataclass(slots=True)
class Control:
    """One process's part of a run.

    Args:
        worker: its index among the workers, -1 in a run without.
        users: how many users there are now, in all processes.
    """

    settings: LoadSettings
    worker: int = -1
    attacks: tuple[Attack, ...] = ()
    users: Callable[[], int] = lambda: 0
    run: Run = field(init=False)
    pollution: Pollution = field(init=False)
    listener: Listener | None = None
    cut: str = ""  # why the run was shorter than it should be
    troubles: list[str] = field(default_factory=list)
    _watching: bool = False
    _cpu: float = 0.0
    _by_second: dict[int, int] = field(default_factory=dict)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.run = Run(self.settings, worker=self.worker, attacks=self.attacks)
        self.pollution = Pollution(self.settings.url)

    @property
    def leaks(self) -> int:
        """Leaks counted so far, in all processes as far as they have told."""
        return self.run.total.leaks() + self.run.counts.leaks()

    def listen(self) -> None:
        """Open the side channel, if the run is told to.

        Raises:
            UsageError: if there is no token for it, or the service does not let us listen.
        """
        recording = self.settings.recording
        if recording is None or self.listener is not None:
            return
        token = token_of(recording)
        if self.settings.check:
            self.listener = Listener(self.settings.url, token, self.run.view, recording.name)
            self.listener.begin()

    def watch(self) -> None:
        """At the master, or where there are no workers: lay the folder out, listen, sample; once a run.

        Raises:
            UsageError: if the folder cannot be written to, or the service does not let us listen.
        """
        if self._watching:
            return
        self._watching = True
        self.listen()
        self.run.begin()
        self._cpu = time.process_time()
        threading.Thread(target=self._sample, name="isolation-sample", daemon=True).start()

    def hear(self, counts: Counts) -> None:
        """Add what a worker counted since it told last."""
        self.run.total = self.run.total.merge(counts)

    def tell(self, run: str, counts: str) -> None:
        """Add what a worker of `run` told; one that an earlier run left behind is told apart."""
        if run == self.run.tokens.run:
            self.hear(Counts.from_json(counts))
        elif _STRANGER not in self.troubles:
            self.troubles.append(_STRANGER)

    def finish(
        self, latency: Mapping[str, float], notes: Sequence[str], command: Sequence[str], leaks_from: int = 0
    ) -> Finished:
        """Wait for the last views, judge the run and write its reports.

        Args:
            latency: milliseconds by name, and `rate`, requests a second.
            leaks_from: the smallest number of users that a ramp saw leaking.
        """
        troubles = [*self.troubles, *self._drained()]
        self._stopped.set()
        self.pollution.read(self._second())
        self.hear(self.run.counts.take())
        if not self.settings.check:
            troubles.append("nothing was judged: the check is off")
        if self.settings.page:
            page = f"Locust's own report: {self.settings.page.rpartition('/')[2]}"
            notes = (*notes, page)
        if self.listener is not None:
            notes = (*notes, *self.listener.told())
        load = Load(
            users=self._by_second,
            leaks_from=leaks_from,
            latency=latency,
            polluted=self.pollution.detected,
            responses=self.pollution.responses,
            missed=self.listener.missed if self.listener is not None else 0,
            tolerance=self.settings.tolerance,
            troubles=tuple(troubles),
            cut=self.cut,
            notes=tuple(notes),
            seconds=self.run.clock.seconds,
            cpu_seconds=time.process_time() - self._cpu,
        )
        return self.run.finish(load, recorded=self.listener is not None, command=command)

    def _sample(self) -> None:
        read = -1
        while not self._stopped.is_set():
            second = self._second()
            self._by_second[second] = max(self._by_second.get(second, 0), self.users())
            if second != read:
                read = second
                self.pollution.read(second)
            self._stopped.wait(0.1)

    def _second(self) -> int:
        return int(time.time()) - self.run.zero

    def _drained(self) -> list[str]:
        """Wait until the side channel has brought what the last turns left; why nothing was heard."""
        listener = self.listener
        if listener is None:
            return []
        began = time.monotonic()
        while not listener.refused and time.monotonic() - began < _DRAIN:
            if listener.quiet(time.monotonic()) > _QUIET and time.monotonic() - began > _QUIET:
                break
            time.sleep(0.05)
        listener.close()
        if listener.refused or not listener.heard:
            why = listener.refused or "the service could not be reached, or somebody else listens to it"
            return [f"what children saw was not judged: {why}"]
        return []
