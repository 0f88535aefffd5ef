"""Users of one's own, played against a service without a run of Locust's: `python -m tests.load.played URL`.

In a process of its own, for Locust patches sockets. Prints what was counted, by user and twin, as JSON.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from isolation_kit.content import load_attacks
from isolation_kit.load.control import Control
from isolation_kit.load.environment import KEY
from isolation_kit.load.identity import LoadTurn
from isolation_kit.load.locusts import Environment, gevent
from isolation_kit.load.settings import LoadSettings
from isolation_kit.load.user import _HOW, IsolationUser
from tests.load.conftest import ROOT

USERS = 3
(OPEN,) = re.findall(
    r"^```python\n(# in ChatUser\n.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.S | re.M
)
ATTACKS = load_attacks()


class Once(IsolationUser):
    """Logs in before its first turn, and returns another answer than that to what it said."""

    abstract = True
    turns = 9  # of one session
    abandon, reconnect = 0.0, 0.5
    logged_in = False

    def say(self, turn: LoadTurn, how: Mapping[str, Any]) -> Any:
        """Three requests, the last of which is returned."""
        if not self.logged_in:
            self.client.post("/login", json={"user": turn.user})
            self.logged_in = True
        self.client.post("/chat", json={"text": turn.text})
        return self.client.get("/history", **how)


class Broken(Once):
    """Every turn is broken off; the login that stands in the first is not."""

    abstract = True
    abandon = 1.0

    def say(self, turn: LoadTurn, how: Mapping[str, Any]) -> Any:
        """A service takes its time for it."""
        with super().say(turn, how) as response:
            return response


class Opened(IsolationUser):
    """The README's login, over two sessions."""

    abstract = True
    turns = 12
    abandon, reconnect = 0.2, 0.4

    exec(OPEN, locals())

    def say(self, turn: LoadTurn, how: Mapping[str, Any]) -> Any:
        """One request."""
        return self.client.post("/chat", json={"text": turn.text}, **how)


class Faulty(IsolationUser):
    """Raises on its way, with the turn and a password in its text; later it returns something else."""

    abstract = True
    turns = 4
    abandon = reconnect = 0.0
    said = 0

    def say(self, turn: LoadTurn, how: Mapping[str, Any]) -> Any:
        """No turn is answered; the login leaks nothing."""
        self.said += 1
        self.client.post("/login", json={"user": turn.user})
        if self.said > 2:
            return None
        raise ValueError(f"password=hunter22 refused: {turn.text} {'x' * 1000}")


CASES: dict[str, type[Any]] = {"besides": Once, "broken off": Broken, "opened": Opened, "faulty": Faulty}


def play(kind: type[Any], host: str, folder: Path) -> dict[str, Any]:
    """What a few users of a kind come to."""
    environment = Environment(host=host, user_classes=[kind])
    control = Control(LoadSettings(7, output=folder), attacks=ATTACKS)
    control.run.begin()
    environment.__dict__[KEY] = control
    rows: Counter[str] = Counter()

    def row(name: str, exception: object, **_: Any) -> None:
        rows[f"{name} {'failed' if exception else 'ok'}"] += 1

    hooks: Any = environment.events
    hooks.request.add_listener(row)

    def one() -> None:
        user = kind(environment)
        user.on_start()
        for _ in range(kind.turns):
            user.converse()
        user.on_stop()

    gevent.joinall([gevent.spawn(one) for _ in range(USERS)], raise_error=True)
    control.run.output.release()
    counts = control.run.counts
    return {
        "leaks": counts.leaks(),
        "losses": counts.losses(),
        "checked": counts.sum("checked"),
        "failed": {key[0]: count for key, count in counts.keys("failed")},
        "broken off": counts.get("abandoned"),
        "rows": rows,
    }


def main(url: str) -> None:
    """Play all cases against both twins."""
    out: dict[str, Any] = {"how": sorted(_HOW)}
    for name, kind in CASES.items():
        for twin in ("leaky", "clean"):
            with TemporaryDirectory() as folder:
                kind.host = f"{url}/{twin}"
                out[f"{name} {twin}"] = play(kind, kind.host, Path(folder))
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main(sys.argv[1])
