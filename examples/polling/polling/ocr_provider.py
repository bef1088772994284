"""An in-memory stand-in for a document-reading service."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

DEFAULT_SECONDS_PER_PAGE = 0.2


class OcrProvider:
    """Reads a page every so many seconds.

    A real provider outlives our processes. This one keeps what it knows of a job in the job id itself, so that a
    process that was killed and started again is answered the same way.
    """

    def __init__(self, seconds_per_page: float, clock: Callable[[], float] = time.time) -> None:
        self._seconds_per_page = seconds_per_page
        self._clock = clock
        self._jobs_by_key: dict[str, str] = {}
        self.cancelled: list[str] = []

    @classmethod
    def from_environment(cls) -> OcrProvider:
        """A provider as slow as `FLOWX_EXAMPLE_OCR_SECONDS_PER_PAGE` says."""
        return cls(float(os.environ.get("FLOWX_EXAMPLE_OCR_SECONDS_PER_PAGE", DEFAULT_SECONDS_PER_PAGE)))

    def upload(self, document_id: str, *, pages: int, key: str) -> str:
        """Start reading a document; the same key is the same job."""
        ready_at = self._clock() + pages * self._seconds_per_page
        return self._jobs_by_key.setdefault(key, f"{document_id}@{ready_at:.3f}")

    def state(self, job_id: str) -> str:
        """`"reading"`, `"completed"` or `"cancelled"`."""
        if job_id in self.cancelled:
            return "cancelled"
        ready_at = float(job_id.rpartition("@")[2])
        return "completed" if self._clock() >= ready_at else "reading"

    def fields(self, job_id: str) -> dict[str, str]:
        """What was read."""
        document_id = job_id.rpartition("@")[0]
        return {"title": f"Document {document_id}", "language": "en", "total": "42.00"}

    def cancel(self, job_id: str) -> None:
        """Close a job; closing it twice is harmless."""
        if job_id not in self.cancelled:
            self.cancelled.append(job_id)


class ReviewQueue:
    """Documents that a person must look at."""

    def __init__(self) -> None:
        self.tickets: list[str] = []

    def add(self, job_id: str) -> str:
        """Queue a job's document once."""
        ticket = f"review-{job_id.rpartition('@')[0]}"
        if ticket not in self.tickets:
            self.tickets.append(ticket)
        return ticket
