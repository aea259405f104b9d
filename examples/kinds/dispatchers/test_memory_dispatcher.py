from leadline_memory_dispatcher import MemoryDispatcher

from leadline.testing.contracts import DispatcherContract


class TestMemoryDispatcher(DispatcherContract):
    tested = MemoryDispatcher
    turns = False
