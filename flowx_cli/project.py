"""The project the command line works on: its configuration, its plans, its capabilities.

Only verbs that *run* flows come here: this imports the application's code. Compiling never does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, cast

from flowx_compiler.config import Config
from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.plan import Catalog


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
        if error.name is None or not config.plans.startswith(error.name):
            raise
        raise ProjectNotRunnable(f"there is no package {config.plans!r} yet: run `flowx build` first") from error
    return cast("Catalog", package.CATALOG)


def load_capabilities(config: Config) -> list[object]:
    """Call the factory that `[tool.flowx] capabilities` names; without one, capabilities need no dependency.

    Raises:
        ProjectNotRunnable: the configuration names something that does not exist.
    """
    if config.capabilities is None:
        return []
    _put_on_path(config.root)
    module, _, name = config.capabilities.partition(":")
    try:
        factory = cast("Callable[[], Iterable[Any]]", getattr(import_module(module), name))
    except (ModuleNotFoundError, AttributeError) as error:
        raise ProjectNotRunnable(
            f"[tool.flowx] capabilities names {config.capabilities!r}, which does not exist ({error}): "
            "write it as 'package.module:function'"
        ) from error
    return list(factory())


def _put_on_path(root: Path) -> None:
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
