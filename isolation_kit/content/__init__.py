"""Attacks and pollutant classes as data: what the TOML files in `attacks/` and `fingerprints/` say.

One file holds one attack or one class, so that people who know attacks but not this code can read and add
them. A file is refused, with its name and the key, for anything that the reader does not know: a typing slip
must not turn into an attack that tests nothing.
"""

from __future__ import annotations

from isolation_kit.content.loading import content_root, load_attacks, load_fingerprint_classes, load_remedies
from isolation_kit.content.model import (
    TOKEN,
    Attack,
    Bilingual,
    Carrier,
    Example,
    FingerprintClass,
    Overflow,
    Remedies,
    Remedy,
    Structure,
)
from isolation_kit.content.naming import class_of_slot, classify, names_a_person, normalise_field

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
    "class_of_slot",
    "classify",
    "content_root",
    "load_attacks",
    "load_fingerprint_classes",
    "load_remedies",
    "names_a_person",
    "normalise_field",
]
