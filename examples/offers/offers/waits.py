"""How long this application waits. A duration is a business decision: it is read here, not in a flow."""

from datetime import timedelta
from typing import Final

COUNTERSIGNATURE: Final = timedelta(days=7)
SETTLING: Final = timedelta(days=1)
