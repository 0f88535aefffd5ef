"""What pytest collects from `isolation.toml`: one item for each target and family, the sweep first."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from isolation_kit.config import place_of
from isolation_kit.errors import IsolationKitError
from isolation_kit.faces import Done, shown
from isolation_kit.finding import Verdict
from isolation_kit.outcome import Item

__all__ = ["PROPERTY", "AuditFile", "AuditItem", "IsolationFailure"]

PROPERTY = "isolation"


class IsolationFailure(AssertionError):
    """An item or a test that did not pass; its text begins with the verdict. Shown without a traceback."""

    # pytest prints `module.name: text` in its summary, where the module would say nothing.
    __module__ = "builtins"


class AuditFile(pytest.File):
    """`isolation.toml` as pytest sees it."""

    audit_items: Iterable[Item]
    run_item: Callable[[Item], Done]

    @classmethod
    def of(
        cls, parent: pytest.Collector, path: Path, items: Iterable[Item], run: Callable[[Item], Done]
    ) -> AuditFile:
        """The file with the items that it stands for."""
        file: AuditFile = cls.from_parent(parent, path=path)
        file.audit_items = items
        file.run_item = run
        return file

    def collect(self) -> Iterator[AuditItem]:
        """One pytest item for each item of the audit, in order."""
        for item in self.audit_items:
            node: AuditItem = AuditItem.from_parent(self, name=item.name)
            node.audit_item = item
            node.run_item = self.run_item
            yield node


class AuditItem(pytest.Item):
    """`family[target]`."""

    audit_item: Item
    run_item: Callable[[Item], Done]

    def runtest(self) -> None:
        """Run the item; what it found travels as a reference to its part.

        Raises:
            IsolationFailure: for every verdict but PASS.
        """
        try:
            done = self.run_item(self.audit_item)
        except IsolationKitError as error:
            raise IsolationFailure(f"ERROR: {error}") from None
        except Exception as error:
            # Without its text: the target may have had a hand in it.
            raise IsolationFailure(
                f"ERROR: a fault of the kit, {place_of(error)}; please report it"
            ) from None
        self.user_properties.append((PROPERTY, json.dumps(_reference(done), sort_keys=True)))
        if done.judged.verdict is not Verdict.PASS:
            raise IsolationFailure(done.judged.text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Our own verdicts without a traceback; anything else as pytest shows it."""
        if isinstance(excinfo.value, IsolationFailure):
            return excinfo.getrepr(style="value")
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the item stands, for headings."""
        return self.path, 0, self.name


def _reference(done: Done) -> dict[str, str]:
    return {
        "item": done.outcome.item.name,
        "found": str(done.judged.found),
        "verdict": str(done.judged.verdict),
        "part": shown(done.part),
    }
