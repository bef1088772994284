"""An example application, copied to a temporary folder, its waits shortened, built there."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import flowx_cli
from flowx_runtime.authoring.errors import FlowxError


class ExampleMissing(FlowxError):
    """The installation has no examples."""

    code: ClassVar[str] = "demo.example_missing"


@dataclass(frozen=True, slots=True)
class ExampleProject:
    """A copy of one example, importable while it is open."""

    name: str
    root: Path


@contextmanager
def copied_example(name: str) -> Iterator[ExampleProject]:
    """Copy an example to a temporary folder and put it on the import path for as long as the context is open.

    Raises:
        ExampleMissing: the examples are neither beside the package (a clone) nor inside it (a wheel).
    """
    package = Path(flowx_cli.__file__).parent
    candidates = (package.parent / "examples" / name, package / "bundled_examples" / name)
    source = next((folder for folder in candidates if folder.is_dir()), None)
    if source is None:
        raise ExampleMissing(f"the example {name!r} is not part of this installation: install flowx-durable again")
    with TemporaryDirectory(prefix=f"flowx-demo-{name}-") as folder:
        root = Path(folder) / name
        shutil.copytree(source, root, ignore=shutil.ignore_patterns("__pycache__", ".flowx_cache"))
        sys.path.insert(0, str(root))
        try:
            yield ExampleProject(name, root)
        finally:
            sys.path.remove(str(root))
            for module in [module for module in sys.modules if module == name or module.startswith(f"{name}.")]:
                del sys.modules[module]


def shorten_waits(project: ExampleProject, constants: dict[str, str], *, module: str) -> None:
    """Rewrite `NAME: Final = …` lines of the copy's waits: the demo changes the source, never the running flow."""
    if not constants:
        return
    file = project.root / project.name / module
    lines = file.read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        name = line.partition(":")[0]
        if name in constants:
            lines[number] = f"{name}: Final = {constants[name]}"
    file.write_text("\n".join(lines) + "\n", "utf-8")
