"""One target under audit: runs its items and judges its cases."""

from __future__ import annotations

import contextlib
import gc
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from isolation_kit.audit.item_run import ItemRun
from isolation_kit.audit.plan import Plan
from isolation_kit.closing import Closing
from isolation_kit.finding import Judgement, first_error
from isolation_kit.fingerprints import CaseOutcome
from isolation_kit.generate import SWEEP, sweep
from isolation_kit.journal import Journal
from isolation_kit.oracles import Oracle, Variant, all_oracles, drive
from isolation_kit.oracles.protocol import mode_of
from isolation_kit.outcome import Item, ItemOutcome
from isolation_kit.scenario import Scenario
from isolation_kit.stage import Ledger, Runner
from isolation_kit.stage.server import Endpoint
from isolation_kit.target import Declaration
from isolation_kit.trace import Trace

__all__ = ["Campaign"]

_KNOWN = 200  # cases whose residue can be told from whom it comes
_COLLECT = 200  # executions between two collections of all garbage


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Let the garbage collector run rarely: cases make many objects and few cycles (a fifth faster)."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Campaign(Closing):
    """Audits one target. Use it as a context manager: it owns a worker thread and, if asked for, a server."""

    def __init__(self, declaration: Declaration, plan: Plan, *, journal: Journal | None = None) -> None:
        self.declaration = declaration
        self.plan = plan
        self.journal = journal
        self._collected = 0
        self.cases: OrderedDict[str, Scenario] = OrderedDict()  # the newest, by base digest
        self._endpoint = Endpoint()
        self._runner = Runner(
            declaration, Ledger(plan.seed), timeout=plan.case_timeout, endpoint=self._endpoint.url
        )

    def close(self) -> None:
        """Tear the target down and stop thread and server."""
        self._runner.close()
        self._endpoint.close()

    def run(self, item: Item, only: Sequence[int] | None = None) -> ItemOutcome:
        """Run one item: the sweep, or the census of one family (`only` these blocks), then reduce."""
        wall, cpu = time.monotonic(), time.process_time()
        run = ItemRun(self, item)
        with _rare_collections():
            outcome = run.sweep() if item.family == SWEEP else run.census(only)
        return replace(outcome, cpu_seconds=time.process_time() - cpu, wall_seconds=time.monotonic() - wall)

    def replay(self, scenario: Scenario) -> CaseOutcome:
        """Judge one stored case with every oracle."""
        return self.judge(scenario, 0, 0, all_oracles())[0]

    def judge(
        self, scenario: Scenario, block: int, index: int, oracles: Sequence[Oracle]
    ) -> tuple[CaseOutcome, Trace]:
        """Run one case under some oracles; equal variants run once."""
        traces: dict[Variant, Trace] = {}
        digest = scenario.digest()
        case = scenario.base_digest() if scenario.variant else digest

        def execute(variant: Variant) -> Trace:
            if variant not in traces:
                traces[variant] = self._runner.execute(variant.scenario, case, inspect=variant.inspect)
            return traces[variant]

        self._tidy()
        self.cases[case] = scenario
        if len(self.cases) > _KNOWN:
            self.cases.popitem(last=False)
        before = self._runner.executions
        base = execute(Variant(scenario))
        judgements = tuple(
            drive(oracle, scenario, self.declaration, self.plan.policy, execute) for oracle in oracles
        )
        outcome = CaseOutcome(
            block=block,
            index=index,
            digest=digest,
            mode=mode_of(scenario),
            judgements=judgements,
            executions=self._runner.executions - before,
            refused=bool(base.refused),
            pollution=tuple((item.path, item.source_tool) for item in base.pollution),
            task_responses=base.task_responses,
            planted=frozenset(item.place.slot for item in base.planted),
            channels=frozenset((event.agent, str(event.channel)) for event in base.events),
            said=_said(judgements, traces.values()),
        )
        return outcome, base

    def _tidy(self) -> None:
        """Collect garbage now and then: what a look for remains set aside is no young garbage."""
        if self._runner.executions - self._collected >= _COLLECT:
            self._collected = self._runner.executions
            gc.collect()

    def hears_logs(self) -> bool:
        """True if the log tap passes the stage's own line."""
        return bool(self.abandoned) or self._runner.probe_log(next(sweep(self.declaration)))

    @property
    def executions(self) -> int:
        """How often the target was run."""
        return self._runner.executions

    @property
    def abandoned(self) -> str:
        """Why the target is not run any more, or ""."""
        return self._runner.abandoned


def _said(judgements: Sequence[Judgement], traces: Iterable[Trace]) -> str:
    """What the target said in the execution that the first error is about: the case's own, or a variant's."""
    reason = first_error(judgements)
    return next((trace.said for trace in traces if trace.error and trace.error in reason), "")
