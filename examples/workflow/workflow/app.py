"""The capabilities of the application with their dependencies: what a host is given."""

from __future__ import annotations

from hashlib import sha256

from flowx_runtime import KeyRing
from workflow import capabilities as all_capabilities
from workflow.capabilities import Department
from workflow.company import Company


def key_ring() -> KeyRing:
    """What seals the national ids at rest. This one is for trying it out: a real key comes from a secret store."""
    return KeyRing({"demonstration": sha256(b"not a secret").digest()}, current="demonstration")


def capabilities(company: Company | None = None) -> list[object]:
    """One instance of each capability class, around one company."""
    company = company or Company()
    classes = [
        found
        for found in vars(all_capabilities).values()
        if isinstance(found, type) and issubclass(found, Department) and found is not Department
    ]
    return [found(company) for found in classes]
