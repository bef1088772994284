"""The compiler as one pure function: sources in; findings, plan modules and a manifest out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from flowx_compiler.check.once_steps import labels_of
from flowx_compiler.config import Config
from flowx_compiler.emit.catalog_module import Entry, emit_catalog
from flowx_compiler.emit.manifest import RetiredPlan, emit_manifest
from flowx_compiler.emit.plan_module import emit_plan, module_name
from flowx_compiler.findings import Finding, Place
from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.lower import lower
from flowx_compiler.lower.plan_model import PlanModel
from flowx_compiler.model import Problem, Program
from flowx_compiler.read.depth import allow_deep_trees
from flowx_compiler.read.file_reader import FileReader, Reader
from flowx_compiler.released import Released
from flowx_compiler.retired import changes
from flowx_compiler.rules.flowx1111_once_label_gone import RULE as ONCE_LABEL_GONE
from flowx_compiler.rules.flowx1301_released_version_changed import RULE as RELEASED_VERSION_CHANGED
from flowx_compiler.rules.run import judge
from flowx_compiler.rules.unsound import with_reasons
from flowx_compiler.syntax import Module
from flowx_compiler.verdict import Verdict

_RETIRED_NOTE = "\nRetired: a newer version has taken over; instances that started under this one finish under it.\n"
_HEADER = re.compile(r'^"""The plan of (?P<flow>\S+) (?P<version>\S+), compiled from ')
_DIGEST = re.compile(r'^    digest="(?P<digest>[0-9a-f]+)",$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PlanOnDisk:
    """What the text of a plan module says of itself."""

    flow_id: str
    version: str
    digest: str | None
    is_retired: bool


def plan_on_disk(text: str) -> PlanOnDisk | None:
    """What a file in the package of plans is; `None` for one that is no plan."""
    head = _HEADER.match(text)
    if head is None:
        return None
    digest = _DIGEST.search(text)
    return PlanOnDisk(head["flow"], head["version"], digest and digest["digest"], _RETIRED_NOTE in text)


@dataclass(frozen=True, slots=True)
class Build:
    """What compiling gave."""

    program: Program
    verdict: Verdict
    files: Mapping[str, str]
    """Text by path relative to the root; empty where an error, or no flow, was found."""
    flow_count: int
    made_from: Mapping[str, Place] = field(default_factory=dict)
    """The flow that a plan module is made from, by the module's path."""

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
    released: Released | None = None,
) -> Build:
    """Link, judge, and compile every flow if nothing found is an error.

    Args:
        files: the project's sources.
        config: the application.
        existing: plan modules that are on disk: text by module name. Those of other versions stay, marked retired.
        judge: says what is wrong with a program.
        reader: reads files; without one, every file is read anew.
        released: what instances may have been started under; a plan of the same version must be the same.
    """
    analysed = analyse(files, judge, reader)
    if analysed.has_errors or not analysed.flow_count:
        return analysed
    program = analysed.program
    plans = [lower(program, flow) for _, flow in sorted(program.flows.items())]
    names = tuple(_module_names(plans, existing))
    broken = [] if released is None else _broken_promises(program, plans, released)
    retired_files = _retired_plans(config, names, existing)
    for file, text in retired_files.items():
        old = plan_on_disk(text)
        assert old is not None, "only plans are retired"
        broken += changes(program, file, text, f"{old.flow_id}@{old.version}")
    if broken:
        # Judged again, so that settings and directives have their say about these findings as about all others.
        about = {problem.place.file for problem in broken} & retired_files.keys()
        read = {file: _directives(file, retired_files[file]) for file in sorted(about)}
        program = replace(
            program,
            modules={**program.modules, **{module.name: module for module in read.values()}},
            problems=(*program.problems, *broken),
        )
        analysed = Build(program, with_reasons(program, judge(program)), {}, len(program.flows))
        if analysed.has_errors:
            return analysed
    folder = config.plans_folder.as_posix()
    written: dict[str, str] = {}
    made_from: dict[str, Place] = {}
    entries: list[Entry] = []
    retired: list[RetiredPlan] = []
    for plan, name in zip(plans, names, strict=True):
        written[f"{folder}/{name}.py"] = emit_plan(plan)
        made_from[f"{folder}/{name}.py"] = program.flows[plan.flow].place
        entries.append(Entry(plan.flow_id, plan.version, name, is_retired=False))
    current = {entry.module for entry in entries}
    for name, text in sorted(existing.items()):
        old = plan_on_disk(text)
        if name not in current and old is not None:
            written[f"{folder}/{name}.py"] = _retired(text)
            entries.append(Entry(old.flow_id, old.version, name, is_retired=True))
            if old.digest is not None:
                retired.append(RetiredPlan(old.flow_id, old.version, old.digest))
    written[f"{folder}/__init__.py"] = emit_catalog(config.plans, entries, config.application)
    written[config.manifest] = emit_manifest(config.application, program, plans, retired)
    return Build(program, analysed.verdict, dict(sorted(written.items())), analysed.flow_count, made_from)


def _broken_promises(program: Program, plans: Iterable[PlanModel], released: Released) -> list[Problem]:
    """A problem for each flow that is not what was released under its version, and each step that lost its name."""
    built = {(plan.flow_id, plan.version): plan for plan in plans}
    labels = {item.id: frozenset(labels_of(program, item)) for item in program.capabilities.values()}
    now = Released({identity: plan.digest for identity, plan in built.items()}, labels)
    found = [
        Problem(
            RELEASED_VERSION_CHANGED.id,
            program.flows[built[flow_id, version].flow].place,
            f"{flow_id!r} is not what was committed as version {version}",
            help=f"give it a new version, for example {_next(version)}: the plan of {version} then stays for the "
            "instances that started under it",
            label="instances parked under the former plan could not go on",
        )
        for flow_id, version in released.changed(now)
    ]
    for capability_id, gone in sorted(released.labels_gone(now).items()):
        capability = next(item for item in program.capabilities.values() if item.id == capability_id)
        users = [
            plan
            for identity, plan in sorted(built.items())
            if identity in released.digests and any(use.name == capability.name for use in plan.capabilities)
        ]
        if users:
            one = len(gone) == 1
            said = ", ".join(repr(label) for label in sorted(gone))
            found.append(
                Problem(
                    ONCE_LABEL_GONE.id,
                    capability.place,
                    f"{'step' if one else 'steps'} {said} of {capability_id!r} {'is' if one else 'are'} gone while "
                    f"{users[0].flow_id!r} is still {users[0].version}",
                    help="keep the label, or give the flow a new version",
                    label="a run that had done it finds no record of it",
                )
            )
    return found


def _retired_plans(config: Config, current: Iterable[str], existing: Mapping[str, str]) -> dict[str, str]:
    """The plans on disk that no flow is built to any more, by file; drafts, which may change, are left out."""
    found: dict[str, str] = {}
    for name, text in sorted(existing.items()):
        old = plan_on_disk(text)
        if old is not None and name not in set(current) and "-" not in old.version:
            found[f"{config.plans_folder.as_posix()}/{name}.py"] = text
    return found


def _directives(file: str, text: str) -> Module:
    """A plan's lines and what its comments suppress. It is no source: nothing else of it is judged."""
    name = file.removesuffix(".py").replace("/", ".")
    (module,) = FileReader().read([SourceFile(name, file, text.encode())])
    return module._replace(body=())


def _next(version: str) -> str:
    major, minor, _ = version.split("+", maxsplit=1)[0].split(".", 2)
    return f"{major}.{int(minor) + 1}.0"


def _module_names(plans: Iterable[PlanModel], existing: Mapping[str, str]) -> Iterator[str]:
    """A name for each plan; `a.b_c` and `a_b.c` would have the same, and so would a plan on disk of another flow."""
    owners = {name: (old.flow_id, old.version) for name, text in existing.items() if (old := plan_on_disk(text))}
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
