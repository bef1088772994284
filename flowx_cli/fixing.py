"""`flowx build --fix`: mends what has one right answer, or shows how it would."""

from __future__ import annotations

import io
import tokenize
from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING

from flowx_cli.building import read_sources
from flowx_cli.writing import write_bytes
from flowx_compiler.build import analyse
from flowx_compiler.fix import FIXABLE, fixed_texts

if TYPE_CHECKING:
    from flowx_cli.judging import Asked
    from flowx_compiler.config import Config


@dataclass(frozen=True, slots=True)
class Mended:
    """One file that fixes change."""

    file: str
    before: str
    after: str
    encoding: str
    """Of the file on disk, with the mark that it may begin with."""

    def diff(self) -> str:
        """The change as a unified diff."""
        lines = unified_diff(
            self.before.splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            f"a/{self.file}",
            f"b/{self.file}",
        )
        return "".join(lines)


def fixes(config: Config, asked: Asked) -> tuple[Mended, ...]:
    """What fixing an application would change."""
    from flowx_cli.judging import judgement

    files = {file.file: file for file in read_sources(config)}
    build = analyse(files.values(), judgement(config, asked))
    findings = [finding for finding in build.verdict.findings if finding.id in FIXABLE]
    mended = []
    for name, text in fixed_texts(build.program, findings).items():
        encoding, _ = tokenize.detect_encoding(io.BytesIO(files[name].source).readline)
        before = files[name].source.decode(encoding)
        # The compiler reads every newline convention as one; the file keeps its own.
        newline = "\r\n" if "\r\n" in before else "\n"
        mended.append(Mended(name, before, text.replace("\n", newline), encoding))
    return tuple(mended)


def fix_application(config: Config, asked: Asked) -> tuple[str, ...]:
    """Mend an application's files on disk; gives their names."""
    mended = fixes(config, asked)
    for file in mended:
        write_bytes(config.root / file.file, file.after.encode(file.encoding))
    return tuple(file.file for file in mended)
