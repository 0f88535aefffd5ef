"""The tokens of a load run: each says by itself whose it is, so no process needs to know all of them.

A token names its slot, its user and its number (`Mint.place_of`). So any process of a run, and the one that
reads the side channel, tells whose token it sees, in constant memory, however many users there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from isolation_kit.canary import ALPHABET, TOKEN_LENGTH, Mint
from isolation_kit.errors import UsageError
from isolation_kit.scenario import Place

__all__ = ["LOCAL", "SERIALS", "WORKERS", "Owner", "Tokens", "names"]

CASE = "load"
WORKERS = 32
LOCAL = 1 << 10  # users at once of one worker
SERIALS = 256 * 127  # turns of one user, after which its tokens begin anew
_REMEMBERED = 1 << 16  # tokens
_LETTERS = frozenset(ALPHABET.encode())


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose token it is: slot, user and the number of the user's turn."""

    slot: str
    user: int
    serial: int


class Tokens:
    """Makes and reads the tokens of one run.

    Args:
        seed: of the run; workers of one run share it.
    """

    def __init__(self, seed: int) -> None:
        self._mint = Mint(seed)
        self.prefix = self._mint.prefix.encode()
        self.run = blake2b(b"run %d" % seed, digest_size=2).hexdigest()
        self.recent: deque[str] = deque(maxlen=2048)  # what a sampled look into encodings looks for
        self._known: dict[bytes, Owner] = {}  # made or seen here, of late: a matter of speed alone

    def __repr__(self) -> str:
        return "Tokens(masked)"

    def token(self, slot: str, user: int, serial: int) -> str:
        """The token of a user's turn in a slot."""
        text = self._mint.mint(CASE, _place(slot, user, serial)).token
        self._remember(text, Owner(slot, user, serial % SERIALS))
        return text

    def _remember(self, text: str, owner: Owner) -> None:
        self.recent.append(text)
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[text.encode()] = owner

    def owner(self, token: str) -> Owner | None:
        """Whose token it is; None for what this run did not make."""
        place = self._mint.place_of(token, CASE)
        if place is None:
            return None
        return Owner(place.slot, place.turn << 7 | place.user, (place.subject + 1) << 8 | place.n)

    def owners(self, data: bytes) -> Iterator[Owner]:
        """The owner of every token that stands whole in `data`: one literal search, then a look at each."""
        prefix = self.prefix
        at = data.find(prefix)
        while at >= 0:
            raw = data[at : at + TOKEN_LENGTH]
            owner = self._known.get(raw)
            if owner is None and _LETTERS.issuperset(raw):
                text = raw.decode()
                owner = self.owner(text)
                if owner is not None:
                    self._remember(text, owner)  # another process made it: from now on it is looked for here
            if owner is not None:
                yield owner
            at = data.find(prefix, at + (TOKEN_LENGTH if owner is not None else 1))

    def name(self, user: int) -> str:
        """How a user is called at the service: unlike the users of any other run."""
        return f"u_{user}_{self.run}"

    def user(self, name: str) -> int:
        """The number of a user of this run by name, or -1."""
        head, _, run = name.rpartition("_")
        number = head.removeprefix("u_")
        return int(number) if run == self.run and number.isdecimal() else -1


def names(worker: int, local: int) -> int:
    """The number of a worker's user; no two workers share one.

    Args:
        worker: the worker's index, from 0; -1 in a run without workers, which has all numbers for itself.
        local: the number of the user within its process.

    Raises:
        UsageError: if there are more of them than numbers.
    """
    most = WORKERS * LOCAL if worker < 0 else LOCAL
    if worker >= WORKERS or local >= most:
        raise UsageError(
            f"{local + 1} users in worker {max(worker, 0) + 1}: a run has at most {WORKERS} workers of "
            f"{LOCAL} users each, or {WORKERS * LOCAL} users without workers; for example --users 1000"
        )
    return max(worker, 0) * LOCAL + local


def _place(slot: str, user: int, serial: int) -> Place:
    serial %= SERIALS
    return Place(slot, user & 127, (serial >> 8) - 1, user >> 7, serial & 255)
