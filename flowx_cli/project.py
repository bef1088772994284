"""The project the command line works on: its configuration, its plans, its capabilities.

Only verbs that *run* flows come here: this imports the application's code. Compiling never does.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from flowx_compiler.config import Config
from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.engine.key_ring import KeyRing
from flowx_runtime.outbox.publisher import Publisher
from flowx_runtime.plan import Catalog, Plan

if TYPE_CHECKING:
    from flowx_runtime.http import Authenticator


class ProjectNotRunnable(FlowxError):
    """The project is not built, or what its configuration names does not exist."""

    code: ClassVar[str] = "project.not_runnable"


def load_catalog(config: Config) -> Catalog:
    """Import the package of plans.

    Raises:
        ProjectNotRunnable: it does not exist yet.
    """
    _put_on_path(config.root)
    try:
        package = import_module(config.plans)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{config.plans}.".startswith(f"{error.name}."):
            raise _import_failed(config.plans, error) from error
        raise ProjectNotRunnable(f"there is no package {config.plans!r} yet: run `flowx build` first") from error
    return cast("Catalog", package.CATALOG)


def load_capabilities(config: Config) -> list[object]:
    """Call the factory that `[tool.flowx] capabilities` names; without one, capabilities need no dependency.

    Raises:
        ProjectNotRunnable: the configuration names something that does not exist.
    """
    if config.capabilities is None:
        return []
    factory = cast("Callable[[], Iterable[Any]]", _named(config, "capabilities", config.capabilities))
    return list(factory())


def load_publisher(config: Config) -> Publisher | None:
    """Call the function that `[tool.flowx] publisher` names; without one, events stay staged.

    Raises:
        ProjectNotRunnable: the configuration names something that does not exist.
    """
    if config.publisher is None:
        return None
    factory = cast("Callable[[], Publisher]", _named(config, "publisher", config.publisher))
    return factory()


def load_key_ring(config: Config) -> KeyRing | None:
    """Call the function that `[tool.flowx] key-ring` names; without one, sensitive members are redacted.

    Raises:
        ProjectNotRunnable: the configuration names something that does not exist.
    """
    if config.key_ring is None:
        return None
    factory = cast("Callable[[], KeyRing]", _named(config, "key-ring", config.key_ring))
    return factory()


def load_authenticator(config: Config) -> Authenticator | None:
    """What `[tool.flowx] authenticator` names; without one, nobody is known.

    Raises:
        ProjectNotRunnable: the configuration names something that does not exist.
    """
    if config.authenticator is None:
        return None
    return cast("Authenticator", _named(config, "authenticator", config.authenticator))


def _named(config: Config, key: str, name: str) -> object:
    """What a setting names, imported with the application's code."""
    _put_on_path(config.root)
    module, _, function = name.partition(":")
    try:
        return getattr(import_module(module), function)
    except Exception as error:  # whatever the application's own import raises
        raise ProjectNotRunnable(
            f"[tool.flowx] {key} names {name!r}, which cannot be had ({error}): write it as 'package.module:function'"
        ) from error


def load_plan(catalog: Catalog, flow: str, version: str | None = None) -> Plan[Any, Any]:
    """Import the plan of a flow, the current one without a version, and with it the application's code.

    Raises:
        UnknownPlan: the catalogue does not list it.
        ProjectNotRunnable: the application's code cannot be imported.
    """
    try:
        return catalog.plan(flow, version)
    except FlowxError:
        raise
    except (Exception, SystemExit) as error:
        raise _import_failed(flow, error) from error


def _import_failed(what: str, error: BaseException) -> ProjectNotRunnable:
    """Name the line of the application at which importing it failed."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "importlib" not in frame.filename and "flowx_" not in frame.filename]
    where = f" at {own[-1].filename}:{own[-1].lineno}" if own else ""
    return ProjectNotRunnable(f"importing {what!r} failed{where}: {type(error).__name__}: {error}")


def _put_on_path(root: Path) -> None:
    for folder in (root / "src", root):
        if folder.is_dir() and str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
