"""The same task under Inspect AI and under the bench: the same answers, the same traces but for time, the same scores."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import anyio
import pytest
from tests.support.stub_server import StubServer

from sleuth.app import ask
from sleuth.bench import metrics, tasks
from sleuth.bench.record import load
from sleuth.errors import BadInput
from sleuth.library import index
from sleuth.models.script import Script

inspect_ai = pytest.importorskip("inspect_ai", reason="the extra `inspect` is not installed")
inspect_tasks = pytest.importorskip("sleuth.inspect_tasks")

pytestmark = pytest.mark.filterwarnings("ignore")  # of Inspect's own dependencies

ROWS = [
    {
        "id": "a",
        "question": "When was the Eiffel Tower completed?",
        "answers": ["1889"],
        "supporting": ["Eiffel Tower"],
    },
    {"id": "b", "question": "Who designed the Eiffel Tower?", "answers": ["Stephen Sauvestre"]},
    {"id": "c", "question": "In which city is the Eiffel Tower?", "answers": ["Paris"], "supporting": ["Eiffel Tower"]},
]
REPLIES = {"completed": "1889", "designed": "Gustave Eiffel", "city": "in Paris"}
PAGE = "The Eiffel Tower was completed in 1889. It stands in Paris and was designed by Stephen Sauvestre."


def replied(prompt: str) -> str:
    """By the question in the prompt's end, where the examples are past."""
    return max((prompt.rfind(word), said) for word, said in REPLIES.items())[1]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("SLEUTH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "Eiffel Tower.txt").write_text(PAGE)
    index([tmp_path / "notes"], tmp_path / "library")
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path


def evaluated(home, strategy: str = "retrieve-then-read"):
    def said(messages, tools, choice, config):
        text = replied("".join(each.text for each in messages))
        output = inspect_ai.model.ModelOutput.from_content("mockllm/model", text)
        output.usage = inspect_ai.model.ModelUsage(input_tokens=40, output_tokens=2, total_tokens=42)
        return output

    names = "em,f1,recall_read"
    told = inspect_tasks.bench(
        str(home / "questions.jsonl"), strategy, library=str(home / "library"), metrics=names, model="inspect"
    )
    (log,) = inspect_ai.eval(
        told,
        model=inspect_ai.model.get_model("mockllm/model", custom_outputs=said),
        display="none",
        log_dir=str(home / "logs"),
    )
    assert log.status == "success", log.error
    return log


def test_inspect_and_the_bench_give_the_same_scores(home):
    log = evaluated(home)
    questions = {question.id: question for question in tasks.load(home / "questions.jsonl").questions}
    assert {sample.id for sample in log.samples} == questions.keys()
    for sample in log.samples:
        trace = home / f"{sample.id}.jsonl"
        script = Script(lambda request: replied("".join(each.content for each in request.messages)))
        answer = ask(
            questions[sample.id].text,
            strategy="retrieve-then-read",
            model=script,
            library=str(home / "library"),
            trace=trace,
        )
        (score,) = sample.scores.values()
        assert score.answer == answer.text == sample.output.completion
        ours = {
            each.name: each.score(load(trace), questions[sample.id])
            for each in metrics.find(["em", "f1", "recall_read"])
        }
        theirs = {name: None if math.isnan(value) else value for name, value in score.value.items()}
        assert theirs == ours
    means = {score.name: score.metrics["mean"].value for score in log.results.scores}
    assert means["em"] == pytest.approx(1 / 3)
    assert means["f1"] == pytest.approx((1 + 0 + 2 / 3) / 3)


def test_the_trace_is_in_the_log_and_the_notes_in_its_transcript(home):
    log = evaluated(home, "link-then-read")
    for sample in log.samples:
        record = anyio.run(inspect_tasks.recorded, sample.store[inspect_tasks.TRACE])
        assert record.question == sample.input
        told = [event.data["text"] for event in sample.events if event.event == "info" and event.source == "sleuth"]
        assert told == [note.text for note in record.notes]


def test_inspects_own_command_runs_the_task_on_a_model_of_sleuths(home):
    command = [sys.executable, "-m", "inspect_ai", "eval", f"{inspect_tasks.__file__}@bench", "--display", "plain"]
    with StubServer(reply=lambda body: replied(body["prompt"])) as server:
        given = [
            f"task={home}/questions.jsonl",
            f"library={home}/library",
            "strategy=link-then-read",
            f"model={server.url}#stub",
        ]
        done = subprocess.run(
            [*command, *(word for each in given for word in ("-T", each))], capture_output=True, text=True, timeout=100
        )
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = (home / "logs").glob("*.eval")
    log = inspect_ai.log.read_eval_log(str(file))
    assert log.status == "success"
    assert {sample.id: sample.output.completion for sample in log.samples} == {
        "a": "1889",
        "b": "Gustave Eiffel",
        "c": "in Paris",
    }
    assert all(any(event.event == "info" for event in sample.events) for sample in log.samples)


def test_a_strategy_that_judges_no_claims_is_refused_and_the_others_are_told():
    with pytest.raises(BadInput, match="judges no claims"):
        inspect_tasks.fitted("self-ask", "claim")
    assert inspect_tasks.fitted("react:paper", "claim").params == {"task": "claim"}
    assert inspect_tasks.fitted("self-ask", "question").params == {}
