"""An instance's dossier on a terminal."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator

from flowx_cli.operate.dossier import Dossier, event_status
from flowx_cli.operate.moments import moment, span
from flowx_cli.operate.waits import wait_words
from flowx_runtime.engine.documents import shown
from flowx_runtime.journal.records import InstanceRow, StepRow

WIDTH = 100


def dossier_lines(dossier: Dossier) -> Iterator[str]:
    """At most 100 columns wide, except where a command is meant to be copied."""
    instance, around = dossier.history.instance, dossier.around
    yield f"{instance.flow_id} {instance.flow_version}  {instance.instance_id}"
    since = span(around.now - instance.updated_at)
    yield from _fact("state", f"{instance.state.value} for {since}, started {moment(instance.created_at)}")
    yield from _facts_of(instance)
    lease = around.lease
    if lease is not None and lease.expires_at > around.now:
        yield from _fact("lease", f"{lease.owner} until {moment(lease.expires_at)}")
    for kind, relatives in (("parent", [around.parent]), ("child", around.children)):
        for each in relatives:
            if each is not None:
                yield from _fact(kind, f"{each.instance_id}  {each.state.value}  {each.flow_id} {each.flow_version}")
    yield from _section("why it stands here", (line for reason in dossier.reasons for line in _wrapped(reason)))
    yield from _section("rows", map(_row_line, dossier.history.rows))
    yield from _section("waits", _wait_lines(dossier))
    yield from _section("inbox", _inbox_lines(dossier))
    yield from _section("steps inside capabilities", _once_lines(dossier))
    yield from _section(
        "events",
        (
            f"{moment(event.staged_at)}  {event_status(event):<9}  {event.type} {event.version}"
            for event in around.events
        ),
    )


def _facts_of(instance: InstanceRow) -> Iterator[str]:
    yield from _fact("input", _compact(instance.input))
    if instance.output is not None:
        yield from _fact("output", _compact(instance.output))
    if instance.error is not None:
        yield from _fact("error", f"{instance.error.code} ({instance.error.category}): {instance.error.detail}")
    if instance.deadline_at is not None:
        yield from _fact("deadline", moment(instance.deadline_at))
    for name, value in (
        ("tenant", instance.tenant_id),
        ("correlation", instance.correlation_id),
        ("cancelled", instance.cancel_reason),
    ):
        if value:
            yield from _fact(name, value)


def _fact(name: str, value: str) -> Iterator[str]:
    indent = " " * 12
    yield from textwrap.wrap(
        value, WIDTH, initial_indent=f"{name:<12}", subsequent_indent=indent, break_on_hyphens=False
    ) or [name]


def _section(title: str, lines: Iterator[str]) -> Iterator[str]:
    is_first = True
    for line in lines:
        if is_first:
            yield f"\n{title}"
            is_first = False
        yield f"  {line}"


def _row_line(row: StepRow) -> str:
    place = f"{row.step_id}{f'/{row.scope}' if row.scope else ''}"
    what = row.name if row.name in ("", row.capability_id) else f"{row.name} "
    named = row.capability_id if row.name in ("", row.capability_id) else f"{what}({row.capability_id})"
    at = "" if row.committed_at is None else f"{row.committed_at:%H:%M:%S}"
    error = "" if row.error is None else f"  {row.error.code}"
    line = (
        f"{at}  {place:>7} #{row.attempt}  {named or 'fail':<32}  {row.outcome.value:<11}{row.duration_ms:>6} ms{error}"
    )
    return textwrap.shorten(line, WIDTH - 2, placeholder=" …") if len(line) > WIDTH - 2 else line


def _wait_lines(dossier: Dossier) -> Iterator[str]:
    for wait in dossier.history.instance.waits:
        place = f"step {wait.step_id}{f', scope {wait.scope}' if wait.scope else ''}"
        yield f"{place}: {wait_words(wait, dossier.around.now)}"
        for way in dossier.deliveries(wait):
            yield f"    {way}"


def _inbox_lines(dossier: Dossier) -> Iterator[str]:
    for each in dossier.around.received:
        taken = "not taken yet" if each.taken_at is None else f"taken {moment(each.taken_at)}"
        yield from _wrapped(f"{moment(each.received_at)}  {each.signal_id}, {taken}")
        yield from _wrapped(f"    delivery {each.delivery_id}")


def _once_lines(dossier: Dossier) -> Iterator[str]:
    for record in dossier.once:
        attempts = "1 attempt" if record.attempts == 1 else f"{record.attempts} attempts"
        state = "done" if record.is_done else "failed"
        yield f"{record.path}  {state}, {attempts}"
        if record.error is not None:
            yield from _wrapped(f"    {record.error.code}: {record.error.detail}")
        if record.due_at is not None and not record.is_done:
            yield f"    tried again at {moment(record.due_at)}"


def _wrapped(text: str) -> list[str]:
    """Lines of a sentence; a command in it stays on one, so that it can be copied."""
    whole = re.sub(r"`[^`]*`", lambda command: command[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(whole, WIDTH - 2, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
    return [line.replace("\0", " ") for line in lines]


def _compact(text: str) -> str:
    return json.dumps(json.loads(shown(text)), ensure_ascii=False)
