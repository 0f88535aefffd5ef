"""What a user gets back, and what a child saw, is judged against all tokens of the run."""

from __future__ import annotations

import base64
import codecs

import pytest

from isolation_kit.content import load_attacks
from isolation_kit.finding import Direction, Finding, Verdict
from isolation_kit.load.check import SAMPLE, Checker
from isolation_kit.load.identity import Identities, Identity, LoadTurn
from isolation_kit.load.scripts import SLOTS, scripts_of
from isolation_kit.load.tokens import Tokens
from isolation_kit.policy import Allow, Policy

SCRIPTS = scripts_of(load_attacks())


class Two:
    """Two users of one run, and their judge."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.tokens = Tokens(7)
        people = Identities(self.tokens, SCRIPTS, -1)
        self.ann, self.bob = people.take(), people.take()
        self.judge = Checker(self.tokens, policy or Policy())


def answer(turn: LoadTurn, *more: str) -> bytes:
    """An answer that holds what it must, and more."""
    return " ".join((*turn.required, *more)).encode()


def kinds(findings: tuple[Finding, ...]) -> set[tuple[Verdict, str, str]]:
    """What was found: kind, slot, direction."""
    return {
        (found.kind, found.fingerprint.what, found.fingerprint.direction)
        for found in findings
        if found.kind is Verdict.LEAK
    } | {(found.kind, found.fingerprint.what, "") for found in findings if found.kind is Verdict.LOSS}


def token_of(user: Identity, tokens: Tokens, slot: str, serial: int = 1) -> str:
    """The token that a user's turn planted in a slot."""
    return tokens.token(slot, user.number, serial)


def test_an_answer_with_its_own_tokens_is_clean() -> None:
    """What the user itself said may come back, in every turn and for longer than the sample."""
    two = Two()
    for _ in range(SAMPLE + 1):
        turn = two.ann.next()
        assert two.judge.response(turn, f"{turn.text} done".encode(), complete=True).findings == ()


def test_another_users_token_is_a_leak_across() -> None:
    """One token of somebody else, whole, in any response, even in an error."""
    two = Two()
    turn, other = two.ann.next(), two.bob.next()
    for complete in (True, False):
        seen = two.judge.response(turn, answer(turn, *other.required), complete=complete)
        assert kinds(seen.findings) == {(Verdict.LEAK, "task.input", "across")}


def test_a_token_of_an_ended_session_is_a_leak_after() -> None:
    """The same user, another session: nothing of the old one may be seen."""
    two = Two()
    old = two.ann.next()
    two.ann.restart()
    turn = two.ann.next()
    seen = two.judge.response(turn, answer(turn, *old.required), complete=True)
    assert kinds(seen.findings) == {(Verdict.LEAK, "task.input", "after")}


def test_a_missing_token_is_a_loss_unless_it_came_in_another_rendering() -> None:
    """Own missing is LOSS; base64 of it is no loss; an answer that is not whole loses nothing."""
    two = Two()
    turn = two.ann.next()
    assert kinds(two.judge.response(turn, b"done", complete=True).findings) == {
        (Verdict.LOSS, "task.input", "")
    }
    coded = base64.b64encode(f"about {turn.required[0]} it is".encode())
    assert two.judge.response(turn, coded, complete=True).findings == ()
    assert two.judge.response(turn, b"", complete=False).findings == ()


def test_noise_in_the_answer_is_a_leak_up_and_user_text_at_a_child_one_down() -> None:
    """A user's own tokens in places that the policy denies."""
    two = Two()
    turn = two.ann.next()
    noise = token_of(two.ann, two.tokens, "child.tool.noise")
    said = token_of(two.ann, two.tokens, "user.current")
    up = two.judge.response(turn, answer(turn, noise), complete=True)
    down = two.judge.view(turn.user, "worker", f"{turn.required[0]} {said}", whole=True)
    assert kinds(up.findings) == {(Verdict.LEAK, "child.tool.noise", "up")}
    assert kinds(down.findings) == {(Verdict.LEAK, "user.current", "down")}
    assert down.findings[0].fingerprint.edge == "parent>worker"


def test_views_are_judged_by_their_own_user() -> None:
    """Somebody else's task at a child: LEAK, and LOSS of its own; a stranger's view is not of this run."""
    two = Two()
    mine, other = two.ann.next(), two.bob.next()
    clean = two.judge.view(mine.user, "worker", mine.required[0], whole=True)
    mixed = two.judge.view(mine.user, "worker", other.required[0], whole=True)
    assert clean.findings == ()
    assert {found.kind for found in mixed.findings} == {Verdict.LEAK, Verdict.LOSS}
    assert two.judge.view("u_1_ffff", "worker", other.required[0], whole=True).findings == ()


def test_an_encoded_token_is_found_in_the_sample() -> None:
    """One response in a hundred is decoded whatever it looks like."""
    two = Two()
    other = two.bob.next().required[0]
    hidden = base64.b64encode(f"trace of {other} here".encode()).decode()
    found: set[tuple[Verdict, str, str]] = set()
    for _ in range(SAMPLE):
        turn = two.ann.next()
        found |= kinds(two.judge.response(turn, answer(turn, hidden), complete=True).findings)
    assert (Verdict.LEAK, "task.input", str(Direction.ACROSS)) in found


ENCODED = {
    "base64": lambda text, shift: base64.b64encode(b"x" * shift + text.encode() + b" here").decode(),
    "hex": lambda text, shift: (b"x" * shift + text.encode()).hex(),
    "reversed": lambda text, shift: text[::-1],
    "upper": lambda text, shift: text.upper(),
    "rot13": lambda text, shift: codecs.encode(text, "rot13"),
    "json": lambda text, shift: "".join(f"\\u{ord(letter):04x}" for letter in text),
    "percent": lambda text, shift: "".join(f"%{ord(letter):02X}" for letter in text),
    "html": lambda text, shift: "".join(f"&#{ord(letter)};" for letter in text),
}


@pytest.mark.parametrize("form", ENCODED)
def test_a_common_encoding_is_found_at_once(form: str) -> None:
    """In the first answer that shows it, whatever stands before, and whichever process made the token."""
    other = Identities(Tokens(7), SCRIPTS, 1).take()
    for shift in range(3 if form == "base64" else 1):
        two = Two()
        turn, hidden = two.ann.next(), ENCODED[form](other.next().required[0], shift)
        seen = two.judge.response(turn, answer(turn, hidden), complete=True)
        assert kinds(seen.findings) == {(Verdict.LEAK, "task.input", "across")}


def quoted(text: str) -> str:
    """Every other letter percent-encoded: no cheap search finds it."""
    return "".join(f"%{ord(letter):02x}" if at % 2 else letter for at, letter in enumerate(text))


def test_after_a_leak_in_an_odd_form_everything_is_decoded() -> None:
    """The share is of all answers from the first found on; a clean run stays with the sample."""
    leaky, clean = Two(), Two()
    decoded, leaks = 0, []
    for _ in range(SAMPLE * 2):
        turn, other = leaky.ann.next(), leaky.bob.next()
        seen = leaky.judge.response(turn, answer(turn, quoted(other.required[0])), complete=True)
        leaks.append(bool(seen.findings))
        turn = clean.ann.next()
        seen = clean.judge.response(turn, answer(turn, quoted(turn.required[0])), complete=True)
        assert seen.findings == ()
        decoded += seen.decoded
    assert leaks[leaks.index(True) :] == [True] * (len(leaks) - leaks.index(True))
    assert leaks.index(True) < SAMPLE
    assert decoded == 2


def test_a_response_counts_once_for_each_fingerprint() -> None:
    """Verbatim and encoded in one answer is one finding."""
    two = Two()
    turn, token = two.ann.next(), two.bob.next().required[0]
    coded = base64.b64encode(token.encode()).decode()
    (found,) = two.judge.response(turn, answer(turn, token, coded), complete=True).findings
    assert found.form == "verbatim"


def test_policy_marks_and_never_removes() -> None:
    """An allowed finding stays, and does not count."""
    allowed = Allow("user.current", "child.request", "worker", "by design", "platform")
    two = Two(Policy((allowed,)))
    turn = two.ann.next()
    said = token_of(two.ann, two.tokens, "user.current")
    seen = two.judge.view(turn.user, "worker", f"{turn.required[0]} {said}", whole=True)
    assert [found.counts for found in seen.findings] == [False]


@pytest.mark.parametrize("target", ["task", "rules"])
def test_every_script_plants_and_shows_no_token(target: str) -> None:
    """All attacks speak for both targets; the stored case holds placeholders only."""
    for script in scripts_of(load_attacks(), target=target):
        tokens = dict.fromkeys(SLOTS, "t0ken")
        assert script.filled(script.text, tokens).count("〔") == 1
        assert "t0ken" in script.filled(script.reply, tokens)
        assert "t0ken" not in script.scenario(7).to_json()


def test_a_user_goes_on_when_its_numbers_run_out() -> None:
    """After all serials a session begins anew, and its own tokens are still its own."""
    two = Two()
    two.ann._serial = two.ann._since = 256 * 127 - 15
    for _ in range(40):
        turn = two.ann.next()
        assert two.judge.response(turn, answer(turn), complete=True).findings == ()


def test_a_user_asks_again_for_what_was_acknowledged() -> None:
    """Over a restart of the service too; not for a person about whom a later turn came to no answer."""
    scripts = scripts_of(load_attacks(), target="rules")
    user = Identity(Tokens(7), 0, scripts, turns=100)
    told = user.next()
    user.answered(told)
    untaken = user.next()
    user.say_again(untaken)
    assert user.next() is untaken
    following = [user.next() for _ in range(60)]
    assert any(turn.required == told.required and turn.text == told.script.again for turn in following)
    user.restart()
    first = user.next()
    user.answered(first)
    for turn in [user.next() for _ in range(60)]:
        user.unsure(turn)
    assert user._asked is None
