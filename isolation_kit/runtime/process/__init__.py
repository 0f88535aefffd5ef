"""Isolation level `process`: a child in a process of its own (article 000, 4.2, 4.5, 5.1; article 001, 7).

`host` is the parent's side and the only module to use directly; `zygote` and `inside` run in other processes.
Start at `ProcessHost.launch`.
"""

from isolation_kit.runtime.process.host import ProcessHost, ProcessLimits
from isolation_kit.runtime.process.link import ChildLink, Entry, ModelBroken, ModelFailed

__all__ = ["ChildLink", "Entry", "ModelBroken", "ModelFailed", "ProcessHost", "ProcessLimits"]
