"""How long this application waits. A duration is a business decision: it is read here, not in a flow."""

from datetime import timedelta
from typing import Final

from flowx_runtime import Backoff

OCR_POLLING: Final = Backoff.exponential_jitter("PT5S", "PT5M")
OCR_BUDGET: Final = timedelta(hours=4)
