"""The policies that steps of this application carry."""

from typing import Final

from flowx_runtime import Backoff, PolicySet, Retry

DIRECTORY_SERVICE: Final = PolicySet(
    "directory-service",
    timeout="PT2S",
    retry=Retry(attempts=3, backoff=Backoff.exponential_jitter("PT0.1S", "PT0.5S")),
)
FACILITIES_UNDO: Final = PolicySet(
    "facilities-undo",
    compensation_retry=Retry(attempts=3, backoff=Backoff.exponential_jitter("PT0.1S", "PT0.5S")),
)
