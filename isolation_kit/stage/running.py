"""What runs or is open in this process, at one moment: to tell later what has been added."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator

from isolation_kit.stage import outside
from isolation_kit.trace import Channel, Remnant

__all__ = ["Running"]

_KIT_THREADS = "isolation-"


class Running:
    """Threads, tasks, processes, descriptors and shared segments as they are now; made within a loop."""

    def __init__(self) -> None:
        self.processes = outside.descendants()
        self._descriptors = Counter(outside.descriptors().values())
        self._segments = outside.shared()
        self._threads = frozenset(threading.enumerate())
        self._tasks = frozenset(asyncio.all_tasks())

    def more(self, plain: Callable[[str], str]) -> Iterator[Remnant]:
        """What runs or is open now and was not then, by kind; `plain` makes names fit to be shown."""
        memory = Channel.PROCESS_MEMORY
        for thread in threading.enumerate():
            if thread not in self._threads and not thread.name.startswith(_KIT_THREADS):
                yield Remnant("thread", memory, plain(type(thread).__name__))
        for task in asyncio.all_tasks() - self._tasks:
            if task is not asyncio.current_task():
                yield Remnant("task", memory, plain(type(task).__name__))
        if len(outside.descendants()) > len(self.processes):  # a host may replace one by another
            yield Remnant("process", memory, "process")
        for _, maker in outside.shared() - self._segments:
            if maker in (os.getpid(), *self.processes):
                yield Remnant("segment", memory, "system_v")
        for kind in sorted(Counter(outside.descriptors().values()) - self._descriptors):
            yield Remnant("descriptor", memory, plain(kind))
