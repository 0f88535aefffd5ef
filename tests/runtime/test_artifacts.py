"""Large outputs: on disk for their owner, by reference in results, closed to other sessions, forgotten."""

from __future__ import annotations

import asyncio
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isolation_kit.runtime import (
    CLEAN,
    ChildSpec,
    ModelReply,
    ParentScope,
    RunLimits,
    Status,
    delegate,
    keyed_digest,
)
from isolation_kit.runtime.artifacts import ArtifactError, Artifacts
from isolation_kit.runtime.nested import ByTask

LARGE = "first page. " + "x" * 5000
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    """An empty place for artifacts of at most 10,000 bytes."""
    return Artifacts(tmp_path, keyed_digest(b"k"), limit=10_000)


def run(made: Any, artifacts: Artifacts | None, spec: ChildSpec) -> Any:
    """One delegation of user u in session s."""
    runtime = replace(made.runtime, artifacts=artifacts, limits=RunLimits(tool_output=1000))
    return asyncio.run(delegate(runtime, ParentScope("u", "s"), spec, {"request": "read"}))


@pytest.mark.parametrize("answer", [LARGE, f'{{"answer": "{LARGE}"}}'], ids=["text", "object"])
def test_a_large_output_goes_up_as_a_reference(
    rig: Any, worker: ChildSpec, artifacts: Artifacts, answer: str
) -> None:
    """The result is short, the watcher saw no more of it cross, and the parent's code can read the whole."""
    made = rig({"worker": [ModelReply(answer)]})
    result = run(made, artifacts, worker)
    (reference,) = result.artifacts
    assert result.status is Status.SUCCEEDED
    assert max(len(data) for _, _, data in made.watcher.named("context_crossed")) < 1000
    assert artifacts.read("u", "s", reference) == answer.replace('": "', '":"')


def test_a_large_text_is_cut_where_nothing_is_shelved(rig: Any, worker: ChildSpec) -> None:
    """Without a place for artifacts the mark says what is missing."""
    result = run(rig({"worker": [ModelReply(LARGE)]}), None, worker)
    assert (len(result.key_outputs["answer"]), result.artifacts) == (1000, ())


@pytest.mark.parametrize("broken", ["limit", "disk"])
def test_what_cannot_be_stored_needs_review(
    rig: Any, worker: ChildSpec, artifacts: Artifacts, tmp_path: Path, broken: str
) -> None:
    """A reason goes up, and nothing lies on the disk."""
    bad = replace(artifacts, limit=100) if broken == "limit" else replace(artifacts, root=tmp_path / "none")
    result = run(rig({"worker": [ModelReply(LARGE)]}), bad, worker)
    assert (result.status, result.errors) == (Status.NEEDS_REVIEW, ("too_large",))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_files_are_for_their_owner_only(artifacts: Artifacts, tmp_path: Path) -> None:
    """0600 in a folder of 0700; no name tells user or session."""
    artifacts.put("user-7", "session-9", "content")
    (folder,) = tmp_path.iterdir()
    (file,) = folder.iterdir()
    assert (stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE(file.stat().st_mode)) == (0o700, 0o600)
    assert "user-7" not in str(file.relative_to(tmp_path))
    assert "session-9" not in str(file.relative_to(tmp_path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(st.lists(st.tuples(names, names), min_size=2, max_size=2, unique=True), names)
def test_no_other_session_reads_a_reference(
    artifacts: Artifacts, owners: list[tuple[str, str]], text: str
) -> None:
    """Whatever the names hold: separators, dots, look-alikes. Equal content has another reference there."""
    mine, other = owners
    reference = artifacts.put(*mine, text)
    assert artifacts.read(*mine, reference) == text
    assert artifacts.put(*other, text) != reference
    with pytest.raises(ArtifactError):
        artifacts.read(*other, reference)


def test_equal_content_is_stored_once(artifacts: Artifacts, tmp_path: Path) -> None:
    """Content-addressed: the same text gives the same reference and one file."""
    assert artifacts.put("u", "s", "text") == artifacts.put("u", "s", "text")
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_an_ended_session_is_forgotten(artifacts: Artifacts, tmp_path: Path) -> None:
    """Its files are gone and its references open nothing; the other session keeps its own."""
    reference, kept = artifacts.put("u", "s", "text"), artifacts.put("u", "t", "text")
    artifacts.forget("u", "s")
    artifacts.forget("u", "s")
    with pytest.raises(ArtifactError, match="forgotten"):
        artifacts.read("u", "s", reference)
    assert artifacts.read("u", "t", kept) == "text"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("reference", ["../../etc/passwd", "", "artifact_xyz", "artifact_0123456789abcdef\n"])
def test_a_text_that_is_no_reference_opens_nothing(artifacts: Artifacts, reference: str) -> None:
    """A path is never built from it, and it is not quoted."""
    with pytest.raises(ArtifactError, match="no reference"):
        artifacts.read("u", "s", reference)


def test_a_changed_or_linked_file_is_refused(artifacts: Artifacts, tmp_path: Path) -> None:
    """The reference vouches for the content."""
    reference = artifacts.put("u", "s", "text")
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    file.write_text("other")
    with pytest.raises(ArtifactError, match="changed"):
        artifacts.read("u", "s", reference)
    file.unlink()
    file.symlink_to("/etc/hostname")
    with pytest.raises(ArtifactError, match="no such artifact"):
        artifacts.read("u", "s", reference)


def test_nothing_is_shelved_below_a_layer(
    rig: Any, worker: ChildSpec, calls: Any, artifacts: Artifacts, tmp_path: Path
) -> None:
    """A grandchild's large output is cut for its layer, and never lies in the session of the root."""
    made = rig({"a": [calls(tool="task", task="read"), ModelReply("ok")], "worker": [ModelReply(LARGE)]})
    result = run(made, artifacts, replace(worker, name="a", children=(ByTask(worker),)))
    assert result.artifacts == ()
    assert list(tmp_path.iterdir()) == []


def test_only_references_that_this_sessions_shelf_gave_come_up(
    rig: Any, worker: ChildSpec, artifacts: Artifacts
) -> None:
    """Sixteen free hex digits are eight bytes of a child's own words: they are dropped and reported."""
    given = artifacts.put("u", "s", "a")
    forged = ["artifact_7365637265743031", artifacts.put("u", "other", "b")]
    packed = {"status": "succeeded", "artifacts": [given, *forged]}
    parts = replace(CLEAN, pack_result=lambda result, memory: {**packed, "task_id": result.task_id})
    made = rig({"worker": [ModelReply("42")]}, parts=parts)
    assert run(made, artifacts, worker).artifacts == (given,)
    assert len(made.watcher.named("pollution")) == 2
    assert run(made, None, worker).artifacts == ()


def test_a_lone_surrogate_is_not_stored(artifacts: Artifacts) -> None:
    """The kit's own error, and no reference."""
    with pytest.raises(ArtifactError, match="surrogate"):
        artifacts.put("u", "s", "a\ud800")
    assert artifacts.shelf("u", "s")("a\ud800") == ""
