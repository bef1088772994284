"""The values that cross the steps of `document.process`."""

from __future__ import annotations

from flowx_runtime import Category, Contract, FlowError, event, signal


class SubmitDocument(Contract):
    """A document to read."""

    document_id: str
    content_type: str
    pages: int


class OcrJob(Contract):
    """The provider's job for it."""

    job_id: str


class OcrStatus(Contract):
    """What the provider answers when asked."""

    job_id: str
    state: str

    @property
    def is_terminal(self) -> bool:
        """Whether asking again would change nothing."""
        return self.state in ("completed", "failed")


class ReviewTicket(Contract):
    """A document that a person must look at."""

    ticket: str


class ExtractedFields(Contract):
    """What was read."""

    values: dict[str, str]


class DocumentResult(Contract):
    """The flow's output."""

    document_id: str
    fields: int


@event("document.processed", version="1.0.0")
class DocumentProcessed(Contract):
    """A document has been read."""

    document_id: str
    fields: int


@signal("ocr.completed")
class OcrCompleted(Contract):
    """The provider's own notification, when it works."""

    job_id: str


class NotReadInTime(FlowError, code="document.not_read_in_time", category=Category.UNAVAILABLE):
    """The provider did not read the document within the budget."""
