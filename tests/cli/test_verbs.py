"""The help lines that stand apart from the verbs, so that `--help` imports none, name exactly the verbs there are."""

from __future__ import annotations

import pkgutil

from flowx_cli import commands
from flowx_cli.__main__ import _COMMANDS


def test_every_verb_has_its_help_line_and_every_help_line_its_verb() -> None:
    assert {module.name for module in pkgutil.iter_modules(commands.__path__)} == set(_COMMANDS)
