"""A mutation fuzzer over flow sources: whatever the text, no traceback, no hang, and no construct lost in silence.

Run it outside CI with a number of inputs: `python -m tests.compiler.fuzz 20000 [seed]`.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir

from flowx_compiler.check.constructs import constructs, sequences
from flowx_compiler.check.reads import calls
from flowx_compiler.emit.plan_module import emit_plan
from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.lower import lower
from flowx_compiler.model import Flow
from flowx_compiler.rules.examples import example_text, shop
from flowx_compiler.rules.registry import registry
from flowx_compiler.rules.run import run_rules
from flowx_compiler.syntax import Attribute, Call, Name

SLOWEST_S = 5.0
ROOT = Path(__file__).parents[2]
_WORDS = [
    "lambda ctx:",
    "lambda b: b.",
    ".step(",
    ".fail(",
    ")",
    "(",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    "\n",
    "\n    ",
    "\t",
    '"',
    "'",
    '"""',
    "async ",
    "await ",
    "yield ",
    "*",
    "**",
    "=",
    ":=",
    "if ",
    "for x in y",
    "def ",
    "class ",
    "@",
    "\\",
    "#",
    "# flowx: ignore[",
    "flow",
    "b",
    "ctx",
    ".when(",
    ".switch(",
    ".case(",
    ".default(",
    ".parallel(",
    ".for_each(",
    ".on_timeout(",
    ".or_signal(",
    ".delay(",
    ".named(",
    ".returns(",
    "None",
    "True",
    "0",
    "1.5",
    "...",
    "f'{",
    "}'",
    "\u00e9",
    "\U0001f600",
    "\x00",
    "\r",
    "\f",
    "\ufeff",
    "import *",
    "from . import x",
    "match x:\n    case _:\n        pass",
    "try:\n    pass\nexcept: pass",
    "type X = int",
    "global x",
]


def seeds() -> list[str]:
    """Flow sources to start from: the examples of every rule, and the example applications."""
    found = [example_text(example) for entry in registry() for example in (*entry.invalid, *entry.valid)]
    found += [file.read_text("utf-8") for file in sorted(ROOT.glob("examples/*/*/flows.py"))]
    return found


def mutations(source: str, rng: random.Random) -> str:
    """One to four small damages."""
    text = source
    for _ in range(rng.randint(1, 4)):
        if not text:
            return text
        at = rng.randrange(len(text))
        match rng.randrange(8):
            case 0:
                text = text[:at]
            case 1:
                text = text[at:]
            case 2:
                text = text[:at] + text[min(len(text), at + rng.randint(1, 30)) :]
            case 3:
                text = text[:at] + rng.choice(_WORDS) + text[at:]
            case 4:
                text = (
                    text[:at] + chr(rng.choice([0, 9, 10, 13, 39, 40, 41, 92, 233, 0x1F600, 0xFEFF])) + text[at + 1 :]
                )
            case 5:
                lines = text.split("\n")
                first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
                lines[first], lines[second] = lines[second], lines[first]
                text = "\n".join(lines)
            case 6:
                lines = text.split("\n")
                line = rng.randrange(len(lines))
                lines.insert(rng.randrange(len(lines)), lines[line] * rng.randint(1, 3))
                text = "\n".join(lines)
            case _:
                length = rng.randint(1, 40)
                text = text[:at] + text[at : at + length] * rng.randint(2, 20) + text[at + length :]
    return text


def judge(source: bytes) -> None:
    """Compile one damaged file beside the intact declarations.

    Raises:
        AssertionError: it took too long, or a flow that compiles has lost a call of its source.
    """
    started = time.perf_counter()
    files = (SourceFile("shop", "shop.py", shop().encode()), SourceFile("example", "example.py", source))
    program = link(Sources.of(files))
    findings = run_rules(program)
    has_errors = any(finding.severity.value == "error" for finding in findings)
    if not has_errors:
        for flow in program.flows.values():
            emit_plan(lower(program, flow))
            written, compiled = _calls_of(flow.syntax), _constructs_of(flow)
            assert written <= compiled, f"{written} calls are written and {compiled} are compiled"
    spent = time.perf_counter() - started
    assert spent < SLOWEST_S, f"took {spent:.1f} s"
    assert not any(finding.place.file == "shop.py" for finding in findings if finding.id != "FLOWX1303"), (
        "an intact file"
    )


def _calls_of(syntax: object) -> int:
    """Builder calls in the text of a flow's class: every call of a construct's name on a builder's chain."""
    names = {"step", "when", "switch", "for_each", "sub_flow", "await_signal", "delay", "poll_until", "emit", "fail"}
    return sum(
        isinstance(call.function, Attribute) and call.function.attr in names and not _is_on_context(call.function)
        for call in calls(syntax)
    )


def _is_on_context(expression: object) -> bool:
    while isinstance(expression, Attribute | Call):
        expression = expression.value if isinstance(expression, Attribute) else expression.function
    return isinstance(expression, Name) and expression.id in ("ctx", "c", "request")


def _constructs_of(flow: Flow) -> int:
    unreachable = sum(len(block.unreachable) for block in sequences(flow.body))
    return sum(1 for _ in constructs(flow.body)) + unreachable + len(flow.on_failure)


def damaged(count: int, seed: int) -> Iterator[tuple[int, bytes]]:
    """Damaged sources, each with the number that makes it again."""
    sources = seeds()
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        text = mutations(rng.choice(sources), rng).encode("utf-8", "surrogatepass")
        if rng.random() < 0.05:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + bytes(rng.randrange(256) for _ in range(rng.randint(1, 8))) + text[at:]
        yield number, text


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    failures = 0
    for number, source in damaged(count, seed):
        try:
            judge(source)
        except Exception as error:  # whatever it is, the input that made it is what matters
            failures += 1
            print(f"input {number} of seed {seed}: {type(error).__name__}: {error}")
            (Path(gettempdir()) / f"fuzz-{seed}-{number}.py").write_bytes(source)
    print(f"{count - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
