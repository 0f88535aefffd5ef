"""The records that one attack file or one pollutant class file becomes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "TOKEN",
    "Attack",
    "Bilingual",
    "Carrier",
    "Example",
    "FingerprintClass",
    "Overflow",
    "Remedies",
    "Remedy",
    "Structure",
]

TOKEN = "{{token}}"  # noqa: S105  (the placeholder of a canary in a carrier or an example, no secret)


@dataclass(frozen=True, slots=True)
class Carrier:
    """A text that carries canaries of one slot; `json`: an object whose keys are merged into a tool reply."""

    slot: str
    text: str
    language: str = "any"
    shape: str = "text"


@dataclass(frozen=True, slots=True)
class Structure:
    """What the family's generator builds: who speaks in which session about whom, turn by turn."""

    users: tuple[str, ...] = ("u_0",)
    order: tuple[int, ...] = (0,)
    sessions: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    about: tuple[int, ...] = ()
    follow_up: bool = False
    concurrent: bool = False


@dataclass(frozen=True, slots=True)
class Overflow:
    """Which text is blown up to which sizes, and of what atoms it is made."""

    of: str
    sizes: tuple[str, ...]
    atoms: tuple[str, ...]
    twist: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """A text at a channel, and whether seeing a canary of `slot` there is a leak under the default policy."""

    slot: str
    channel: str
    text: str
    counts: bool
    why: str


@dataclass(frozen=True, slots=True)
class Attack:
    """One way in which isolation is known to fail, with its source, its carriers and its examples."""

    id: str
    family: str
    title: str
    models: str
    source: str
    link: str
    carriers: tuple[Carrier, ...]
    examples: tuple[Example, ...]
    structure: Structure = Structure()
    overflow: Overflow | None = None
    maps: tuple[str, ...] = ()

    def __hash__(self) -> int:
        """By id: hashing all texts would cost more than what is cached under it."""
        return hash((self.family, self.id))


@dataclass(frozen=True, slots=True)
class Bilingual:
    """The same sentence in English and in Chinese."""

    en: str
    zh: str


@dataclass(frozen=True, slots=True)
class FingerprintClass:
    """One class of pollutant: the names it goes by, how it shows, where it comes from and what removes it."""

    id: str
    title: Bilingual
    names: tuple[str, ...]
    slots: tuple[str, ...]
    values: tuple[str, ...]
    severity: str
    symptom: Bilingual
    cause: Bilingual
    remedy: Bilingual
    rule: str
    matches: tuple[str, ...]
    misses: tuple[str, ...]
    source: str
    link: str


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do about findings that took one way; a list that is empty asks for nothing."""

    id: str
    title: Bilingual
    symptom: Bilingual
    cause: Bilingual
    remedy: Bilingual
    severity: str = ""
    kinds: tuple[str, ...] = ()
    directions: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    whats: tuple[str, ...] = ()
    oracles: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Remedies:
    """All of them in order, the first that fits is told; `nowhere` stands for a place that is not known."""

    nowhere: Bilingual
    remedies: tuple[Remedy, ...]
