"""The benchmark of recall, on invented data whose figures can be worked out by hand."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bench import metrics, recall
from bench.baselines import Bm25, Cosine
from bench.data_sets import Question, dia_ids, flat
from bench.systems import answer
from bench.vectors import Remembered

from nagori.testing import WordEmbedder


def run(folder: Path, form: str, path: Path, *more: str) -> dict[str, Any]:
    out = folder / "figures.json"
    recall.main(["--format", form, str(path), "--no-embedder", "--json", str(out), *more])
    figures: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return figures


def written(path: Path, whole: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole, ensure_ascii=False), encoding="utf-8")
    return path


# --- the five formats, from file to figures


def asked(question: str, category: int, *evidence: str) -> dict[str, object]:
    return {"question": question, "category": category, "evidence": list(evidence)}


LOCOMO = [
    {
        "sample_id": "conv-0",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a kitten called Miso."},
                {"speaker": "Bob", "dia_id": "D1:2", "text": "Lovely!", "blip_caption": "a red bicycle"},
            ],
            "session_2_date_time": "10:00 am on 1 June, 2023",
            "session_2": [
                {"speaker": "Bob", "dia_id": "D2:1", "text": "My violin lesson starts on Tuesday."},
                {"speaker": "Ann", "dia_id": "D2:2", "text": "Pottery makes me calm."},
            ],
            "session_3_date_time": "1:00 pm on 2 June, 2023",
        },
        "qa": [
            asked("Which kitten was adopted?", 4, "D1:1"),
            asked("Is there pottery, or a violin?", 1, "D2:1; D2:02"),
            asked("Who plays the violin?", 1, "D2:1", "D1:2"),
            asked("Whose bicycle is red?", 2, "D:1:2"),
            asked("What is not known?", 3, "D9:9", "D"),
            asked("Where did the kitten go?", 5, "D2:1"),
        ],
    }
]


def test_locomo_counts_questions_with_known_evidence_and_keeps_adversarial_ones_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = run(tmp_path, "locomo", written(tmp_path / "data.json", LOCOMO))
    assert (figures["dataset"], figures["n"], figures["left_out"]) == ("locomo", 4, 1)
    assert figures["overall"]["hit@5"] == 100
    assert {name: each["n"] for name, each in figures["categories"].items()} == {
        "single-hop": 1,
        "multi-hop": 2,
        "temporal": 1,
        "adversarial": 1,
        "durable facts": 1,
    }
    # By words, the turn of the image does not answer the third question, and nothing answers the last.
    words = figures["others"]["bm25"]
    assert words["overall"]["R@5"] == words["overall"]["R@20"] == 87.5
    assert words["overall"]["all@10"] == 75
    assert words["overall"]["hit@5"] == words["overall"]["MRR"] == 100
    assert words["categories"]["multi-hop"]["R@10"] == 75
    assert words["categories"]["adversarial"]["hit@10"] == 0
    low, high = words["overall"]["intervals"]["R@5"]
    assert 50 <= low < 87.5 < high <= 100
    assert "87.5 [" in capsys.readouterr().out


def test_limit_asks_only_the_first_questions(tmp_path: Path) -> None:
    figures = run(tmp_path, "locomo", written(tmp_path / "data.json", LOCOMO), "--limit", "1")
    assert list(figures["categories"]) == ["single-hop"]


def test_beam_flattens_gold_ids_and_leaves_summaries_out_of_the_overall_figures(tmp_path: Path) -> None:
    first = {"id": 0, "role": "user", "content": "The sprint ends in March.", "time_anchor": "March-15-2024"}
    second = {"id": 1, "role": "assistant", "content": "Use a queue for the mails."}
    third = {"id": 2, "role": "user", "content": "The budget is nine hundred."}
    batch = {"batch_number": 1, "turns": [[first, second], [third]]}
    questions = {
        "abstention": [{"question": "Which colour?"}],
        "knowledge_update": [{"question": "What budget?", "source_chat_ids": {"old": [1], "new": [[2]]}}],
        "information_extraction": [{"question": "When does the sprint end?", "source_chat_ids": [0]}],
        "summarization": [{"question": "Sum up the queue.", "source_chat_ids": [0, 1, 2]}],
    }
    written(tmp_path / "chats" / "1" / "chat.json", [batch])
    written(tmp_path / "chats" / "1" / "probing_questions.json", questions)
    for path in (tmp_path / "chats", tmp_path / "chats" / "1"):
        figures = run(tmp_path, "beam", path)
        assert (figures["n"], figures["left_out"]) == (2, 1)
        assert figures["overall"]["MRR"] == 100
        words = figures["others"]["bm25"]
        assert words["overall"]["R@5"] == 75
        assert words["categories"]["summarization"]["R@10"] == pytest.approx(33.33)


def test_jamem_says_how_often_the_newest_statement_comes_first(tmp_path: Path) -> None:
    def fact(question: str) -> dict[str, object]:
        change = {"evidence": ["S2:1"], "superseded": ["S1:1"]}
        return {"question": question, "category": "updated-fact", **change}

    old = {"id": "S1:1", "speaker": "森", "text": "大阪に住んでいます。"}
    new = {"id": "S2:1", "speaker": "森", "text": "札幌へ引っ越しました。"}
    talk = {
        "conversation_id": "conv-0",
        "sessions": [
            {"session_id": "S1", "date": "2026-01-12T20:15:00+09:00", "turns": [old]},
            {"session_id": "S2", "date": "2026-03-12T20:15:00+09:00", "turns": [new]},
        ],
        "questions": [
            fact("札幌はいつから？"),
            fact("大阪でしたか？"),
            fact("福岡ですか？"),
            {"question": "札幌の店は？", "category": "adversarial", "evidence": ["S2:1"]},
        ],
    }
    figures = run(tmp_path, "jamem", written(tmp_path / "jamem" / "conv-0.json", talk).parent)
    assert figures["n"] == 3
    words = figures["others"]["bm25"]
    assert words["overall"]["R@5"] == words["overall"]["newest_first"] == 33.33
    assert "newest_first" not in words["categories"]["adversarial"]
    assert words["overall"]["tokens"] == 9.1  # of 12.5 (the new one), 11.5 (the old one), 0 and 12.5
    assert figures["overall"]["cpu_ms"] > 0


def test_jsquad_looks_for_each_question_s_own_paragraph(tmp_path: Path) -> None:
    def paragraph(context: str, *questions: str) -> dict[str, object]:
        return {"context": context, "qas": [{"question": each} for each in questions]}

    rain = paragraph("梅雨は六月に来る。", "梅雨はいつ来るか。")
    snow = paragraph("札幌の雪は深い。", "雪が深いのはどこか。", "台風はどこへ行くか。")
    data = {"data": [{"paragraphs": [rain, snow]}, {"paragraphs": [rain]}]}
    figures = run(tmp_path, "jsquad", written(tmp_path / "data.json", data))
    assert figures["n"] == 4
    words = figures["others"]["bm25"]["overall"]  # nobody wrote of typhoons
    assert [words[name] for name in ("hit@5", "hit@10", "MRR")] == [75, 75, 75]
    assert figures["overall"]["MRR"] >= 75


def test_jsts_looks_for_the_other_half_of_similar_pairs(tmp_path: Path) -> None:
    pairs = [
        ("猫が眠る。", "猫が眠っています。", 4.8),
        ("犬が走る。", "犬が走っています。", 4.0),
        ("電車が来る。", "駅に人がいます。", 0.4),
    ]
    lines = [json.dumps({"sentence1": a, "sentence2": b, "label": label}) for a, b, label in pairs]
    path = tmp_path / "data.json"
    path.write_text("\n".join(lines), encoding="utf-8")
    figures = run(tmp_path, "jsts", path)
    assert (figures["n"], figures["overall"]["hit@5"], figures["overall"]["MRR"]) == (2, 100, 100)


def test_a_file_without_answerable_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no questions"):
        run(tmp_path, "jsquad", written(tmp_path / "data.json", {"data": []}))


# --- the parts


def test_evidence_is_read_however_it_is_written() -> None:
    assert dia_ids(["D8:6; D9:17", "D:11:26", "D30:05", "D"]) == {"D8:6", "D9:17", "D11:26", "D30:5"}
    assert list(flat({"a": [1, [2]], "b": None, "c": 3})) == [1, 2, 3]


def test_a_ranking_is_judged_by_where_its_gold_stands() -> None:
    found = ["a", "gold", "b", "c", "d", "e", "other", *"fghijklmnopqrst", "late"]
    judged = metrics.judge(found, Question("?", "any", frozenset({"gold", "other", "late", "never"})))
    assert judged == {
        "R@5": 25,
        "R@10": 50,
        "R@20": 50,
        "all@10": 0,
        "hit@5": 100,
        "hit@10": 100,
        "MRR": 50,
    }
    assert metrics.judge([], Question("?", "any", frozenset({"gold"})))["MRR"] == 0


@pytest.mark.parametrize(
    ("found", "right"),
    [(["x", "new", "old"], True), (["old", "new"], False), (["new"], True), (["old"], False), ([], False)],
)
def test_newest_first_asks_who_speaks_first(found: Sequence[str], right: bool) -> None:
    question = Question("?", "updated-fact", frozenset({"new"}), frozenset({"old"}))
    assert metrics.newest_first(found, question) is right


def test_an_interval_is_the_same_in_every_run_and_closes_on_certainty() -> None:
    assert metrics.interval([100.0] * 9) == [100, 100]
    values = [0.0, 100.0] * 50
    low, high = metrics.interval(values)
    assert metrics.interval(values) == [low, high]
    assert 38 < low < 43 < 57 < high < 62  # half, give or take twice the standard error of 5


def test_tokens_are_four_latin_characters_or_one_japanese() -> None:
    assert metrics.tokens("abcd漢字カナ") == 5


def test_pieces_of_one_message_count_once_where_the_best_stands() -> None:
    given = [("a", "12345678"), ("b", "1234"), ("a", "1234"), ("c", "1234")]
    whole = answer(given, 2, 0.0)
    assert (whole.found, whole.tokens) == (["a", "b"], 3)


def test_bm25_prefers_the_shorter_text_and_finds_nothing_by_other_words() -> None:
    index = Bm25(["cat dog", "cat"])
    assert (index.top("cat", 5), index.top("dog", 5), index.top("horse", 5)) == ([1, 0], [0], [])


def test_vectors_are_computed_once_in_their_life(tmp_path: Path) -> None:
    real = WordEmbedder()
    for _ in range(2):
        embedder = Remembered(real, tmp_path)
        vectors = embedder.embed_passages(["one", "two", "one"])
        assert vectors == WordEmbedder().embed_passages(["one", "two", "one"])
        assert Cosine(vectors[:2], embedder.dimension).top(embedder.embed_query("two"), 1) == [1]
        embedder.close()
    assert real.calls == 3  # two passages and, for itself, the question
