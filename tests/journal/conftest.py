"""What the journal's tests share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can enter: a server started by root runs as another user."""
    with tempfile.TemporaryDirectory(prefix="flowx-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
