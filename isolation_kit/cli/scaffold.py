"""`init`: an `isolation.toml` and an example target that run as they are."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from isolation_kit.errors import UsageError
from isolation_kit.faces import write_file

__all__ = ["EXAMPLE", "init"]

EXAMPLE = "isolation_example.py"

_TOML = """\
# What isolation-kit audits. Run it: pytest --isolation, or isolation-kit run

[run]
seed = 7                     # same seed, same findings
cases = 200                  # generated cases per item (target x family)

[[target]]
name = "support"
factory = "isolation_example:support_team"   # module:function beside this file; put your own system there

# What is meant to be seen is declared, with a reason and somebody who answers for it:
# [[allow]]
# slot = "user.current"
# channel = "child.request"
# child = "billing"
# reason = "billing reads the customer's own words"
# owner = "platform"
# until = 2027-03-01

[gate]
fail_on = "any"              # any | new | never
"""


def init(folder: Path) -> tuple[Path, ...]:
    """Write both files into `folder`, or neither.

    Raises:
        UsageError: if one of them exists; nothing is overwritten.
    """
    example = files("isolation_kit.cli").joinpath("example_target.py").read_text(encoding="utf-8")
    texts = {folder / "isolation.toml": _TOML, folder / EXAMPLE: example}
    for path in texts:
        if path.exists():
            raise UsageError(
                f"{path.name} exists already, and init overwrites nothing; edit it, or start in an empty "
                "folder, for example: isolation-kit init my-audit"
            )
    for path, text in texts.items():
        write_file(path, text)
    return tuple(texts)
