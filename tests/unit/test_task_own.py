"""A user's own questions: every fault is named by line, and no bytes bring anything else than questions or `BadInput`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.bench import tasks
from sleuth.bench.questions import as_row, from_row
from sleuth.errors import BadInput

LINES = """{"question": "Who built it?", "answers": ["Ada Orn", "A. Orn"], "supporting": ["Oma Mill"], "type": "easy"}

{"question": "When?", "answer": 1950, "id": 7}
"""
BITS = st.sampled_from(
    [b"{", b"}", b"[", b"]", b'"question"', b":", b'"x"', b",", b"\n", b"question", b"answer", b"answers", b"\t", b";", b"1",
     b'"', b"null", b"|", b"\xef\xbb\xbf", b"\xff\xfe", b"\\ud800", b'"answers"', b'"id"', b"\r", b"\0", b" ", b"1" * 5000]
)  # fmt: skip


def written(folder: Path, name: str, text: str, encoding: str = "utf-8") -> Path:
    file = folder / name
    file.write_bytes(text.encode(encoding))
    return file


def test_lines_give_questions_with_gold_and_ids(tmp_path: Path) -> None:
    task = tasks.load(written(tmp_path, "mine.jsonl", LINES), cache=tmp_path)
    first, second = task.questions
    assert (task.name, task.kind, task.corpus) == ("mine", "question", None)
    assert (first.answers, first.supporting, first.type) == (("Ada Orn", "A. Orn"), ("Oma Mill",), "easy")
    assert (second.id, second.answers) == ("7", ("1950",))
    assert first.id.startswith("q-")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", json.dumps([{"question": "Who?", "answers": ["Ada", "Orn"]}])),
        ("a.csv", "question,answers\nWho?,Ada | Orn\n"),
        ("a.csv", 'Question;Answers\r\nWho?;"[""Ada"", ""Orn""]"\r\n'),
        ("a.tsv", "id\tquestion\tanswers\n\tWho?\tAda|Orn\n"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_lists_and_tables_give_the_same(tmp_path: Path, name: str, text: str, encoding: str) -> None:
    (question,) = tasks.load(written(tmp_path, name, text, encoding)).questions
    assert question.text == "Who?"
    assert question.answers == ("Ada", "Orn")
    assert tasks.read_questions(tmp_path / name) == [(question.id, "Who?")]


def test_an_answer_column_is_one_answer_bars_and_all(tmp_path: Path) -> None:
    (question,) = tasks.load(written(tmp_path, "a.csv", "question,answer\nWhat is it?,a|b\n")).questions
    assert question.answers == ("a|b",)


def test_every_bad_line_is_named_with_its_column(tmp_path: Path) -> None:
    text = '{"question": "A?", "answers": ["x"]}\n{"answers": ["x"]}\n{"question": "B?"}\nrubbish\n{"question": "C?", "answers": {}}\n'
    with pytest.raises(BadInput) as caught:
        tasks.load(written(tmp_path, "m.jsonl", text))
    said = str(caught.value)
    assert 'line 2: "question" is missing' in said
    assert 'line 3: "answers" (or "answer") is missing' in said
    assert "line 4: not JSON" in said
    assert 'line 5: "answers" is not a list of texts' in said
    assert [number for number, _ in caught.value.details["lines"]] == [2, 3, 4, 5]


def test_a_table_is_told_what_is_wrong_with_it(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match='names no column "question"'):
        tasks.read_questions(written(tmp_path, "a.csv", "frage,antwort\nWer?,Ada\n"))
    with pytest.raises(BadInput, match="line 3: 3 columns, and the first line names 2: put quotes"):
        tasks.load(written(tmp_path, "a.csv", "question,answer\nA?,b\nWho, then?,Ada\n"))
    with pytest.raises(BadInput, match="line 3"):
        tasks.load(written(tmp_path, "a.csv", 'question,answer\n"A\nB?",\n'))


def test_questions_to_ask_need_no_answers_and_keep_their_ids_when_others_come(tmp_path: Path) -> None:
    few = tasks.read_questions(
        written(tmp_path, "q.jsonl", '{"question": "A?"}\n{"question": "A?"}\n{"question": "B?", "id": "b"}\n')
    )
    more = tasks.read_questions(written(tmp_path, "q.csv", "question,id\nNew?,\nA?,\nA?,\nB?,b\n"))
    assert set(few) < set(more)
    assert len(dict(few)) == 3
    with pytest.raises(BadInput, match=r'line 1: "question" is missing; line 3: .*the id "b" stands twice'):
        tasks.read_questions(
            written(tmp_path, "q.jsonl", '{"id": 1}\n{"question": "B?", "id": "b"}\n{"question": "C?", "id": "b"}\n')
        )


def test_claims_of_ones_own_have_their_answers_as_labels(tmp_path: Path) -> None:
    text = "question,answer,kind\nIt rains.,TRUE,claim\nIt snows.,FALSE,claim\n"
    task = tasks.load(written(tmp_path, "c.csv", text))
    assert (task.kind, task.labels, task.metrics[0]) == ("claim", ("TRUE", "FALSE"), "label")
    with pytest.raises(BadInput, match="mixes claims with questions"):
        tasks.load(written(tmp_path, "c.csv", text + "Who?,Ada,question\n"))


def test_ones_own_questions_can_be_given_passages(tmp_path: Path) -> None:
    corpus = written(tmp_path, "p.jsonl", '{"id": "p1", "title": "Oma Mill", "text": "Ada Orn built it."}\n')
    task = tasks.load(written(tmp_path, "mine.jsonl", LINES), corpus=corpus, cache=tmp_path / "c")
    assert [question.documents for question in task.questions] == [("p1",), ()]


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv", "x.tsv"])
@given(st.one_of(st.binary(max_size=80), st.lists(BITS, max_size=14).map(b"".join)))
def test_any_bytes_are_questions_or_bad_input(name: str, tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / f"any-{name}"
    file.write_bytes(data)
    for read in (tasks.read_questions, lambda path: tasks.load(path).questions):
        try:
            found = read(file)
        except BadInput:
            continue
        assert found
        json.dumps(found[0] if isinstance(found, list) else as_row(found[0]), ensure_ascii=False).encode()


@given(st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1)), min_size=1, max_size=5))
def test_what_was_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]) -> None:
    pairs = [(asked, right) for asked, right in pairs if asked.strip() and right.strip()]
    if not pairs or any("\0" in text for pair in pairs for text in pair):
        return
    file = tmp_path_factory.getbasetemp() / "again.jsonl"
    file.write_text("".join(json.dumps({"question": a, "answers": [b]}) + "\n" for a, b in pairs), encoding="utf-8")
    questions = tasks.load(file).questions
    assert [(one.text, one.answers) for one in questions] == [(a.strip(), (b.strip(),)) for a, b in pairs]
    assert all(from_row(json.loads(json.dumps(as_row(one)))) == one for one in questions)


def test_a_missing_or_too_large_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sleuth.bench.tasks import own

    with pytest.raises(BadInput, match="cannot be read"):
        tasks.read_questions(tmp_path / "none.jsonl")
    with pytest.raises(BadInput, match="cannot be read"):
        tasks.read_questions(tmp_path)
    monkeypatch.setattr(own, "MOST_BYTES", 10)
    with pytest.raises(BadInput, match="larger than"):
        tasks.read_questions(written(tmp_path, "big.jsonl", LINES))
