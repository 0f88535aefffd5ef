"""One user of a load run: its name, its sessions, its tokens, and what it says next."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from isolation_kit.load.scripts import SLOTS, Script
from isolation_kit.load.tokens import SERIALS, Tokens, names
from isolation_kit.scenario import Slot

__all__ = ["Identities", "Identity", "LoadTurn"]

_TASK = str(Slot.TASK_INPUT)


@dataclass(frozen=True, slots=True)
class LoadTurn:
    """One turn to be said.

    Attributes:
        text: what the user says, its tokens in it.
        reply: the raw reply of the child's tool, for services that are scripted by the request.
        required: tokens of the user's own that the answer must hold.
        since: the number of the first turn of the session: older tokens belong to sessions that ended.
    """

    user: str
    session: str
    text: str = field(repr=False)  # tokens stand in these: none is ever shown
    reply: str = field(repr=False)
    required: tuple[str, ...] = field(repr=False)
    owner: int
    serial: int
    since: int
    script: Script


@dataclass(slots=True)
class Identity:
    """A user. Its turns have running numbers; a session ends after `turns` of them.

    Args:
        number: unlike that of any other user of the run.
    """

    tokens: Tokens
    number: int
    scripts: Sequence[Script]
    turns: int = 10
    _serial: int = 0
    _since: int = 0
    _session: int = 0
    _asked: LoadTurn | None = None
    _untaken: LoadTurn | None = None
    _place: int = 0  # in the scripts; users begin at different ones
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._place = self.number * 7
        self._random = random.Random(self.number)  # noqa: S311  (a choice of words, no secret)

    def next(self) -> LoadTurn:
        """The next turn."""
        if self._untaken is not None:
            turn, self._untaken = self._untaken, None
            return turn
        if self._serial - self._since >= self.turns:
            self.restart()
        asked = self._asked
        self._serial += 1
        if asked is not None and asked.script.again and self._random.random() < 0.25:
            self._asked = None
            # A follow-up says nothing new: the answer must come from the step before.
            turn = self._turn(asked.script, asked.script.again, asked.required)
        else:
            self._place += 1
            turn = self._fresh(self.scripts[self._place % len(self.scripts)])
        return turn

    def answered(self, turn: LoadTurn) -> None:
        """`turn` was acknowledged: what it was about can be asked for again, whatever happens meanwhile."""
        self._asked = turn

    def restart(self) -> None:
        """Begin a new session: whatever the old one said must not be seen again."""
        self._session += 1
        if self._serial > SERIALS - 2 * self.turns:
            self._serial = 0
        self._since = self._serial
        self._asked = self._untaken = None

    def say_again(self, turn: LoadTurn) -> None:
        """Nobody took `turn`, so it was not carried out: say it again; what was before still holds."""
        self._untaken = turn

    def unsure(self, turn: LoadTurn) -> None:
        """`turn` may have been carried out or not: a follow-up about its person could mean either."""
        if self._asked is not None and self._asked.script.subject == turn.script.subject:
            self._asked = None

    def _fresh(self, script: Script) -> LoadTurn:
        tokens = {slot: self.tokens.token(slot, self.number, self._serial) for slot in SLOTS}
        return self._turn(script, script.filled(script.text, tokens), (tokens[_TASK],), tokens)

    def _turn(
        self, script: Script, text: str, required: tuple[str, ...], tokens: dict[str, str] | None = None
    ) -> LoadTurn:
        return LoadTurn(
            user=self.tokens.name(self.number),
            session=f"s_{self._session}",
            text=text,
            reply=script.filled(script.reply, tokens) if tokens else "{}",
            required=required,
            owner=self.number,
            serial=self._serial,
            since=self._since,
            script=script,
        )


class Identities:
    """The users of one process: who stops frees a number, and the next one goes on where it stopped."""

    def __init__(self, tokens: Tokens, scripts: Sequence[Script], worker: int) -> None:
        self._tokens = tokens
        self._scripts = scripts
        self._worker = worker
        self._made = 0
        self._free: list[Identity] = []

    def take(self) -> Identity:
        """A user that nobody else is.

        Raises:
            UsageError: if there are more users than numbers.
        """
        if self._free:
            identity = self._free.pop()
            identity.restart()
            return identity
        identity = Identity(self._tokens, names(self._worker, self._made), self._scripts)
        self._made += 1
        return identity

    def give_back(self, identity: Identity) -> None:
        """The user stops."""
        self._free.append(identity)
