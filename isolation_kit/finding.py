"""What was found: verdicts, fingerprints (the identity of a leak), findings and judgements. Pure data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from hashlib import blake2b
from json import dumps, loads
from typing import Any

__all__ = [
    "COMPARED",
    "Direction",
    "Finding",
    "Fingerprint",
    "Judgement",
    "Mode",
    "Verdict",
    "first_error",
    "worst",
]


class Verdict(StrEnum):
    """A verdict; `worst` orders them by precedence."""

    LEAK = "LEAK"
    LOSS = "LOSS"
    ERROR = "ERROR"
    INCONCLUSIVE = "INCONCLUSIVE"
    PASS = "PASS"  # noqa: S105  the word, no password


_ORDER = tuple(Verdict)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The first of LEAK, LOSS, ERROR, INCONCLUSIVE, PASS among `verdicts`; none at all is INCONCLUSIVE."""
    return min(verdicts, key=_ORDER.index, default=Verdict.INCONCLUSIVE)


class Direction(StrEnum):
    """Which way a datum went; the first that matches is taken."""

    AFTER = "after"
    ACROSS = "across"
    SIDEWAYS = "sideways"
    UP = "up"
    DOWN = "down"
    OUT = "out"


class Mode(StrEnum):
    """Structural: plumbing alone made it. Exposure: only a model that copies its context did."""

    STRUCTURAL = "structural"
    EXPOSURE = "exposure"


@dataclass(frozen=True, slots=True, order=True)
class Fingerprint:
    """The identity of a leak: target, edge (`parent>child`), slot or pollutant field, channel, direction."""

    target: str
    edge: str
    what: str
    channel: str
    direction: str

    @property
    def id(self) -> str:
        """12 hex digits, stable over runs and machines."""
        text = "\x1f".join((self.target, self.edge, self.what, self.channel, self.direction))
        return blake2b(text.encode(), digest_size=6).hexdigest()

    def __str__(self) -> str:
        return f"{self.what} -> {self.channel} ({self.direction}) at {self.edge}"


COMPARED = frozenset({"derived", "length or shape", "residue", "another View among others"})
"""Forms that are seen by comparing runs: what is denied makes a difference, and no token need be there."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fingerprint seen in one case by one oracle. Holds no token and no payload.

    `kind` is LEAK or LOSS. `turn`, `user`, `instance` tell where; `digest` is a short keyed-less digest of
    the token's text; `allowed_by` names the policy entry that opens it (never removed, only marked).
    `variant` names the change of the case that a comparing oracle saw (`oracles.variants.pair`).
    """

    fingerprint: Fingerprint
    oracle: str
    kind: Verdict = Verdict.LEAK
    mode: Mode = Mode.STRUCTURAL
    tier: str = "confirmed"
    form: str = "verbatim"
    path: str = ""
    source_tool: str = ""
    turn: int = -1
    user: int = -1
    instance: int = -1
    digest: str = ""
    count: int = 1
    allowed_by: str = ""
    variant: str = ""

    @property
    def plain(self) -> bool:
        """True if the token itself was seen, as it was planted: the proof that convinces at a glance."""
        return self.form == "verbatim"

    @property
    def counts(self) -> bool:
        """True if this finding decides exit codes: confirmed, structural and not allowed."""
        return self.mode is Mode.STRUCTURAL and self.tier == "confirmed" and not self.allowed_by

    def to_json(self) -> str:
        """Canonical JSON."""
        return dumps(asdict(self), ensure_ascii=True, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Finding:
        """Read what `to_json` wrote."""
        raw: dict[str, Any] = loads(text)
        return cls(
            **{
                **raw,
                "fingerprint": Fingerprint(**raw["fingerprint"]),
                "kind": Verdict(raw["kind"]),
                "mode": Mode(raw["mode"]),
            }
        )


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one oracle concluded on one case. Not applicable: `applicable` is False and `reason` says why.

    `masks` are the typed JSON paths that a comparison left out, such as `messages[*].id: string`.
    """

    oracle: str
    verdict: Verdict = Verdict.PASS
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    applicable: bool = True
    masks: tuple[str, ...] = ()

    @classmethod
    def not_applicable(cls, oracle: str, reason: str) -> Judgement:
        """A judgement that concludes nothing, with the reason."""
        return cls(oracle=oracle, reason=reason, applicable=False)


def first_error(judgements: Iterable[Judgement]) -> str:
    """The reason of the first judgement that is an ERROR, "" if none is."""
    return next((one.reason for one in judgements if one.applicable and one.verdict is Verdict.ERROR), "")
