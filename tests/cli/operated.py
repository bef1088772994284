"""Verbs that operate instances, called in this process on one built project."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flowx_cli.__main__ import main

SECRETS = ("SECRET-OF-ADA", "SECRET-WORDS")
PATIENT = {"name": "Ada", "national_id": SECRETS[0]}
CONSENT = {"by": "Ada", "words": SECRETS[1]}


@dataclass(frozen=True)
class Answer:
    """What a verb said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.out, self.err
        return json.loads(self.out)


@dataclass
class Operator:
    """Somebody at a terminal in the project's folder. Notes everything that was said."""

    root: Path
    monkeypatch: pytest.MonkeyPatch
    said: list[str]

    def __call__(self, *arguments: str, down: str = "") -> Answer:
        out, err = io.StringIO(), io.StringIO()
        self.monkeypatch.chdir(self.root)
        self.monkeypatch.setenv("CLINIC_DOWN", down)
        code = 0
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main(list(arguments))
            except SystemExit as ended:
                code = int(ended.code or 0)
        self.said += [out.getvalue(), err.getvalue()]
        return Answer(code, out.getvalue(), err.getvalue())

    def start(self, flow: str, *, down: str = "") -> str:
        """Run a flow for Ada until it parks or ends; gives the instance's id."""
        return str(self("run", flow, "--input", json.dumps(PATIENT), "--json", down=down).json["instanceId"])

    def inspect(self, instance: str) -> Any:
        return self("inspect", instance, "--json").json
