"""Two callers to try the application with. A real one asks its identity provider."""

from __future__ import annotations

from typing import Final

from flowx_runtime import Principal
from flowx_runtime.http import BearerTokens

PEOPLE_OPS: Final = Principal(
    "people-ops",
    frozenset(
        {"payroll.write", "suppliers.write", "identity.write", "hardware.write", "access.write", "equipment.write"}
    ),
)
"""Holds everything that onboarding somebody takes."""

RECRUITER: Final = Principal("recruiter")
"""Is signed in, which is enough to send an offer and not enough to onboard anybody."""

DEMONSTRATION_CALLERS: Final = BearerTokens({"people-ops-token": PEOPLE_OPS, "recruiter-token": RECRUITER})
