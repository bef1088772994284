"""Whether the plans on disk are what the sources build."""

from __future__ import annotations

from flowx_cli.building import build_application
from flowx_compiler.cache import Cache
from flowx_compiler.config import Config
from flowx_compiler.errors import UsageProblem
from flowx_compiler.findings import Severity


def why_not_fresh(config: Config) -> str | None:
    """A sentence where the sources would build something else; `None` where they would not."""
    try:
        built = build_application(config, check=True, cache=Cache(config.root))
    except UsageProblem:
        return None  # whoever runs it meets the reason in a better place
    if built.stale:
        return f"the plans are older than the sources ({', '.join(built.stale[:3])}): run `flowx build`"
    if built.report.count(Severity.ERROR):
        return "the sources do not build, so this runs the plans of an earlier build: `flowx build` says why"
    return None
