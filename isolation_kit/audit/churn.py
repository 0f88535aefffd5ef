"""Session churn as a state machine: sessions are made, used, killed, retried, resumed and left to expire.

Each example is a script of turns of up to three users, drawn step by step, and run as one case under a
schedule. Invariant: no recipient holds a token of another user or of another session, and no turn that came
to its end lost one of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    rule,
    run_state_machine_as_test,
)

from isolation_kit.content import Attack
from isolation_kit.errors import UsageError
from isolation_kit.finding import Direction, Finding
from isolation_kit.generate.assemble import Builder, Draw
from isolation_kit.oracles.canary import leaks
from isolation_kit.oracles.controls import lost
from isolation_kit.policy import Policy
from isolation_kit.scenario import Break, Breaking, Order, Scenario, Schedule, TurnPlan
from isolation_kit.stage import Ledger, Runner
from isolation_kit.stage.server import Endpoint
from isolation_kit.target import Declaration, declaration_of
from isolation_kit.trace import Trace

__all__ = ["Churned", "churn_findings", "churn_machine", "run_churn"]

_USERS = ("u_a", "u_b", "u_c")
_PLAIN = Attack("churn", "churn", "sessions come and go", "", "", "", (), ())
_ORDERS = (Order.ROUND_ROBIN, Order.REVERSED, Order.SEQUENTIAL)
_FOREIGN = (Direction.ACROSS, Direction.AFTER)
_NUMBER = st.integers(0, 63)


class Churned(AssertionError):
    """The invariant broke. `scenario` is the case; the text names findings, and no token."""

    def __init__(self, scenario: Scenario, found: tuple[str, ...]) -> None:
        super().__init__(f"session churn ({scenario.schedule}): {'; '.join(found)}")
        self.scenario = scenario
        self.found = found


def churn_findings(
    scenario: Scenario, declaration: Declaration, policy: Policy, trace: Trace
) -> tuple[Finding, ...]:
    """Foreign tokens (of another user, or of another session), and own ones that were lost."""
    foreign = (
        item
        for item in leaks(scenario, declaration, policy, trace)
        if item.fingerprint.direction in _FOREIGN and item.counts
    )
    return (*foreign, *lost(scenario, declaration, trace))


def churn_machine(
    factory: Callable[..., Any], *, seed: int = 7, policy: Policy | None = None, timeout: float = 20.0
) -> type[RuleBasedStateMachine]:
    """The state machine of a target, for `Machine.TestCase` in a test module of one's own.

    Args:
        factory: a function decorated with `@target`.
        timeout: seconds for one case.

    Raises:
        UsageError: if `factory` is no target.
    """
    declaration = declaration_of(factory)

    class Machine(_Churn):
        target: ClassVar[Declaration] = declaration
        rules_of: ClassVar[Policy] = policy or Policy()
        ledger: ClassVar[Ledger] = Ledger(seed)
        limit: ClassVar[float] = timeout
        ran: ClassVar[list[int]] = []

    Machine.__name__ = Machine.__qualname__ = f"Churn[{declaration.name}]"
    return seeded(f"{seed}/churn/{declaration.name}")(Machine)


def run_churn(
    factory: Callable[..., Any],
    *,
    seed: int = 7,
    examples: int = 20,
    steps: int = 10,
    shrink: bool = True,
    **more: Any,
) -> None:
    """Let sessions of a target come and go in `examples` scripts of at most `steps` steps each.

    Args:
        shrink: look for the shortest script, which takes some hundred executions; else the first one.
        more: as for `churn_machine`.

    Raises:
        Churned: where the invariant broke, with the script that shows it.
        UsageError: if so few and short scripts were asked for that nothing was said in any.
    """
    machine = churn_machine(factory, seed=seed, **more)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
    if not machine.ran:  # type: ignore[attr-defined]
        raise UsageError(
            f"session churn of {examples} scripts of at most {steps} steps said nothing at all, which "
            "proves nothing; give more or longer ones, for example run_churn(target, examples=20, steps=10)"
        )


class _Churn(RuleBasedStateMachine):
    """The script of one example; it runs at the end."""

    target: ClassVar[Declaration]
    rules_of: ClassVar[Policy]
    ledger: ClassVar[Ledger]
    limit: ClassVar[float]
    ran: ClassVar[list[int]]  # the turns of each script that was run
    sessions: Bundle[int] = Bundle("sessions")

    def __init__(self) -> None:
        super().__init__()
        self._order = Order.ROUND_ROBIN
        self._owners: list[int] = []
        self._builders: list[Builder] = []
        self._turns: list[TurnPlan] = []
        self._breaks: list[Break] = []

    @initialize(order=st.sampled_from(_ORDERS))
    def begin(self, order: Order) -> None:
        """Whose turn goes on when several are open."""
        self._order = order

    @rule(target=sessions, user=st.integers(0, len(_USERS) - 1))
    def create(self, user: int) -> int:
        """A new session, known by its number; nothing is said in it yet."""
        self._owners.append(user)
        self._builders.append(Builder(_PLAIN, self.target))
        return len(self._owners) - 1

    @rule(session=sessions, pick=_NUMBER, flags=_NUMBER)
    def spawn(self, session: int, pick: int, flags: int) -> None:
        """A turn that hands a task to a child."""
        self._say(session, pick, flags)

    @rule(session=sessions, pick=_NUMBER)
    def resume(self, session: int, pick: int) -> None:
        """A later turn of the same session, about what its first task was about."""
        self._say(session, pick, 0, follow_up=not self.target.triggers)

    @rule(session=sessions, pick=_NUMBER, step=st.integers(0, 4))
    def kill(self, session: int, pick: int, step: int) -> None:
        """A turn that is cancelled at one of its model calls."""
        self._breaks.append(Break(Breaking.CANCEL, len(self._turns), step))
        self._say(session, pick, 0)

    @rule(session=sessions, pick=_NUMBER, step=st.integers(0, 4))
    def retry(self, session: int, pick: int, step: int) -> None:
        """A turn that is cancelled, and then said again."""
        self._breaks.append(Break(Breaking.RETRY, len(self._turns), step))
        self._say(session, pick, 0)

    @rule(session=consumes(sessions))
    def expire(self, session: int) -> None:
        """Nothing is said in this session any more: whatever of it turns up elsewhere is a leak."""

    def _say(self, session: int, pick: int, flags: int, *, follow_up: bool = False) -> None:
        draw = Draw(pick=pick, child=pick, flags=flags)
        turn = self._builders[session].turn(
            len(self._turns),
            draw,
            user=self._owners[session],
            session=f"s{session}",
            last=True,
            follow_up=follow_up,
        )
        self._turns.append(turn)

    def teardown(self) -> None:
        """Run the script, and look at what was seen."""
        if not self._turns:
            return
        schedule = Schedule(self._order, tuple(self._breaks))
        scenario = Scenario("churn", "churn", 0, tuple(self._turns), users=_USERS, schedule=schedule)
        endpoint = Endpoint()
        runner = Runner(self.target, self.ledger, timeout=self.limit, endpoint=endpoint.url)
        try:
            self.ran.append(len(self._turns))
            trace = runner.execute(scenario)
        finally:
            runner.close()
            endpoint.close()
        if trace.error:
            raise Churned(scenario, (trace.error,))
        found = churn_findings(scenario, self.target, self.rules_of, trace)
        if found:
            raise Churned(scenario, tuple(dict.fromkeys(f"{item.kind} {item.fingerprint}" for item in found)))
