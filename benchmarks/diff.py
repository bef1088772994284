"""How long `flowx diff` takes on two large manifests, beside a bare interpreter, measured in one run.

    python benchmarks/diff.py                                  # 500 flows, 1,500 contracts, one in ten changed
    python benchmarks/diff.py --flows 2000 --contracts 6000

Each line is the best of several runs, because everything else that a machine does only ever adds. Processor time is
shown beside the clock's: on a machine that is busy with other things only that can be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
Document = dict[str, Any]


def contract(number: int, contracts: int, limit: int) -> Document:
    """A dozen members, two of them other contracts: shapes form circles, as they do in real applications."""
    texts = {f"field_{place}": {"type": "string", "maxLength": limit + place} for place in range(6)}
    return {
        "type": "object",
        "properties": {
            **texts,
            "next": {"$ref": f"#/contracts/shop.C{(number + 1) % contracts}"},
            "half": {"anyOf": [{"$ref": f"#/contracts/shop.C{number // 2}"}, {"type": "null"}]},
            "lines": {"type": "array", "items": {"$ref": f"#/contracts/shop.C{(number * 7) % contracts}"}},
            "state": {"enum": ["open", "paid", "sent", "back"]},
            "prices": {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
            "secret": {"type": "string", "sensitive": True},
        },
        "required": ["field_0", "field_1", "state"],
    }


def flow(number: int, contracts: int, digest: str) -> Document:
    steps: list[Document] = [
        {
            "id": place,
            "kind": "Capability",
            "name": f"work.do_{number}_{place}",
            "capability": f"work.do_{number}@1.0.0",
            "compensation": f"work.undo_{number}@1.0.0",
            "policies": [{"kind": "Timeout", "stage": "Resilience"}],
        }
        for place in range(8)
    ]
    steps.append({"id": 8, "kind": "AwaitSignal", "signal": f"work.done_{number}", "timeout": "P1D"})
    return {
        "id": f"work.flow_{number}",
        "version": "1.0.0",
        "profile": "Durable",
        "owner": "work",
        "input": {"type": f"shop.C{number % contracts}", "sensitive": ["secret"]},
        "output": {"type": f"shop.C{(2 * number) % contracts}", "sensitive": ["secret"]},
        "planDigest": digest,
        "triggers": [{"kind": "Http", "method": "POST", "route": f"/work/{number}", "idempotent": True}],
        "steps": steps,
        "source": f"shop/work.py:Flow{number}",
    }


def capability(name: str, number: int, contracts: int) -> Document:
    return {
        "id": f"work.{name}_{number}",
        "version": "1.0.0",
        "input": {"type": f"shop.C{(3 * number) % contracts}", "sensitive": ["secret"]},
        "output": {"type": f"shop.C{(3 * number + 1) % contracts}", "sensitive": ["secret"]},
        "authorization": {"mode": "Permission", "value": "work.do"},
        "idempotent": True,
        "sideEffects": ["work"],
        "errors": ["work.refused"],
        "usedBy": [f"work.flow_{number}"],
    }


def manifest(flows: int, contracts: int, *, is_new: bool) -> Document:
    """In the new one every tenth contract takes less, and every tenth flow has another plan."""
    return {
        "schemaVersion": "1.0.0",
        "application": {"name": "shop", "version": "2.0.0" if is_new else "1.0.0"},
        "flows": [
            flow(number, contracts, f"{number:064x}" if number % 10 or not is_new else "f" * 64)
            for number in range(flows)
        ],
        "capabilities": [capability(name, number, contracts) for name in ("do", "undo") for number in range(flows)],
        "events": [],
        "signals": [
            {"id": f"work.done_{number}", "contract": {"type": f"shop.C{number % contracts}"}}
            for number in range(flows)
        ],
        "errors": [{"code": "work.refused", "category": "Conflict"}],
        "contracts": {
            f"shop.C{number}": contract(number, contracts, 49 if is_new and number % 10 == 0 else 50)
            for number in range(contracts)
        },
    }


def best(command: list[str], folder: Path, runs: int, *, code: int) -> tuple[float, float]:
    """Seconds of processor time, and of the clock."""
    found = []
    for _ in range(runs):
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        ended, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, ended - started))
        if done.returncode != code:
            raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr}")
    return min(seconds for seconds, _ in found), min(seconds for _, seconds in found)


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--flows", type=int, default=500)
    arguments.add_argument("--contracts", type=int, default=1500)
    arguments.add_argument("--runs", type=int, default=7)
    given = arguments.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        old, new = (manifest(given.flows, given.contracts, is_new=is_new) for is_new in (False, True))
        for file, document in (("old.json", old), ("same.json", old), ("new.json", new)):
            (folder / file).write_text(json.dumps(document, indent=2, sort_keys=True), "utf-8")
        size = (folder / "old.json").stat().st_size / 1e6
        flowx = [sys.executable, "-m", "flowx_cli"]
        bare = best([sys.executable, "-c", "pass"], folder, 3 * given.runs, code=0)
        version = best([*flowx, "--version"], folder, given.runs, code=0)
        same = best([*flowx, "diff", "old.json", "same.json"], folder, given.runs, code=0)
        changed = best([*flowx, "diff", "old.json", "new.json"], folder, given.runs, code=1)
    print(f"{given.flows} flows, {given.contracts} contracts, {size:.1f} MB each; best of {given.runs}\n")
    for what, (processor, clock) in (
        ("bare interpreter", bare),
        ("flowx --version", version),
        ("flowx diff, nothing changed", same),
        ("flowx diff, one in ten changed", changed),
    ):
        times = f"{processor:6.3f} s ({clock:6.3f} by the clock)"
        print(f"{what:<32} {times} {processor / bare[0]:6.1f} x bare, {processor - bare[0]:6.3f} s over it")


if __name__ == "__main__":
    main()
