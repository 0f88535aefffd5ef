"""`assert_isolated`: any test, or any recorded conversation, asserts that a child got no term of its parent.

Article 002, section 6.2: a child's first context holds none of the terms that are unique to its parent's
history. Here they are looked for in every decoded form of all that the child was sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isolation_kit.detect.unfold import unfold
from isolation_kit.errors import UsageError
from isolation_kit.recorded.messages import texts
from isolation_kit.recorded.terms import Terms, found_in, terms_of

__all__ = ["Overlap", "assert_isolated", "overlaps"]

_SHOWN = 5


@dataclass(frozen=True, slots=True, order=True)
class Overlap:
    """One term of the parent's that the child was sent.

    Attributes:
        history, child: numbers of the parent's and of the child's message, from 0.
        term: its number among the unique terms of the history, from 0; the term itself is not kept.
        length: characters of the term.
        form: how it stood there: "verbatim", or the renderings undone, joined by `>`.
    """

    history: int
    child: int
    term: int
    length: int
    form: str

    def __str__(self) -> str:
        return (
            f"message {self.history} of the parent -> message {self.child} of the child: term {self.term}, "
            f"{self.length} characters, {self.form}"
        )


def assert_isolated(child_messages: Any, *, brief: Any, parent_history: Any, allowed: Any = ()) -> None:
    """Assert that no term unique to the parent's history occurs in what the child was sent, in any form.

    Args:
        child_messages: what really reached the child: a text, a list of messages (mappings, data classes,
            objects with `content` or `model_dump()`), or a request body.
        brief: what the parent handed over on purpose; its terms may occur.
        parent_history: the parent's messages, in any of these shapes.
        allowed: texts of the child's own that may use the same words, for example its system prompt.

    Raises:
        AssertionError: names messages, length and form of each term, never the term.
        UsageError: if there is nothing to judge: no text at the child, or no unique term in the history.
    """
    found = overlaps(child_messages, brief=brief, parent_history=parent_history, allowed=allowed)
    if not found:
        return
    lines = [str(overlap) for overlap in found[:_SHOWN]]
    if len(found) > _SHOWN:
        lines.append(f"and {len(found) - _SHOWN} more")
    raise AssertionError(
        f"the child was sent {len(found)} term(s) that only the parent's history holds:\n  "
        + "\n  ".join(lines)
        + "\nput what the child needs into the brief; words of its own prompt go into allowed="
    )


def overlaps(
    child_messages: Any, *, brief: Any, parent_history: Any, allowed: Any = ()
) -> tuple[Overlap, ...]:
    """What `assert_isolated` would name: each term once, where the child met it first.

    Raises:
        UsageError: if there is nothing to judge.
    """
    child = texts(child_messages)
    if not any(text.strip() for text in child):
        raise _nothing("child_messages holds no text", '[{"role": "user", "content": "..."}]')
    owners = _unique(texts(parent_history), (*texts(brief), *texts(allowed)))
    if not owners:
        raise _nothing(
            "parent_history holds no term that brief and allowed do not hold as well",
            "a history with a name, a number or an identifier in it",
        )
    wanted: Terms = {term: written for term, (_, written) in owners.items()}
    numbers = {term: number for number, term in enumerate(owners)}
    found = []
    for number, text in enumerate(child):
        for reading in unfold(text.encode("utf-8", "surrogatepass")):
            for term, form in list(found_in(reading.data.decode("utf-8", "replace"), wanted)):
                del wanted[term]
                steps = reading.path if reading.path and form == "verbatim" else (*reading.path, form)
                found.append(Overlap(owners[term][0], number, numbers[term], len(term), ">".join(steps)))
    return tuple(sorted(found))


def _unique(history: tuple[str, ...], known: tuple[str, ...]) -> dict[str, tuple[int, str]]:
    """Terms of the history only: the message that holds each first, and how it was written."""
    out: dict[str, tuple[int, str]] = {}
    shared = {term for text in known for term in terms_of(text)}
    for number, text in enumerate(history):
        for term, written in terms_of(text).items():
            if term not in shared:
                out.setdefault(term, (number, written))
    return out


def _nothing(what: str, example: str) -> UsageError:
    return UsageError(
        f"assert_isolated has nothing to judge: {what}; an assertion that compares nothing would always "
        f"pass. Give for example {example}"
    )
