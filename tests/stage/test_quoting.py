"""What a target raised is quoted: short, on one line, without a canary, a credential or what chance chose."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest

from isolation_kit.scenario import Place, Scenario, TurnPlan
from isolation_kit.stage import Ledger
from isolation_kit.stage.quoting import quoted

SCENARIO = Scenario("f", "a", 1, (TurnPlan(0, "hi"),))
PLACE = Place("user.current", 0, -1, 0, 0)


def told(text: str, skin: str = "opaque") -> str:
    """How an exception is quoted; `#` stands for a canary, in a skin, that was planted in the case."""
    ledger = Ledger(seed=7)
    canary = ledger.issue(SCENARIO.with_skins({"user.current": skin}), "c", PLACE)
    return quoted(ValueError(text.replace("#", canary.text)), ledger, [canary.token])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no customer # here", "no customer ‹user.current/u0/t0› here"),
        ("\x1b[31mred\x1b[0m\x1b]0;title\x07\n\tand\x00 bell\x07", "red and bell"),
        ("split \x1b[1m#", "split ‹user.current/u0/t0›"),
        ("key sk-live-4242abcd, Bearer abcdefgh.ij", "key ‹secret›, ‹secret›"),
        ("password='hunter2' api_key: x, ok", "password='‹secret›' api_key: ‹secret›, ok"),
        ("<A object at 0x7f12ab34cd> in /tmp/r4nd0m/f.py", "<A object at 0x…> in …/f.py"),
        ("http://127.0.0.1:40123/v1/chat refused", "http://127.0.0.1:…/v1/chat refused"),
        ("skeletons of internationalisation", "skeletons of internationalisation"),
        ("x" * 300, "x" * 199 + "…"),
        ("", ""),
    ],
)
def test_an_exception_is_quoted(text: str, shown: str) -> None:
    """What tells the fault stays; canaries, credentials, escapes, addresses and folders do not."""
    assert told(text) == shown


@pytest.mark.parametrize("skin", ["uuid", "digits", "phone", "person", "prose", "email", "path"])
def test_no_skin_is_quoted(skin: str) -> None:
    """A canary in a shape of its own is masked as well."""
    text = told("no # here", skin)
    assert "canary" in text or "user.current" in text
    assert text.startswith("no ") or "not shown" in text


@pytest.mark.parametrize(
    "hide",
    [
        lambda token: base64.b64encode(f"xx{token}".encode()).decode(),
        lambda token: token[::-1],
        lambda token: token[5:16],
        lambda token: "-".join(token),
    ],
    ids=["base64", "reversed", "piece", "spaced"],
)
def test_a_hidden_canary_withholds_the_text(hide: Callable[[str], str]) -> None:
    """What cannot be masked in place is not shown at all."""
    ledger = Ledger(seed=7)
    token = ledger.issue(SCENARIO, "c", PLACE).token
    assert quoted(ValueError(f"bad {hide(token)}"), ledger, [token]).startswith("(not shown")


def test_a_text_that_cannot_be_had() -> None:
    """An exception whose own text fails is no fault of the audit."""

    class Hostile(Exception):
        def __str__(self) -> str:
            raise SystemExit("no")

    assert quoted(Hostile(), Ledger(seed=7)) == "(no text: its __str__ raised SystemExit)"
