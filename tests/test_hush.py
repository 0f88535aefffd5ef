"""What a target says is kept out of sight, but who debugs it is heard."""

from __future__ import annotations

import io
import sys
import threading

import pytest

from isolation_kit.hush import hushed


class Stream(io.StringIO):
    """A stream that says of itself whether a person sits there."""

    def __init__(self, text: str = "", person: bool = True) -> None:
        super().__init__(text)
        self.person = person

    def isatty(self) -> bool:
        """As it was made."""
        return self.person


@pytest.mark.parametrize("person", [True, False], ids=["terminal", "pipe"])
def test_a_breakpoint_reaches_a_person_at_a_terminal(monkeypatch: pytest.MonkeyPatch, person: bool) -> None:
    """It talks to the streams that the target itself cannot reach; without a person it stays what it was."""
    out = Stream(person=person)
    monkeypatch.setattr(sys, "stdin", Stream("p 6 * 7\nc\n", person))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)
    monkeypatch.delenv("PYTHONBREAKPOINT", raising=False)

    def target() -> None:
        print("a word of the target")
        if sys.breakpointhook is not sys.__breakpointhook__:
            sys.breakpointhook()
        print("another")

    with hushed():
        thread = threading.Thread(target=target)  # a debugger ends the tracing of its thread, coverage's too
        thread.start()
        thread.join(20)
    assert not thread.is_alive()
    assert ("42" in out.getvalue()) is person
    assert "a word of the target" not in out.getvalue().replace('print("a word', "")
    assert sys.breakpointhook is sys.__breakpointhook__
