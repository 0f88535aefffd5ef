"""Large outputs on disk: what is too long for a context goes up as a reference (article 002, section 5.4).

One folder per session, under a name that tells neither user nor session; files are for their owner's eyes
only. A reference is a keyed digest of session and content: equal content is stored once, a reference of
another session opens nothing, and none can be guessed. No child reads or writes here: the runtime does.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from isolation_kit.errors import IsolationKitError
from isolation_kit.runtime.result import REFERENCE, Shelve
from isolation_kit.runtime.text import Digest, canonical, encodable

__all__ = ["ArtifactError", "Artifacts"]

_REFERENCE = re.compile(REFERENCE)


class ArtifactError(IsolationKitError):
    """An artifact that is too large, unknown or damaged; never a word of its content, nor a path."""


@dataclass(frozen=True, slots=True)
class Artifacts:
    """The artifacts of all sessions of one runtime; holds nothing in memory.

    Args:
        root: a folder that the runtime's owner chose and made, out of reach of any child's tools.
        digest: keyed; other than 16 hex digits make no reference.
        limit: the most bytes of UTF-8 of one artifact.
    """

    root: Path
    digest: Digest
    limit: int = 4 * 1024 * 1024

    def put(self, user: str, session: str, text: str) -> str:
        """Store `text` and return its reference.

        Raises:
            ArtifactError: if it is no UTF-8, over the limit, or the disk does not take it.
        """
        if not encodable(text):
            raise ArtifactError("an artifact holds a lone surrogate, so it is no UTF-8 text; repair it")
        data = text.encode()
        if len(data) > self.limit:
            raise ArtifactError(
                f"an artifact of {len(data)} bytes; at most {self.limit} are stored: ask for less at once, "
                "or give Artifacts a higher limit"
            )
        folder = self._folder(user, session)
        reference = self._reference(folder, data)
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            _write(folder, reference, data)
        except OSError as error:
            raise ArtifactError(f"the disk refused an artifact ({error.strerror or 'no reason'})") from None
        return reference

    def shelf(self, user: str, session: str) -> Shelve:
        """`put` for one session, for the runtime around a child; "" instead of an error."""

        def shelve(text: str) -> str:
            try:
                return self.put(user, session, text)
            except ArtifactError:
                return ""

        return shelve

    def holds(self, user: str, session: str, reference: str) -> bool:
        """True if `reference` is one that a shelf of this session gave."""
        known = _REFERENCE.fullmatch(reference) is not None
        return known and (self._folder(user, session) / reference).is_file()

    def read(self, user: str, session: str, reference: str) -> str:
        """What `reference` of this session stands for: for the parent's code, never for a child's context.

        Raises:
            ArtifactError: if it is no reference, of another session, forgotten, or changed since.
        """
        if not _REFERENCE.fullmatch(reference):
            raise ArtifactError("no reference; it reads like 'artifact_0123456789abcdef'")
        folder = self._folder(user, session)
        try:
            with open(os.open(folder / reference, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
                data = file.read(self.limit + 1)
        except OSError:
            raise ArtifactError("this session has no such artifact; it may have been forgotten") from None
        if self._reference(folder, data) != reference:
            raise ArtifactError("the artifact was changed after it was stored; run the task again")
        return data.decode()

    def forget(self, user: str, session: str) -> None:
        """Delete all artifacts of an ended session."""
        folder = self._folder(user, session)
        if folder.exists():
            shutil.rmtree(folder)

    def _folder(self, user: str, session: str) -> Path:
        return self.root / f"s_{self.digest(canonical([user, session]).encode('utf-8', 'surrogatepass'))}"

    def _reference(self, folder: Path, data: bytes) -> str:
        return f"artifact_{self.digest(folder.name.encode() + data)}"


def _write(folder: Path, reference: str, data: bytes) -> None:
    """Whole or not at all: a reader never meets half an artifact. The file is 0600 from its first byte."""
    handle, temporary = tempfile.mkstemp(dir=folder)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, folder / reference)
    except BaseException:
        os.unlink(temporary)
        raise
