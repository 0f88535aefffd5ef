"""Which decodings and which fragments apply to which skin: what is not declared here is not looked for.

A skin that holds the token is found in every form by the prefix search. The others are found as they stand
and by undoing escapes, encodings and compression around them; ciphers and turned texts are left out, for
without a prefix of its own each would need a needle for every text.
"""

from __future__ import annotations

from typing import NamedTuple

from isolation_kit.canary import Skin
from isolation_kit.canary.skins import holds_token
from isolation_kit.detect.forms import Form

__all__ = ["REACH", "Reach", "applies"]


class Reach(NamedTuple):
    """What applies to one skin.

    Args:
        forms: the renderings in which it is found.
        unit: what fragments are counted in, behind what the texts of a run share; empty: no fragments.
        suspect: how many units make a hit.
        confirmed: how many decide a verdict.
    """

    forms: frozenset[str]
    unit: str = ""
    suspect: int = 0
    confirmed: int = 0


_ANYWHERE = frozenset(
    {
        *(Form.VERBATIM, Form.SEPARATED, Form.ZERO_WIDTH, Form.CONFUSABLE, Form.TAGS, Form.SELECTORS),
        *(Form.JSON, Form.PERCENT, Form.HTML, Form.QUOTED, Form.HEX, Form.BASE64, Form.GZIP, Form.ZLIB),
        *(Form.BZIP2, Form.XZ, Form.DEFLATE, Form.DIGEST, Form.MARKUP, Form.CSS, Form.NAMES, Form.UUENCODE),
    }
)
_LETTERED = _ANYWHERE | {Form.CASE, Form.UTF16, Form.BASE32, Form.BASE85}
_NUMBERS = _ANYWHERE | {Form.UTF16, Form.CODES}

REACH: dict[Skin, Reach] = {
    **{skin: Reach(frozenset(Form), "characters", 8, 10) for skin in Skin if holds_token(skin)},
    Skin.UUID: Reach(_LETTERED | {Form.FRAGMENT}, "hex digits", 8, 12),
    Skin.DIGITS: Reach(_NUMBERS | {Form.FRAGMENT}, "digits", 9, 11),
    Skin.PHONE: Reach(_NUMBERS),
    Skin.PERSON: Reach(_ANYWHERE | {Form.UTF16, Form.BASE32}),
    Skin.PROSE: Reach(_LETTERED | {Form.FRAGMENT}, "words", 4, 5),
}
"""The table; a name and its staff number prove something only together, and a phone number only whole."""


def applies(skin: Skin, steps: tuple[str, ...]) -> bool:
    """Whether a text in `skin` is looked for behind these renderings, the outermost first."""
    forms = REACH[skin].forms
    return all(step.partition(":")[0] in forms for joined in steps for step in joined.split(">"))
