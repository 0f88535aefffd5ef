"""Which secrets of a user's own can be looked for: a short or common one would be found everywhere."""

from __future__ import annotations

import re
import unicodedata

from isolation_kit.errors import UsageError

__all__ = ["check_secret"]

_SHORTEST = 10
_LONGEST = 4096
_FEWEST_KINDS = 5
_COMMON = re.compile(
    r"(?:passphrase|password|passwd|pass|secret|topsecret|token|apikey|accesskey|privatekey|key"
    r"|administrator|admin|root|user|username|login|welcome|letmein|changeme|changeit|default|testing|test|example"
    r"|sample|dummy|placeholder|confidential|internal|private|qwerty|qwertyuiop|asdfghjkl|iloveyou|monkey"
    r"|dragon|your|my|here|null|none|undefined|true|false|system|assistant|hello|world|lorem|ipsum|the|is"
    r"|this|that|please|ignore|previous|instructions|密码|口令|机密)"
)
_LEFT = 6  # letters and digits that a secret has beside common words
_ROWS = ("abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm", "01234567890123456789")


def check_secret(secret: str) -> str:
    """Return the letters and digits of `secret`, folded, if they are rare enough to be looked for.

    Args:
        secret: text that must not be seen where it does not belong; at least 10 letters or digits.

    Raises:
        UsageError: with the reason, never with the secret.
    """
    if not isinstance(secret, str):
        raise _refused(f"it is a {type(secret).__name__} and no text")
    text = unicodedata.normalize("NFKC", secret).casefold()
    letters = "".join(char for char in text if char.isalnum())
    if len(letters) < _SHORTEST:
        raise _refused(f"it has {len(letters)} letters and digits, and shorter ones occur by chance")
    if len(letters) > _LONGEST:
        raise _refused(f"it has {len(letters)} letters and digits, more than {_LONGEST}")
    if len(set(letters)) < _FEWEST_KINDS:
        raise _refused(f"it has only {len(set(letters))} different letters and digits")
    if any(letters in row or letters in row[::-1] for row in _ROWS):
        raise _refused(
            "its letters or digits stand in the order of the alphabet, the keyboard or the numbers"
        )
    if len(_COMMON.sub("", letters)) < _LEFT:
        raise _refused("it is made of common words and a short number")
    return letters


def _refused(reason: str) -> UsageError:
    return UsageError(
        f"this secret cannot be looked for: {reason}. Allowed are {_SHORTEST} to {_LONGEST} letters and "
        "digits, at least five of them different, that are no common words, for example an access key "
        "or an account number of 16 digits. Give a longer one, or plant a canary (Mint(seed).mint(...))"
    )
