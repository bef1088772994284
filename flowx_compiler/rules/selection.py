"""Which rules run where, and how bad what they find is."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase

from flowx_compiler.config import Config
from flowx_compiler.errors import UsageProblem
from flowx_compiler.findings import Finding, Severity
from flowx_compiler.rules.registry import find_rule, registry
from flowx_compiler.rules.rule import Rule


@dataclass(frozen=True, slots=True)
class Selection:
    """The rules that run. A safety rule always does, everywhere, as an error."""

    selected: frozenset[str] | None = None
    """Only these; `None` means all."""
    ignored: frozenset[str] = frozenset()
    ignored_in: tuple[tuple[str, frozenset[str]], ...] = ()
    """Patterns of files, relative to the project root, with what is ignored in them."""
    severity: Mapping[str, Severity] = field(default_factory=dict)
    prefix: str = ""
    """Where files are named from, relative to the project root."""

    def runs(self, rule: Rule) -> bool:
        """Whether a rule runs at all."""
        if rule.is_safety:
            return True
        return (self.selected is None or rule.id in self.selected) and rule.id not in self.ignored

    def reports(self, id: str, file: str) -> bool:
        """Whether what a rule that runs finds in a file counts."""
        path = self.path_of(file)
        return not any(id in ids and _matches(path, pattern) for pattern, ids in self.ignored_in)

    def path_of(self, file: str) -> str:
        """A file's name from the project root."""
        return posixpath.normpath(posixpath.join(self.prefix, file))

    def ran(self, id: str, file: str) -> bool:
        """Whether a rule would have reported something in a file; true of an id that no rule has."""
        entry = find_rule(id)
        return entry is None or (self.runs(entry.rule) and self.reports(id, file))

    def severity_of(self, finding: Finding) -> Severity:
        """What the project says of a rule, else what the rule says of the finding."""
        return self.severity.get(finding.id, finding.severity)


EVERYTHING = Selection()


def selection(
    config: Config | None = None, *, select: Iterable[str] = (), ignore: Iterable[str] = (), prefix: str = ""
) -> Selection:
    """What a project and a command line ask for together: the command line's `select` wins, ignores add up.

    Args:
        config: the project's settings.
        select: rule ids of the command line.
        ignore: rule ids of the command line.
        prefix: where files are named from, relative to the project root.

    Raises:
        UsageProblem: an id is no rule's, or a safety rule would be silenced.
    """
    asked = _ids("--select", select) or (_ids("`select`", config.select) if config else frozenset())
    ignored = _ignorable("--ignore", ignore)
    if config is None:
        return Selection(asked or None, ignored, prefix=prefix)
    return Selection(
        asked or None,
        ignored | _ignorable("`ignore`", config.ignore),
        tuple((name, _ignorable("`per-file-ignores`", ids)) for name, ids in config.per_file_ignores.items()),
        dict(_severity(id, word) for id, word in config.severity.items()),
        prefix,
    )


def _ids(where: str, ids: Iterable[str]) -> frozenset[str]:
    return frozenset(_rule(where, id).id for id in ids)


def _ignorable(where: str, ids: Iterable[str]) -> frozenset[str]:
    rules = [_rule(where, id) for id in ids]
    for rule in rules:
        if rule.is_safety:
            raise UsageProblem(
                f"{where} names {rule.id} ({rule.name}), a safety rule, which no setting can ignore: "
                f"suppress it at its line with `# flowx: ignore[{rule.id}] why`"
            )
    return frozenset(rule.id for rule in rules)


def _severity(id: str, word: str) -> tuple[str, Severity]:
    rule = _rule("`severity`", id)
    if word not in ("error", "warning"):
        raise UsageProblem(f"`severity` gives {rule.id} {word!r}: write 'error' or 'warning'")
    if rule.is_safety and word != "error":
        raise UsageProblem(
            f"`severity` lowers {rule.id} ({rule.name}), a safety rule, which is always an error: remove it"
        )
    return rule.id, Severity(word)


def _rule(where: str, id: str) -> Rule:
    found = find_rule(id.strip())
    if found is None:
        known = [entry.rule.id for entry in registry()]
        close = get_close_matches(id.upper(), known, 1)
        hint = f"did you mean {close[0]}?" if close else "write an id such as FLOWX1012"
        raise UsageProblem(f"{where} names {id!r}, which is no rule: {hint}")
    return found.rule


def _matches(path: str, pattern: str) -> bool:
    """`*` crosses folders; a pattern without `/` is about the file's own name."""
    return fnmatchcase(path if "/" in pattern else posixpath.basename(path), pattern)
