"""Finds the content folders and loads their files; a later folder replaces what an earlier one says."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from isolation_kit.content.checks import check_attack, check_class
from isolation_kit.content.model import Attack, FingerprintClass, Remedies
from isolation_kit.content.naming import normalise_field
from isolation_kit.content.reading import read_record, refuse
from isolation_kit.errors import ContentError

__all__ = ["content_root", "load_attacks", "load_fingerprint_classes", "load_remedies"]


def content_root(folder: str) -> Path:
    """The place of a shipped content folder: inside the wheel, or in the checkout it was installed from.

    Raises:
        ContentError: if neither place has the folder.
    """
    package = Path(str(files("isolation_kit")))
    shipped = package / "_content" / folder
    if shipped.is_dir():
        return shipped
    checkout = package.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / folder).is_dir():
        return checkout / folder
    raise ContentError(
        f"the content folder {folder!r} is neither inside the installed package nor beside it in a checkout; "
        "the installation is incomplete: reinstall it with 'pip install --force-reinstall isolation-kit'"
    )


def load_attacks(folders: Sequence[Path] = ()) -> tuple[Attack, ...]:
    """Read all attacks, sorted by family and id; a file in `folders` replaces a shipped one of the same id.

    Args:
        folders: more folders that are laid out as `attacks/` is: one folder a family, one file an attack.

    Raises:
        ContentError: for the first file that is broken; names the file, the key and what is allowed.
    """
    found: dict[str, Attack] = {}
    for root in (content_root("attacks"), *folders):
        here: dict[str, Path] = {}
        for path in _toml_files(root, depth=2):
            attack = read_record(Attack, path)
            check_attack(attack, path)
            _refuse_second(attack.id, path, here)
            found[attack.id] = attack
    return tuple(sorted(found.values(), key=lambda attack: (attack.family, attack.id)))


def load_fingerprint_classes(folders: Sequence[Path] = ()) -> tuple[FingerprintClass, ...]:
    """Read all pollutant classes, sorted by id; a file in `folders` replaces a shipped one of the same id.

    Raises:
        ContentError: for the first file that is broken, or for a name or slot that two classes claim.
    """
    found: dict[str, tuple[FingerprintClass, Path]] = {}
    for root in (content_root("fingerprints"), *folders):
        for path in _toml_files(root, depth=1):
            entry = read_record(FingerprintClass, path)
            check_class(entry, path)
            found[entry.id] = entry, path
    claims: dict[str, str] = {}
    for entry, path in found.values():
        for key in sorted({normalise_field(name) for name in entry.names}) + list(entry.slots):
            if key in claims:
                allowed = "a name or slot that no other class has"
                refuse(path, "names", f"{key!r} is taken by the class {claims[key]!r}", allowed, "x_trace_id")
            claims[key] = entry.id
    return tuple(found[key][0] for key in sorted(found))


def load_remedies() -> Remedies:
    """Read what to do about a finding by the way that it took.

    Raises:
        ContentError: if the shipped file is broken.
    """
    return read_record(Remedies, content_root("reports") / "remedies.toml")


def _toml_files(root: Path, depth: int) -> list[Path]:
    if not root.is_dir():
        raise ContentError(
            f"the content folder {root} does not exist or is no folder; allowed: a folder laid out as the "
            "shipped one, for example attacks/<family>/<id>.toml; correct the path or create the folder"
        )
    found = sorted(path for path in root.rglob("*.toml") if not path.name.startswith("."))
    for path in found:
        if len(path.relative_to(root).parts) != depth:
            layout = "<family>/<id>.toml" if depth == 2 else "<class>.toml"
            raise ContentError(
                f"{path}: the file lies at the wrong depth; allowed: {root / layout}; move the file there"
            )
    return found


def _refuse_second(name: str, path: Path, here: dict[str, Path]) -> None:
    if name in here:
        refuse(
            path,
            "id",
            f"{name!r} is also the id of {here[name].parent.name}/{here[name].name}",
            "one file an id",
            "x",
        )
    here[name] = path
