"""What the fixtures know: the session's configuration, or what `isolation.toml` says, if there is one."""

from __future__ import annotations

import pytest

from isolation_kit.audit import DEFAULT_FAMILIES
from isolation_kit.config import Config, load
from isolation_kit.content import load_attacks, load_fingerprint_classes
from isolation_kit.errors import UsageError
from isolation_kit.faces import Options, Output, Project
from isolation_kit.pytest_plugin.run import Session, config_file
from isolation_kit.target import Declaration

__all__ = ["config_of", "project_for"]


def config_of(pytestconfig: pytest.Config) -> Config:
    """The session's configuration; without `isolation.toml`, the defaults and no exceptions.

    Raises:
        pytest.UsageError: if there is an `isolation.toml` and it is broken.
    """
    session = pytestconfig.pluginmanager.getplugin("isolation-session")
    if isinstance(session, Session):
        return session.project.config
    path = config_file(pytestconfig)
    if not path.is_file():
        return Config(path=path, targets=(), output=path.parent / ".isolation")
    try:
        return load(path)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


def project_for(config: Config, declaration: Declaration) -> Project:
    """A project of one target that a test built itself; it has no items of its own."""
    return Project(
        config=config,
        options=Options(),
        declarations={declaration.name: declaration},
        families=DEFAULT_FAMILIES,
        attacks=load_attacks(config.content.attacks),
        classes=load_fingerprint_classes(config.content.fingerprints),
        items=(),
        output=Output(config.output),
    )
