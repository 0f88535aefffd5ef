"""Finds the smallest number of users at which something leaks: doubling, then halving the gap. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from isolation_kit.errors import UsageError

__all__ = ["Ramp", "Step"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step: how many users, when it began (seconds), and how many leaks were counted by then."""

    users: int
    began: float
    leaks: int


@dataclass(slots=True)
class Ramp:
    """Asked again and again for the number of users; None ends the run.

    Args:
        most: users of the last step.
        hold: seconds of a step in which leaks count.
        settle: seconds at its beginning in which they do not: answers of the step before come in.

    Raises:
        UsageError: for numbers that make no ramp.
    """

    most: int
    hold: float = 5.0
    settle: float = 1.0
    leaky: int = 0  # the smallest number of users seen leaking, 0 for none
    clean: int = 0  # the largest number below it that was clean
    _step: Step | None = None
    _settled: bool = False
    steps: list[tuple[int, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.most < 1 or self.hold <= 0 or self.settle < 0:
            raise UsageError(
                f"a ramp to {self.most} users of {self.hold:g} seconds a step is none; give at least one "
                "user and some seconds, for example --ramp --users 100 --step-seconds 5"
            )

    def users(self, now: float, leaks: int) -> int | None:
        """How many users there should be now.

        Args:
            now: seconds, of any clock that only goes on.
            leaks: counted since the run began.
        """
        if self._step is None:
            return self._go_to(1, now, leaks)
        step = self._step
        if not self._settled:
            if now - step.began < self.settle:
                return step.users
            self._settled = True
            self._step = step = Step(step.users, now, leaks)
        if leaks > step.leaks:
            self.steps.append((step.users, True))
            self.leaky = step.users
        elif now - step.began >= self.hold:
            self.steps.append((step.users, False))
            self.clean = step.users
        else:
            return step.users
        following = self._following()
        return None if following is None else self._go_to(following, now, leaks)

    def _following(self) -> int | None:
        if not self.leaky:
            return None if self.clean >= self.most else min(self.clean * 2, self.most)
        return (self.clean + self.leaky) // 2 if self.leaky - self.clean > 1 else None

    def _go_to(self, users: int, now: float, leaks: int) -> int:
        self._step, self._settled = Step(users, now, leaks), False
        return users

    def told(self) -> str:
        """What the ramp came to."""
        if self.leaky:
            return (
                f"the smallest number of users that leaked is {self.leaky}; {self.clean} were clean"
                f" ({self.hold:g} s a step)"
            )
        return f"no leak at up to {self.clean} users ({self.hold:g} s a step)"
