"""The nodes of a journal on PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping

from flowx_runtime.journal.postgres.connecting import Address
from flowx_runtime.journal.postgres.connections import Connections
from flowx_runtime.journal.postgres.presence import PostgresPresence, Watching
from flowx_runtime.journal.presence import OnHint


class PostgresNodes:
    """Lets the nodes of a journal know of each other; see `flowx_runtime.journal.presence.HasPresence`."""

    _address: Address
    _schema: str
    _renewals: Connections
    _sql: Mapping[str, bytes]
    watching: Watching = Watching()

    def presence(self, owner: str, on_hint: OnHint) -> PostgresPresence:
        """The presence of a node, by the journal's `watching`."""
        return PostgresPresence(self._address, self._renewals, self._sql, self._schema, owner, on_hint, self.watching)
