from leadline_memory_store import MemoryStore

from leadline.testing.contracts import VectorStoreContract


class TestMemoryStore(VectorStoreContract):
    tested = MemoryStore
    lasting = False
