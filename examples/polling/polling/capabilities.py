"""What `document.process` can do."""

from __future__ import annotations

from flowx_runtime import Internal, Permission, StepContext, capability
from polling.contracts import ExtractedFields, OcrJob, OcrStatus, ReviewTicket, SubmitDocument
from polling.ocr_provider import OcrProvider, ReviewQueue


@capability(
    "ocr.upload",
    version="1.0.0",
    authorization=Permission("documents.write"),
    side_effects=("ocr-provider",),
)
class UploadToOcr:
    """Hands a document to the provider."""

    def __init__(self, ocr: OcrProvider) -> None:
        self._ocr = ocr

    async def execute(self, request: SubmitDocument, ctx: StepContext) -> OcrJob:
        job_id = self._ocr.upload(request.document_id, pages=request.pages, key=ctx.idempotency_key)
        return OcrJob(job_id=job_id)


@capability(
    "ocr.cancel",
    version="1.0.0",
    authorization=Internal(),
    idempotent=True,
    side_effects=("ocr-provider",),
)
class CancelOcrJob:
    """Closes the provider's job; the undo of the upload."""

    def __init__(self, ocr: OcrProvider) -> None:
        self._ocr = ocr

    async def execute(self, request: OcrJob, ctx: StepContext) -> None:
        self._ocr.cancel(request.job_id)


@capability("ocr.status", version="1.0.0", authorization=Internal(), idempotent=True)
class CheckOcrStatus:
    """Asks whether the document has been read. A read: it may be asked any number of times."""

    def __init__(self, ocr: OcrProvider) -> None:
        self._ocr = ocr

    async def execute(self, request: OcrJob, ctx: StepContext) -> OcrStatus:
        return OcrStatus(job_id=request.job_id, state=self._ocr.state(request.job_id))


@capability("document.escalate", version="1.0.0", authorization=Internal(), idempotent=True)
class EscalateToManualReview:
    """Puts the document in front of a person."""

    def __init__(self, queue: ReviewQueue) -> None:
        self._queue = queue

    async def execute(self, request: OcrJob, ctx: StepContext) -> ReviewTicket:
        return ReviewTicket(ticket=self._queue.add(request.job_id))


@capability("document.extract", version="1.0.0", authorization=Internal(), idempotent=True)
class ExtractFields:
    """Fetches what was read."""

    def __init__(self, ocr: OcrProvider) -> None:
        self._ocr = ocr

    async def execute(self, request: OcrJob, ctx: StepContext) -> ExtractedFields:
        return ExtractedFields(values=self._ocr.fields(request.job_id))
