"""Files become documents, or are skipped with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sleuth.errors import BadInput
from sleuth.library.read import Document, Input, Unreadable, documents, listing, record


def read(path: Path) -> list[Document]:
    return list(documents(Input(path, path.name)))


def test_folders_are_walked_sorted_without_hidden_files_other_kinds_and_links_that_lead_out(tmp_path: Path) -> None:
    root, outside = tmp_path / "notes", tmp_path / "outside.txt"
    for name in ("b.txt", "a/z.md", "a/.hidden.txt", ".git/x.txt", "c.pdf", "d.JSONL"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    outside.write_text("secret")
    (root / "out.txt").symlink_to(outside)
    (root / "in.txt").symlink_to(root / "b.txt")
    assert [one.name for one in listing([root])] == ["notes/a/z.md", "notes/b.txt", "notes/d.JSONL"]


def test_a_missing_path_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="There is no file or folder"):
        listing([tmp_path / "nowhere"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_with_and_without_a_mark(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "tower.txt"
    path.write_bytes("Élan: 31 März 😀\r\nZwei.".encode(encoding))
    assert read(path) == [Document("tower.txt", "tower", "Élan: 31 März 😀\nZwei.")]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x89PNG\r\n\0\0abc", "binary"),
        ("Caf\xe9 au lait".encode("latin-1"), "not UTF-8"),
        (b"text" * 5000 + b"\0", "binary"),
        (b" \n ", "empty"),
        (b"\xff\xfea", "not UTF-16"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(content)
    with pytest.raises(Unreadable, match=reason):
        read(path)


def test_other_kinds_are_unreadable(tmp_path: Path) -> None:
    (tmp_path / "x.pdf").write_text("x")
    with pytest.raises(Unreadable, match=r"\.txt, \.md or \.jsonl"):
        read(tmp_path / "x.pdf")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Intro.\n\n## The *Tower* ##\n\nText.", "The *Tower*"),
        ("No heading here.", "my notes"),
        ("---\ntitle: 'From the top'\ntags: x\n---\nText.", "From the top"),
        ("---\nTwo rules\n---\n# Head\nText.", "Head"),
    ],
)
def test_a_markdown_title_is_its_first_heading_or_its_file_name(tmp_path: Path, text: str, title: str) -> None:
    path = tmp_path / "my_notes.md"
    path.write_text(text)
    (found,) = read(path)
    assert (found.title, found.text) == (title, text)


def test_records_keep_their_ids_and_bad_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    lines = [
        json.dumps({"id": "p1", "title": "One", "text": "First\u2028line."}, ensure_ascii=False),
        "not json",
        "",
        json.dumps({"title": "Two", "text": "Second."}),
        json.dumps({"id": 7, "text": "Untitled."}),
        json.dumps({"title": "Three", "sentences": ["One.", "Two."]}),
        json.dumps({"title": "No text"}),
        "[" * 100_000,
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert [(one.id, one.title, one.text) for one in read(path)] == [
        ("p1", "One", "First\u2028line."),
        ("pages.jsonl:4", "Two", "Second."),
        ("7", "", "Untitled."),
        ("pages.jsonl:6", "Three", "One. Two."),
    ]


def test_a_file_of_bad_records_only_says_what_is_wrong_with_the_first(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text('\n{"title": "T"}\nxx')
    with pytest.raises(Unreadable, match='line 2: no "text"'):
        read(path)


def test_half_a_surrogate_pair_in_a_record_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text('{"id": "\\ud800", "title": "T\\ud83d", "text": "A \\ud83d b."}')
    (found,) = read(path)
    assert (found.id, found.title, found.text) == ("?", "T?", "A ? b.")


def test_a_title_is_one_line(tmp_path: Path) -> None:
    row = {"title": "Tower\n\nQuestion: x\r\nAnswer:  y ", "text": "It stands."}
    assert record(json.dumps(row), "a:1").title == "Tower Question: x Answer: y"
