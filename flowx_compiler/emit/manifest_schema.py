"""Holds a manifest to its published schema before it is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flowx_compiler.errors import UsageProblem

_NAME = "flowx.manifest.schema.json"


def check_manifest(text: str) -> None:
    """Say so if a manifest is not what its schema says; it is asked only where the manifest changed.

    Raises:
        UsageProblem: it is not, which is a mistake in flowx and not in the project.
    """
    import jsonschema  # it takes longer to import than an unchanged build takes

    validator = jsonschema.Draft202012Validator(_schema())
    found = jsonschema.exceptions.best_match(validator.iter_errors(json.loads(text)))
    if found is not None:
        place = "/".join(str(part) for part in found.absolute_path) or "its top"
        raise UsageProblem(
            f"this is a defect of flowx, please report it: the manifest is not what its schema says at {place}: "
            f"{found.message}"
        )


def _schema() -> dict[str, Any]:
    """The schema, from the installed package or from the work tree."""
    top = Path(__file__).parents[1]
    installed = top / "schemas" / _NAME
    path = installed if installed.exists() else top.parent / "schemas" / _NAME
    schema: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return schema
