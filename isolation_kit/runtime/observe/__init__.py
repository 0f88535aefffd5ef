"""Watching the runtime: snapshots of contexts, decisions, traces, metrics, the input-token curve.

All of it hangs on the hooks and holds lengths, counts, declared names and keyed digests, never a text; only
`RawTraces` keeps texts, and only where somebody makes one. `watch` wires them. A whole system, watched:

    import asyncio, re, secrets
    from pathlib import Path

    from isolation_kit.runtime import (
        ChildSpec, Contract, Language, ModelReply, ParentScope, Rule, RulesParent, Runtime, keyed_digest,
        rules_turn,
    )
    from isolation_kit.runtime.observe import watch
    from isolation_kit.runtime.process import ProcessHost
    from isolation_kit.runtime.store_sqlite import SqliteStore

    TEXT = {"type": "string"}
    INPUTS = {"type": "object", "properties": {"person": TEXT, "bill_id": TEXT}}
    CONTRACT = Contract(8000, {}, 3000, 128, "ERROR")
    BILLS = ChildSpec("bills", "Say what it costs.", (), INPUTS, contract=CONTRACT)
    PATTERN = re.compile(r"bill (?P<id>[0-9]+) of (?P<subject>[A-Z][a-z]+)")
    RULE = Rule("bill", "billing team", "bills", PATTERN, cue="bill", examples=("bill 7 of Ann",))

    class Scripted:  # in its place: the client of a real model
        async def reply(self, request):
            return ModelReply("It costs 42.")

    async def turn(store, watching, digest, text):
        parent = RulesParent("desk", (RULE,), {"bills": BILLS}, store, language=Language.ENGLISH)
        async with ProcessHost() as host:  # Linux; elsewhere without it, and without launch=
            models, tools = {"bills": Scripted()}, {}
            found = models.__getitem__, lambda tool, agent: tools[tool]
            runtime = Runtime(*found, digest, watching.hooks, launch=host.launch)
            return await rules_turn(runtime, parent, ParentScope("u_1", "s_1"), text)

    def main(folder: Path) -> str:  # "Ann: It costs 42."
        digest = keyed_digest(secrets.token_bytes(32))
        with (
            SqliteStore(folder / "steps.db") as store,
            watch(folder / "observed", (BILLS,), digest, parents=("desk",), names=("bill",)) as watching,
        ):
            return asyncio.run(turn(store, watching, digest, "What about bill 7 of Ann?"))
"""

from isolation_kit.runtime.observe.curve import Flatness, Point, TokenCurve, flatness
from isolation_kit.runtime.observe.decisions import Decided, DecisionLog, read_decisions
from isolation_kit.runtime.observe.lines import LineFile, read_lines
from isolation_kit.runtime.observe.metrics import LIMITS, Limit, Metrics, Reading, alarms, readings
from isolation_kit.runtime.observe.names import Names, names_of
from isolation_kit.runtime.observe.snapshot import Overlap, Part, Snapshot, overlap, read_snapshots
from isolation_kit.runtime.observe.snapshots import SnapshotLog
from isolation_kit.runtime.observe.spans import Span, Trace, Where
from isolation_kit.runtime.observe.terms import Measure
from isolation_kit.runtime.observe.tracer import Tracer
from isolation_kit.runtime.observe.traces import RawTraces, TraceLog, read_traces
from isolation_kit.runtime.observe.watching import Watching, watch

__all__ = [
    "LIMITS",
    "Decided",
    "DecisionLog",
    "Flatness",
    "Limit",
    "LineFile",
    "Measure",
    "Metrics",
    "Names",
    "Overlap",
    "Part",
    "Point",
    "RawTraces",
    "Reading",
    "Snapshot",
    "SnapshotLog",
    "Span",
    "TokenCurve",
    "Trace",
    "TraceLog",
    "Tracer",
    "Watching",
    "Where",
    "alarms",
    "flatness",
    "names_of",
    "overlap",
    "read_decisions",
    "read_lines",
    "read_snapshots",
    "read_traces",
    "readings",
    "watch",
]
