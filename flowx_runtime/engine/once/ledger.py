"""The records of one instance's steps, while it is worked on."""

from __future__ import annotations

from uuid import UUID

from flowx_runtime.engine.documents import Documents
from flowx_runtime.engine.failures import Disowned
from flowx_runtime.journal.once import OnceRecord, OnceStore


class Ledger:
    """Reads the store once for each execution that asks, and writes every record at once.

    Without a store (a flow that keeps no journal) records last as long as this run.
    """

    __slots__ = (
        "_fence",
        "_instance_id",
        "_loaded",
        "_may_have_records",
        "_records",
        "_store",
        "application",
        "documents",
    )

    def __init__(
        self,
        instance_id: UUID,
        documents: Documents,
        *,
        store: OnceStore | None = None,
        fence: int = 0,
        application: str = "",
    ) -> None:
        self.documents = documents
        self.application = application
        self._instance_id = instance_id
        self._store = store
        self._fence = fence
        # The first owner of an instance knows that nobody was there before.
        self._may_have_records = fence > 1
        self._loaded: set[str] = set()
        self._records: dict[str, OnceRecord] = {}

    @property
    def instance_id(self) -> UUID:
        return self._instance_id

    async def load(self, execution: str) -> None:
        """Have the records of an execution at hand."""
        if self._store is None or not self._may_have_records or execution in self._loaded:
            return
        for record in await self._store.once_records(self._instance_id, execution):
            self._records.setdefault(record.path, record)
        self._loaded.add(execution)

    def find(self, path: str) -> OnceRecord | None:
        """What is known of a step; its execution has to be loaded."""
        return self._records.get(path)

    async def write(self, *records: OnceRecord) -> None:
        """Make records durable, on their own.

        Raises:
            Disowned: this node does not own the instance any more.
            JournalUnavailable: whether they were written is not known.
        """
        if self._store is not None:
            refused = await self._store.record_once(self._instance_id, records, fencing_token=self._fence)
            if refused is not None:
                raise Disowned(refused.reason, refused.detail)
        self._records.update({record.path: record for record in records})
