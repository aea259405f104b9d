from leadline_cosines import Cosines

from leadline import records
from leadline.plugin import vector_store


@vector_store("Vectors in memory")
class MemoryStore(dict[str, Cosines]):
    async def put(self, request: records.VectorBatch, call: object, /) -> records.VectorCount:
        self.setdefault(request.collection, Cosines()).put(request)
        return records.VectorCount(passages=sum(len(one.vectors) for one in request.documents))

    async def remove(self, request: records.VectorRemoval, call: object, /) -> records.VectorCount:
        old = self.get(request.collection, Cosines())
        return records.VectorCount(passages=sum(len(old.pop(name, ())) for name in request.documents or tuple(old)))

    async def search(self, request: records.VectorQuery, call: object, /) -> records.VectorMatches:
        found = [one for name in request.collections for one in self.get(name, Cosines()).nearest(name, request.vector)]
        return records.VectorMatches(matches=tuple(sorted(found, key=lambda one: -one.score)[: request.limit]))

    async def describe(self, request: records.VectorListing, call: object, /) -> records.VectorCollection:
        return self.get(request.collection, Cosines()).contents()
