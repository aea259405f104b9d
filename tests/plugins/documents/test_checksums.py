from __future__ import annotations

from pathlib import Path

from leadline.records import Evidence
from leadline_plugins.documents.text_index import IndexedPassage, IndexWriter, broken_file


def write(folder: Path) -> list[Path]:
    writer = IndexWriter(folder)
    passage = Evidence(id="", source_id="", quote="Tallow and rope.", span=(0, 16))
    writer.add([IndexedPassage("a", 0, "Title", passage)])
    writer.commit()
    writer.close()
    return [path for path in sorted(folder.iterdir()) if len(path.stem) == 32]


def test_written_and_empty_files_are_intact(tmp_path: Path) -> None:
    assert broken_file(tmp_path) == ""
    assert write(tmp_path / "texts")
    assert broken_file(tmp_path / "texts") == ""


def test_a_flipped_bit_in_any_file_is_seen(tmp_path: Path) -> None:
    for path in write(tmp_path):
        data = path.read_bytes()
        path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
        assert broken_file(tmp_path) == path.name
        path.write_bytes(data[:3])
        assert broken_file(tmp_path) == path.name
        path.write_bytes(data)


def test_leavings_of_a_killed_writer_do_not_matter(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / f"{'a' * 32}.store").write_bytes(b"half")
    assert broken_file(tmp_path) == ""
