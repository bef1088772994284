"""What a failed try means for its event: whose fault it is, when the next one comes, whether there is one."""

from __future__ import annotations

import logging
from typing import Final
from uuid import UUID

from flowx_runtime.authoring.errors import said_by
from flowx_runtime.journal.outbox import ClaimedEvent, FailedTry
from flowx_runtime.outbox.publisher import PublisherUnavailable
from flowx_runtime.outbox.settings import Publishing

_LOG = logging.getLogger("flowx.outbox")

_UNANSWERED: Final = (PublisherUnavailable, TimeoutError, OSError)
_LONGEST_ERROR: Final = 500


def failed_try(
    claimed: ClaimedEvent, error: Exception, *, claim_id: UUID, settings: Publishing, draw: float
) -> FailedTry:
    """The verdict on one try.

    Args:
        claimed: the event as it was handed out.
        error: what the publisher raised.
        claim_id: of the claim it was handed out with.
        settings: the gaps between tries, and how many refusals are enough.
        draw: from [0, 1), for gaps with jitter.
    """
    is_refusal = not isinstance(error, _UNANSWERED)
    gap = settings.backoff.gap(claimed.attempts, draw=draw)
    asked = error.retry_after if isinstance(error, PublisherUnavailable) else None
    told = said_by(error) or ("it took too long" if isinstance(error, TimeoutError) else "no reason given")
    return FailedTry(
        claim_id=claim_id,
        instance_id=claimed.instance_id,
        event_id=claimed.event.event_id,
        error=f"{type(error).__name__}: {told}"[:_LONGEST_ERROR],
        retry_in=gap if asked is None else max(gap, asked),
        is_refusal=is_refusal,
        is_poison=is_refusal and claimed.refusals + 1 >= settings.max_refusals,
    )


def log_failed_try(claimed: ClaimedEvent, failed: FailedTry) -> None:
    """Tell operators; of an event that is set aside with all they need to find it."""
    told = (claimed.event.event_id, claimed.event.type, claimed.instance_id)
    if failed.is_poison:
        refusals = claimed.refusals + 1
        _LOG.error(
            "event %s (%s) of instance %s is set aside after %s refusals, the later ones go on: %s",
            *told,
            refusals,
            failed.error,
        )
    else:
        _LOG.warning(
            "event %s (%s) of instance %s was not published and waits for another try: %s", *told, failed.error
        )
