"""The text of what a target raised, as far as it may be shown: one short line without canary or secret."""

from __future__ import annotations

import re
from collections.abc import Iterable

from isolation_kit.canary import ALPHABET, PREFIX_LENGTH, TOKEN_LENGTH, worn_shapes
from isolation_kit.detect import scan
from isolation_kit.detect.fragments import Bodies, body_runs
from isolation_kit.stage.ledger import Ledger

__all__ = ["quoted"]

_LONGEST = 200
_READ = 2000  # characters; what is masked is shorter or longer than what stands for it
_WITHHELD = "(not shown: it holds a canary in another form)"

# CSI and OSC sequences go as a whole, or their letters would stay behind; a KeyError's text is a repr.
_ESCAPES = re.compile(
    r"(?:\x1b|\\x1b|\\033|\\u001b)(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])"
    r"|\x9b[0-?]*[@-~]"
)
_NAMED = re.compile(
    r"(?i)((?:pass(?:word|wd)?|secret|token|api[_-]?key|cookie|authorization)[\"']?\s*[:=]\s*[\"']?)[^\s\"',;]+"
)
_SECRETS = re.compile(
    r"(?i:bearer|basic)\s+[\w.~+/=-]{8,}"
    r"|\b(?:(?:sk|pk|rk|gh[oprsu]|xox[abprs])[-_]|AKIA|AIza)[\w-]{8,}"
    r"|\beyJ[\w-]{8,}(?:\.[\w-]*)*"
    r"|-----BEGIN .*"
    r"|\b(?=[A-Za-z0-9_+=-]*[0-9])[A-Za-z0-9_+=-]{20,}"  # long, with a digit: a key or an id, hardly a word
)
# These differ from run to run: the same seed must give the same report.
_FOLDERS = re.compile(r"(?<![\w.:/])/(?:[^\s/'\",:;()‹›]+/)+")
_ADDRESSES = re.compile(r"\b0x[0-9a-fA-F]{4,}")
_PORTS = re.compile(r"\b(127\.0\.0\.1|localhost):[0-9]{2,5}")


def quoted(error: BaseException, ledger: Ledger, tokens: Iterable[str] = ()) -> str:
    """The text of an exception in at most 200 characters; "" if it has none.

    A canary stands as `‹slot/user/turn›`, what is shaped like a credential as `‹secret›`. A text that holds a
    canary in any form but its own is withheld as a whole.

    Args:
        tokens: those of the running case, of which pieces are looked for as well.
    """
    text = _ESCAPES.sub("", _text_of(error))
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    text = worn_shapes(ledger.mint.marks).sub("‹canary›", _labelled(text, ledger))
    data = text.encode()
    if scan(data, ledger.pool).hits or Bodies(tokens).find(body_runs(data, ledger.pool.head)):
        return _WITHHELD
    text = _SECRETS.sub("‹secret›", _NAMED.sub(r"\1‹secret›", text))
    text = _PORTS.sub(r"\1:…", _ADDRESSES.sub("0x…", _FOLDERS.sub("…/", text)))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _text_of(error: BaseException) -> str:
    try:
        # By the class, for a text of the target's own class could slice itself as it likes.
        return str.__getitem__(str(error), slice(_READ))
    except BaseException as broken:
        return f"(no text: its __str__ raised {type(broken).__name__})"


def _labelled(text: str, ledger: Ledger) -> str:
    """`text` with the label of its place for each token."""
    pattern = re.compile(
        f"{ledger.mint.prefix}[{ALPHABET}]{{{TOKEN_LENGTH - PREFIX_LENGTH}}}", re.IGNORECASE | re.ASCII
    )

    def label(match: re.Match[str]) -> str:
        owner = ledger.owners.get(match[0].lower())
        return f"‹{owner.place.label}›" if owner else "‹canary›"

    return pattern.sub(label, text)
