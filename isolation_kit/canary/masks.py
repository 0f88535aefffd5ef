"""What the texts of a run look like, for whoever must not show them and knows the run's seed only."""

from __future__ import annotations

import re
from functools import lru_cache

from isolation_kit.canary.skins import Marks

__all__ = ["worn_shapes"]


@lru_cache(maxsize=16)
def worn_shapes(marks: Marks) -> re.Pattern[str]:
    """The pattern of every text in a skin that cannot hold a token, in any case of letters.

    Numbers and names of people share no mark of the run, so all that are shaped like them match: a report
    that masks a mobile number too much loses nothing.

    Args:
        marks: `Mint.marks` of the run.
    """
    hexed = "[0-9a-f]"
    return re.compile(
        f"{marks.uuid}{hexed}{{4}}-?{hexed}{{4}}-?4{hexed}{{3}}-?[89ab]{hexed}{{3}}-?{hexed}{{12}}"
        f"|(?<![0-9]){marks.digits}(?:[ -]?[0-9]){{12}}(?![0-9])"
        r"|(?<![0-9a-z])1[ -]?[3-9](?:[ -]?[0-9]){9}(?![0-9a-z])"
        "|[\u4e00-\u9fff]{2,4}[^0-9a-z\u4e00-\u9fff]{0,3}工号[^0-9a-z\u4e00-\u9fff]{0,3}[1-9][0-9]{6}"
        rf"|{marks.prose}(?:[\W_]+[a-z]+){{0,9}}",
        re.IGNORECASE | re.ASCII,
    )
