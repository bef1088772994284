"""The capabilities of the application with their dependencies: what a host is given."""

from __future__ import annotations

from polling.capabilities import CancelOcrJob, CheckOcrStatus, EscalateToManualReview, ExtractFields, UploadToOcr
from polling.ocr_provider import OcrProvider, ReviewQueue


def capabilities(ocr: OcrProvider | None = None, queue: ReviewQueue | None = None) -> list[object]:
    """One instance of each capability class, around one provider and one review queue."""
    ocr = ocr or OcrProvider.from_environment()
    return [
        UploadToOcr(ocr),
        CancelOcrJob(ocr),
        CheckOcrStatus(ocr),
        EscalateToManualReview(queue or ReviewQueue()),
        ExtractFields(ocr),
    ]
