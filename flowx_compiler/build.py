"""The compiler as one pure function: sources in; findings, plan modules and a manifest out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from flowx_compiler.config import Config
from flowx_compiler.emit.catalog_module import Entry, emit_catalog
from flowx_compiler.emit.manifest import RetiredPlan, emit_manifest
from flowx_compiler.emit.plan_module import emit_plan, module_name
from flowx_compiler.findings import Finding
from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.lower import lower
from flowx_compiler.lower.plan_model import PlanModel
from flowx_compiler.model import Program
from flowx_compiler.read.depth import allow_deep_trees
from flowx_compiler.read.file_reader import Reader
from flowx_compiler.rules.run import judge
from flowx_compiler.rules.unsound import with_reasons
from flowx_compiler.verdict import Verdict

_RETIRED_NOTE = "\nRetired: a newer version has taken over; instances that started under this one finish under it.\n"
_HEADER = re.compile(r'^"""The plan of (?P<flow>\S+) (?P<version>\S+), compiled from ')
_DIGEST = re.compile(r'^    digest="(?P<digest>[0-9a-f]+)",$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Build:
    """What compiling gave."""

    program: Program
    verdict: Verdict
    files: Mapping[str, str]
    """Text by path relative to the root; empty where an error, or no flow, was found."""
    flow_count: int

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, without what directives and the baseline cover."""
        return self.verdict.findings

    @property
    def has_errors(self) -> bool:
        """Whether anything found stops the build."""
        return self.verdict.has_errors


Judge = Callable[[Program], Verdict]


def analyse(files: Iterable[SourceFile], judge: Judge = judge, reader: Reader | None = None) -> Build:
    """Link and judge, and write nothing."""
    allow_deep_trees()
    program = link(Sources.of(files, reader))
    return Build(program, with_reasons(program, judge(program)), {}, len(program.flows))


def compile_sources(
    files: Iterable[SourceFile],
    config: Config,
    existing: Mapping[str, str],
    judge: Judge = judge,
    reader: Reader | None = None,
) -> Build:
    """Link, judge, and compile every flow if nothing found is an error.

    Args:
        files: the project's sources.
        config: the application.
        existing: plan modules that are on disk: text by module name. Those of other versions stay, marked retired.
        judge: says what is wrong with a program.
        reader: reads files; without one, every file is read anew.
    """
    analysed = analyse(files, judge, reader)
    if analysed.has_errors or not analysed.flow_count:
        return analysed
    program = analysed.program
    plans = [lower(program, flow) for _, flow in sorted(program.flows.items())]
    folder = config.plans_folder.as_posix()
    written: dict[str, str] = {}
    entries: list[Entry] = []
    retired: list[RetiredPlan] = []
    for plan, name in zip(plans, _module_names(plans, existing), strict=True):
        written[f"{folder}/{name}.py"] = emit_plan(plan)
        entries.append(Entry(plan.flow_id, plan.version, name, is_retired=False))
    current = {entry.module for entry in entries}
    for name, text in sorted(existing.items()):
        head = _HEADER.match(text)
        if name not in current and head is not None:
            written[f"{folder}/{name}.py"] = _retired(text)
            entries.append(Entry(head["flow"], head["version"], name, is_retired=True))
            digest = _DIGEST.search(text)
            if digest is not None:
                retired.append(RetiredPlan(head["flow"], head["version"], digest["digest"]))
    written[f"{folder}/__init__.py"] = emit_catalog(config.plans, entries)
    written[config.manifest] = emit_manifest(config.application, program, plans, retired)
    return Build(program, analysed.verdict, dict(sorted(written.items())), analysed.flow_count)


def _module_names(plans: Iterable[PlanModel], existing: Mapping[str, str]) -> Iterator[str]:
    """A name for each plan; `a.b_c` and `a_b.c` would have the same, and so would a plan on disk of another flow."""
    owners = {name: (head["flow"], head["version"]) for name, text in existing.items() if (head := _HEADER.match(text))}
    for plan in plans:
        identity = (plan.flow_id, plan.version)
        wanted = module_name(*identity)
        name, number = wanted, 2
        while owners.setdefault(name, identity) != identity:
            name = f"{wanted}_{number}"
            number += 1
        yield name


def _retired(text: str) -> str:
    if _RETIRED_NOTE in text:
        return text
    head, quotes, rest = text.partition('"""\n\n#')
    return f"{head}{_RETIRED_NOTE}{quotes}{rest}"
