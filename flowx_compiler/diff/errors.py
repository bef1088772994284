"""What stops a comparison before it begins: each is one sentence that says what to do."""

from __future__ import annotations

from typing import ClassVar


class DiffProblem(Exception):
    """The two documents cannot be compared."""

    code: ClassVar[str] = "diff.impossible"


class NotAManifest(DiffProblem):
    """A text that is not a manifest this version can read."""

    code: ClassVar[str] = "diff.not_a_manifest"


class NotThere(DiffProblem):
    """A file, a revision or a manifest at a revision does not exist."""

    code: ClassVar[str] = "diff.not_there"


class NoManifestYet(NotThere):
    """The revision exists and has no manifest: on its way in, it can break nobody."""
