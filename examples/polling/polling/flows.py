"""`document.process`: upload, wait for the provider without holding anything, extract."""

from __future__ import annotations

from flowx_runtime import Flow, FlowBuilder, Profile, flow, http_trigger
from polling.capabilities import CancelOcrJob, CheckOcrStatus, EscalateToManualReview, ExtractFields, UploadToOcr
from polling.contracts import (
    DocumentProcessed,
    DocumentResult,
    ExtractedFields,
    NotReadInTime,
    OcrCompleted,
    OcrStatus,
    SubmitDocument,
)
from polling.waits import OCR_BUDGET, OCR_POLLING


@flow("document.process", version="1.0.0", profile=Profile.DURABLE, owner="documents", deadline="PT6H")
@http_trigger("POST", "/api/v1/documents", idempotent=True)
class ProcessDocument(Flow[SubmitDocument, DocumentResult]):
    """Reads a document through a provider that takes its time."""

    def define(self, flow: FlowBuilder[SubmitDocument, DocumentResult]) -> None:
        flow.step(UploadToOcr).compensate_with(CancelOcrJob)
        (
            flow.poll_until(
                CheckOcrStatus,
                until=lambda ctx: ctx.get(OcrStatus).is_terminal,
                interval=OCR_POLLING,
                timeout=OCR_BUDGET,
            )
            .or_signal(OcrCompleted)
            .on_timeout(lambda late: late.step(EscalateToManualReview).fail(NotReadInTime))
        )
        flow.step(ExtractFields)
        flow.emit(
            DocumentProcessed,
            lambda ctx: DocumentProcessed(
                document_id=ctx.input.document_id, fields=len(ctx.get(ExtractedFields).values)
            ),
        )
        flow.returns(
            lambda ctx: DocumentResult(document_id=ctx.input.document_id, fields=len(ctx.get(ExtractedFields).values))
        )
