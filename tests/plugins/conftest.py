"""What plugins of several kinds are tested with: a server on this machine, and a call without a run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from leadline.testing.context import FakeCall
from leadline.testing.servers import ScriptedServer, scripted_server


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """Serve scripted answers on loopback."""
    async with scripted_server() as server:
        yield server


@pytest.fixture
def call() -> FakeCall:
    """Give a call that keeps what it is told."""
    return FakeCall()


def make_pdf(
    pages: Sequence[Sequence[str]], title: str = "", catalog: str = "", page: str = "", more: Sequence[str] = ()
) -> bytes:
    """Return a PDF with these lines on its pages, entries of the catalog and of each page, and further objects."""
    kids = " ".join(f"{5 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>",
    ]
    for number, lines in enumerate(pages):
        drawn = "BT /F1 12 Tf 72 720 Td 14 TL " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
        resources = "/Resources << /Font << /F1 3 0 R >> >>"
        contents = f"/Contents {6 + 2 * number} 0 R"
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {resources} {contents} {page} >>")
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    return _file([*objects, *more])


def _file(objects: Sequence[str]) -> bytes:
    out, offsets = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    trailer = f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info 4 0 R >>\nstartxref\n{len(out)}\n%%EOF"
    return (out + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}").encode()


@pytest.fixture
def pdf() -> Callable[..., bytes]:
    """Give a maker of PDF files, by the lines on their pages."""
    return make_pdf
