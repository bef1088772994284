"""Facts about the two documents themselves."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule, Verdict
from flowx_compiler.diff.versions import major

SCHEMA = Rule(
    "200",
    Verdict.NEUTRAL,
    "manifest schema has another major",
    detects="The major of `schemaVersion` differs. A minor is no change.",
    matters="Fields may mean something else; the rest of the report is advice.",
    hurt="nobody; read the rest with care",
    advice="build both manifests with one version of flowx",
    mirror=("200",),
    one_sided="about the documents themselves",
)
APPLICATION = Rule(
    "201",
    Verdict.NEUTRAL,
    "another application",
    detects="Both documents name their application, and the names differ.",
    matters="Usually it is the wrong pair of files.",
    hurt="nobody",
    advice="check that both manifests are of one application",
    mirror=("201",),
    one_sided="about the documents themselves",
)
RULES = (SCHEMA, APPLICATION)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Differences of the frame."""
    old, new = comparison.old, comparison.new
    if major(old.schema_version) != major(new.schema_version):
        yield SCHEMA.finding("manifest", old.schema_version, new.schema_version)
    if old.application and new.application and old.application != new.application:
        yield APPLICATION.finding("application", old.application, new.application)
