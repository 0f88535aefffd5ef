"""The Stage: what a target gets to build its system with. It hands out canaries and records what is seen."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from isolation_kit.canary import Canary
from isolation_kit.errors import TargetRefused, UsageError
from isolation_kit.scenario import Limits, Place, Slot, check_slot
from isolation_kit.stage.case import Case
from isolation_kit.stage.names import plain_name
from isolation_kit.stage.puppet import ModelCall, ModelReply
from isolation_kit.stage.wire import ASGIApp, Wire
from isolation_kit.target import Turn
from isolation_kit.trace import Channel, Lifecycle, Pollution

__all__ = ["PuppetModel", "Stage"]


class PuppetModel:
    """The scripted model of one agent, in process."""

    def __init__(self, stage: Stage, agent: str) -> None:
        self._stage = stage
        self._agent = agent

    async def reply(self, call: ModelCall) -> ModelReply:
        """Answer a call of this agent; the call is recorded at its recipient."""
        return await self._stage.case.answer(call)


class Stage:
    """Handed to a target's factory. Everything that the target needs from the kit is here.

    Attributes:
        case: the running case; swapped under a target that stays up for a campaign.
        base_url: an OpenAI-compatible endpoint on 127.0.0.1 that belongs to the puppets.
    """

    def __init__(self, endpoint: Callable[[Stage], str], run_id: str = "r0") -> None:
        self._case: Case | None = None
        self._endpoint = endpoint
        self._run_id = run_id
        self._workdir: tempfile.TemporaryDirectory[str] | None = None
        self._ids: dict[tuple[int, str], int] = {}
        self._ticks: dict[int, int] = {}
        self._standing: dict[Place, Canary] = {}

    # -- the running case --------------------------------------------------------------------------------

    @property
    def case(self) -> Case:
        """The running case.

        Raises:
            UsageError: outside a case.
        """
        if self._case is None:
            raise UsageError(
                "the stage is used outside a case; build the system inside the @target generator and use the "
                "stage between its start and its end"
            )
        return self._case

    def enter(self, case: Case) -> None:
        """Make `case` the running one; what a kept target planted when it was built stays live."""
        self._case = case
        for place, canary in self._standing.items():
            case.recorder.adopt(place, canary)
        case.keep_places(self._standing)
        self._ids.clear()
        self._ticks.clear()
        if self._workdir is not None:
            case.workdir = self._workdir.name

    def close(self) -> None:
        """Remove the work folder."""
        if self._workdir is not None:
            self._workdir.cleanup()
            self._workdir = None

    # -- models ------------------------------------------------------------------------------------------

    def model(self, agent: str) -> PuppetModel:
        """The scripted model of `agent`, for systems that take a callable."""
        return PuppetModel(self, agent)

    def model_name(self, agent: str) -> str:
        """A model name that tells the endpoint which agent asks: pass it to the framework."""
        return f"{self._run_id}~{agent}"

    def reply(self, call: ModelCall) -> ModelReply:
        """Answer a model call of a system that is not async."""
        return self.case.reply(call)

    async def answer(self, call: ModelCall) -> ModelReply:
        """Answer a model call when the case's schedule lets it; the endpoint does."""
        return await self.case.answer(call)

    @property
    def base_url(self) -> str:
        """The endpoint's address, for example `http://127.0.0.1:49152/r0/v1`; started at first use."""
        return self._endpoint(self)

    @property
    def app(self) -> ASGIApp:
        """The endpoint as an ASGI app, for a client in this process: `ASGITransport(app=stage.app)`.

        Any host serves as its base URL, for example `http://puppets/` + `stage.run_id` + `/v1`.
        """
        return Wire((self,))

    @property
    def run_id(self) -> str:
        """Stands in the endpoint's path and the model names, never in a body's text."""
        return self._run_id

    # -- planting ----------------------------------------------------------------------------------------

    def text(self, slot: str, around: str = "", *, turn: Turn | None = None) -> str:
        """`around` plus a planted canary of `slot`; with `turn`, one that belongs to that turn's user.

        Raises:
            UsageError: for an unknown slot.
        """
        try:
            known = check_slot(slot)
        except UsageError:
            # The value may be anything that the target holds, so it is not quoted.
            raise UsageError(
                f"stage.text got an unknown slot; allowed: {', '.join(Slot)}, or a name of your own such as "
                "'x.session_cache'"
            ) from None
        place = self.case.static_place(known, turn.index if turn else -1)
        canary = self.case.recorder.hand_out(place)
        if turn is None and not self.case.begun:
            self._standing[place] = canary
        return f"{around} [{canary.text}]" if around else canary.text

    def call_tool(self, name: str, agent: str, query: str) -> str:
        """What `tool` answers, for systems that are not async (their models: `reply`)."""
        return self.case.tool_reply(name, agent, query)

    def tool(self, name: str, agent: str) -> Callable[[str], Awaitable[str]]:
        """A tool of `agent` with scripted replies; arguments and raw results are recorded."""

        async def call(query: str) -> str:
            return self.case.tool_reply(name, agent, query)

        call.__name__ = name
        call.__qualname__ = name
        call.__doc__ = f"Look something up with {name}."
        return call

    # -- recording ---------------------------------------------------------------------------------------

    def record(self, channel: str, agent: str, data: bytes | str, *, tool: str = "", key: str = "") -> None:
        """Record what reached `agent` on a channel that only the target can see.

        Raises:
            UsageError: for an unknown channel or agent.
        """
        try:
            known = Channel(channel)
        except ValueError:
            raise UsageError(
                f"stage.record got an unknown channel; allowed: {', '.join(Channel)}, for example 'store'"
            ) from None
        if agent not in self.case.declaration.agents:
            raise UsageError(
                "stage.record got an agent that is not declared; declared: "
                f"{', '.join(self.case.declaration.agents)}"
            )
        self.case.record(known, agent, data, tool=self._plain(tool or key))

    def _plain(self, name: str) -> str:
        """A name that the target chose, as it may be stored."""
        return plain_name(name, self.case.recorder.ledger.pool)

    def spawned(self, agent: str) -> None:
        """An instance of `agent` was made."""
        self._life(Lifecycle.SPAWNED, agent)

    def ended(self, agent: str) -> None:
        """An instance of `agent` is gone."""
        self._life(Lifecycle.ENDED, agent)

    def refused(self, agent: str, reason: str) -> None:
        """`agent` refused a malformed or too long input cleanly; of `reason` only a plain word is kept."""
        self._life(Lifecycle.REFUSED, agent, self._plain(reason))

    def refuse(self, reason: str) -> None:
        """The whole system refuses this hostile input; `reason` is for the reader of the code, and not kept.

        Raises:
            TargetRefused: always.
        """
        raise TargetRefused(reason)

    def _life(self, kind: Lifecycle, agent: str, detail: str = "") -> None:
        turn = self.case.turn_of()
        delegation = self.case.delegations.of(agent, turn)
        self.case.recorder.life(kind, agent, delegation.instance if delegation else -1, turn, detail)

    def polluted(
        self, *, task: str, path: str, kind: str, length: int, digest: str, source_tool: str = ""
    ) -> None:
        """POLLUTION_DETECTED: the target's own bridge dropped an undeclared field."""
        plain = self._plain
        self.case.recorder.pollution.append(
            Pollution(plain(task), plain(path), plain(kind), length, plain(digest), plain(source_tool))
        )

    def responded(self) -> None:
        """A TaskResponse went up: the denominator of the pollution rate."""
        self.case.recorder.responses += 1

    # -- surroundings ------------------------------------------------------------------------------------

    @property
    def limits(self) -> Limits:
        """The scaled limits of the running case."""
        return self.case.scenario.limits

    @property
    def workdir(self) -> Path:
        """A folder of this case's own, removed afterwards."""
        if self._workdir is None:
            self._workdir = tempfile.TemporaryDirectory(prefix="isolation-kit-")
            self.case.workdir = self._workdir.name
        return Path(self._workdir.name)

    def ids(self, prefix: str = "id") -> str:
        """Deterministic ids: the same case gives the same ids in the same order, in a schedule per user."""
        who = self._speaker()
        number = self._ids.get((who, prefix), 0) + 1
        self._ids[who, prefix] = number
        return f"{prefix}_{(who + 1) * 1_000_000 + number:08d}"

    def _speaker(self) -> int:
        return self._case.speaker() if self._case is not None else -1

    def clock(self) -> float:
        """Deterministic seconds: one more at each call."""
        who = self._speaker()
        self._ticks[who] = self._ticks.get(who, 0) + 1
        return float(self._ticks[who])
