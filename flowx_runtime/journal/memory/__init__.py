"""A journal in this process's memory: for tests, demos and the test host. Nothing survives the process."""

from flowx_runtime.journal.memory.journal import MemoryJournal

__all__ = ["MemoryJournal"]
