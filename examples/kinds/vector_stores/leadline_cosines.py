from math import hypot

from leadline.plugin import Unsupported, VectorBatch, VectorCollection, VectorMatch


class Cosines(dict[str, tuple[tuple[float, ...], ...]]):
    def contents(self) -> VectorCollection:
        size = next((len(vector) for vectors in self.values() for vector in vectors), 0)
        return VectorCollection(documents={name: len(vectors) for name, vectors in self.items()}, size=size)

    def check(self, size: int) -> None:
        if self.contents().size not in (0, size):
            raise Unsupported(f"vectors of {size} numbers, not {self.contents().size}")

    def put(self, request: VectorBatch) -> None:
        added = Cosines((one.document, one.vectors) for one in request.documents)
        self.check(added.contents().size)
        self.update(added)

    def nearest(self, collection: str, asked: tuple[float, ...]) -> list[VectorMatch]:
        self.check(len(asked))
        rows = {(name, place): one for name, vectors in self.items() for place, one in enumerate(vectors)}
        near = {k: sum(map(float.__mul__, asked, one)) / (hypot(*asked) * hypot(*one) or 1) for k, one in rows.items()}
        return [VectorMatch(collection=collection, document=d, passage=p, score=n) for (d, p), n in near.items()]
