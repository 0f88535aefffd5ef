"""Outcomes made by hand: a leaky target, its clean twin, and the sample that is committed in `reports/`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from isolation_kit.content import Bilingual, FingerprintClass
from isolation_kit.finding import COMPARED, Finding, Fingerprint, Judgement, Mode, Verdict, worst
from isolation_kit.fingerprints import CaseOutcome, Tally
from isolation_kit.outcome import Item, ItemOutcome, Line, Smallest
from isolation_kit.policy import Allow, Policy
from isolation_kit.report import Baseline, RunBlock, Timing, build
from isolation_kit.scenario import Answer, Delegate, Place, Scenario, TurnPlan, UseTool
from isolation_kit.target import Agent, Declaration, Tool, Via

SUPPORT = Declaration(
    name="support",
    root="support",
    agents={
        "support": Agent(
            children={"billing": Via("transfer_to_billing"), "writer": Via("transfer_to_writer")},
            tools=(Tool("crm_search"),),
        ),
        "billing": Agent(
            tools=(Tool("lookup_invoice", fields={"type": "object"}),), brief={"type": "object"}
        ),
        "writer": Agent(),
    },
)
POLICY = Policy(
    allow=(
        Allow("user.current", "child.request", "writer", "handoff by design", "platform", date(2027, 3, 1)),
        Allow("parent.state", "child.context", "writer", "shared cart", "shop", date(2026, 1, 1)),
    ),
    today=date(2026, 11, 30),
)
CLASSES = (
    FingerprintClass(
        id="trace-ids",
        title=Bilingual("Trace ids", "追踪号"),
        names=("trace_id", "request_id"),
        slots=("parent.tool.noise",),
        values=(),
        severity="medium",
        symptom=Bilingual(
            "Ids of the infrastructure stand in a model request.", "模型请求中出现基础设施的追踪号。"
        ),
        cause=Bilingual("The tool's reply is passed on whole.", "工具回复被整体传递。"),
        remedy=Bilingual(
            "Name the fields a tool may show, and drop the rest where its reply enters the context.",
            "声明工具可见字段，其余字段在进入上下文之前丢弃。",
        ),
        rule='[[filter]]\nfield = ["trace_id", "request_id"]\naction = "drop"\nreason = "infrastructure"',
        matches=("traceId",),
        misses=("amount",),
        source="article 000 section 5.4",
        link="",
    ),
    FingerprintClass(
        id="parent-history",
        title=Bilingual("Parent history", "父级历史"),
        names=("history",),
        slots=("user.earlier", "parent.text"),
        values=(),
        severity="high",
        symptom=Bilingual("The child sees turns it was not asked about.", "子级看到与任务无关的轮次。"),
        cause=Bilingual("The child is given the parent's message list.", "子级得到父级的消息列表。"),
        remedy=Bilingual(
            "Build the child's context from its brief alone, never from the parent's messages.",
            "子级上下文只由任务说明构建，不使用父级消息。",
        ),
        rule='[[filter]]\nfield = ["history"]\naction = "drop"\nreason = "the child has a brief"',
        matches=("history",),
        misses=("amount",),
        source="article 001",
        link="",
    ),
)
RUN = RunBlock(
    seed=7,
    profile="ci",
    cases_requested=200,
    families=("noise-injection", "cross-user"),
    command="pytest --isolation isolation.toml",
    versions={"isolation-kit": "0.1.0", "python": "3.11"},
    commit="9cef84e",
)
TIMING = Timing("2026-11-30T09:00:00+00:00", 12.3456, 10.5, {"support": 0.4})


@dataclass(frozen=True)
class Leak:
    """One leak of a made-up item: which cases show it."""

    what: str
    channel: str
    child: str = "billing"
    direction: str = "down"
    every: int = 1
    kind: Verdict = Verdict.LEAK
    mode: Mode = Mode.STRUCTURAL
    tier: str = "confirmed"
    tool: str = ""
    oracle: str = "canary"
    allowed_by: str = ""
    form: str = "verbatim"
    path: str = ""

    def finding(self, target: str = "support") -> Finding:
        """The finding of one case that shows it."""
        edge = f"support>{self.child}" if self.child else "support"
        print_ = Fingerprint(target, edge, self.what, self.channel, self.direction)
        return Finding(
            print_,
            self.oracle,
            self.kind,
            self.mode,
            self.tier,
            self.form,
            self.path,
            source_tool=self.tool,
            allowed_by=self.allowed_by,
        )


PLANTED = frozenset({"user.current", "user.earlier", "parent.system", "parent.tool.noise", "task.goal"})
SEEN = frozenset(
    {
        *(
            (child, channel)
            for child in ("billing", "writer")
            for channel in ("child.request", "child.tools")
        ),
        *(("billing", "result"), ("support", "parent.request"), ("support", "final.output")),
    }
)


@dataclass
class Made:
    """How a made-up item comes out."""

    family: str = "noise-injection"
    target: str = "support"
    order: int = 0
    cases: int = 200
    leaks: Sequence[Leak] = ()
    verdicts: Sequence[Verdict] = ()
    refused: int = 0
    pollution: tuple[tuple[str, str], ...] = ()
    reason: str = ""
    first_block: int = 0
    more: dict[str, Any] = field(default_factory=dict)

    def outcome(self) -> ItemOutcome:
        """The outcome of this item: every eighth case runs with parrots."""
        tally = Tally()
        for place in range(self.cases):
            tally.add(self._case(place, self.first_block * 50 + place))
        smallest = tuple(smallest_of(leak, self.target) for leak in self.leaks if leak.tier == "confirmed")
        values = {"requested": self.cases, "smallest": smallest, **self.more}
        return ItemOutcome(Item(self.order, self.target, self.family), tally=tally, **values)

    def _case(self, place: int, number: int) -> CaseOutcome:
        mode = Mode.EXPOSURE if number % 8 == 7 else Mode.STRUCTURAL
        found = tuple(
            leak.finding(self.target)
            for leak in self.leaks
            if leak.mode is mode and number % leak.every == leak.every // 2
        )
        fixed = self.verdicts[place] if place < len(self.verdicts) else Verdict.PASS
        verdict = worst([fixed, *(item.kind for item in found if item.counts)])
        oracles = sorted({"canary", "contract", *(leak.oracle for leak in self.leaks)})
        judgements = [
            Judgement(name, verdict, tuple(item for item in found if item.oracle == name), self.reason)
            for name in oracles
        ]
        judgements.append(Judgement.not_applicable("noninterference", "this target keeps one system a run"))
        return CaseOutcome(
            block=number // 50,
            index=number % 50,
            digest=f"{number:016x}",
            mode=mode,
            judgements=tuple(judgements),
            executions=2,
            refused=place < self.refused,
            pollution=self.pollution if number % 3 == 0 else (),
            task_responses=1,
            planted=PLANTED,
            channels=SEEN,
        )


def smallest_of(leak: Leak, target: str = "support") -> Smallest:
    """A one-turn case of the leak, told as a conversation."""
    noise = Place("parent.tool.noise")
    act = UseTool(0, "invoice", f'{{"amount": 12, "trace_id": "{noise.placeholder}"}}')
    scenario = Scenario(
        family="noise-injection",
        attack="debug-fields",
        seed=7,
        turns=(
            TurnPlan(
                0, "What do I owe?", (act, Delegate(0, "Check the bill", (Answer("12"),)), Answer("12"))
            ),
        ),
    )
    lines = (
        Line("user u_0", "What do I owe?"),
        Line("support calls crm_search", "invoice"),
        Line("crm_search answers", '{"amount": 12, "trace_id": "‹parent.tool.noise/u0/t0›"}'),
        Line("support delegates to billing", "Check the bill"),
        Line("billing receives", f"Check the bill ... ‹{leak.what}/u0/t0›"),
        Line("billing answers", "12"),
    )
    finding = leak.finding(target)
    pair = (scenario, replace(scenario, seed=8)) if leak.form in COMPARED else ()
    print_ = finding.fingerprint
    return Smallest(print_, leak.kind, leak.mode, leak.oracle, scenario, True, 34, lines, pair, finding.path)


LEAKS = (
    Leak("parent.tool.noise", "child.request", tool="crm_search"),
    Leak("user.earlier", "child.request", child="writer", every=5),
    Leak("field.debug.trace_id", "child.request", every=3, oracle="contract", tool="lookup_invoice"),
    Leak("user.current", "child.request", child="writer", every=2, allowed_by=POLICY.allow[0].label),
    Leak("parent.system", "result", direction="up", mode=Mode.EXPOSURE),
    Leak("user.earlier", "child.tools", every=50, tier="suspect"),
)


def leaky() -> ItemOutcome:
    """An item with a leak of every kind."""
    return Made(
        leaks=LEAKS, pollution=(("trace_id", "crm_search"), ("http_status", "crm_search")), refused=2
    ).outcome()


def clean_twin() -> ItemOutcome:
    """The same item without any leak."""
    return Made(family="cross-user", order=1).outcome()


def sample() -> dict[str, Any]:
    """The report that is committed as the golden sample."""
    lossy = Made(
        family="boundary-overflow",
        order=2,
        cases=120,
        leaks=(Leak("task.goal", "child.request", kind=Verdict.LOSS, every=40, oracle="controls"),),
        more={
            "requested": 200,
            "cut": "time is up (5 minutes)",
            "unreached": (("writer", "no rule led there"),),
            "not_tapped": ("log", "span"),
        },
    ).outcome()
    known = Leak("user.earlier", "child.request", child="writer").finding().fingerprint
    return report([leaky(), clean_twin(), lossy], baseline=Baseline({known.id: "known"}))


def report(outcomes: Sequence[ItemOutcome], **changes: Any) -> dict[str, Any]:
    """`build` with everything that a test does not care about."""
    given: dict[str, Any] = {
        "run": RUN,
        "policy": POLICY,
        "classes": CLASSES,
        "declarations": {"support": SUPPORT},
        "baseline": None,
        "timing": TIMING,
    }
    return build(outcomes, **{**given, **changes})
