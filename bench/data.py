"""Memories to be measured with: sentences of one life in two languages, and vectors that cluster by topic."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.peers import DIMENSION, TOP

TOPICS = """
coffee コーヒー|tea 紅茶|the garden 庭|the deploy デプロイ|the database データベース|the budget 予算
the train 電車|the piano ピアノ|the cat 猫|the dog 犬|the recipe レシピ|the novel 小説|the film 映画
the camera カメラ|the bicycle 自転車|the river 川|the mountain 山|the festival 祭り|the exam 試験
the lecture 講義|the contract 契約|the invoice 請求書|the meeting 会議|the interview 面接|the roof 屋根
the vaccine 予防接種|the allergy アレルギー|the marathon マラソン|the kitchen 台所|the neighbour 隣人
the wedding 結婚式|the birthday 誕生日|the passport 旅券|the hotel ホテル|the printer プリンター
the keyboard キーボード|the password policy 認証方針|the backup バックアップ|the typhoon 台風|the snow 雪
"""
PEOPLE = """
Aoi 葵|Ben ベン|Chika 千佳|Daigo 大悟|Emma エマ|Fumi 文|Goro 五郎|Hana 花|Ines イネス|Jun 純|Kenta 健太
"""
PLACES = """
Kyoto 京都|Osaka 大阪|Sapporo 札幌|Berlin ベルリン|the office 会社|the library 図書館|the station 駅
"""
DEEDS = """
praised 褒めた|postponed 延期した|described 説明した|forgot 忘れた|changed 変えた|planned 計画した
"""
MOODS = "happily 嬉しそうに|reluctantly しぶしぶ|quietly 静かに|twice 二度|again また|at last ようやく"


def pairs(words: str) -> list[tuple[str, str]]:
    """'the cat 猫|the dog 犬' as [(English, Japanese), ...]."""
    split = (pair.rpartition(" ") for pair in words.strip().replace("\n", "|").split("|"))
    return [(english, japanese) for english, _, japanese in split]


def sentences(seed: int) -> Iterator[tuple[str, str, int]]:
    """(memory, a question about it, its topic) without end and without repeating; half of it Japanese."""
    draw = random.Random(seed)
    topics, seen = pairs(TOPICS), set()
    columns = [pairs(words) for words in (PEOPLE, PLACES, DEEDS, MOODS)]
    while True:
        topic, tongue, number = draw.randrange(len(topics)), draw.randrange(2), draw.randrange(1000, 100_000)
        what = topics[topic][tongue]
        who, where, did, how = (draw.choice(column)[tongue] for column in columns)
        if tongue == 0:
            text = f"{who} {how} {did} {what} near {where}, and noted the number {number}."
            question = f"What did {who} do about {what} near {where}, number {number}?"
        else:
            text = f"{who}は{where}の近くで{what}を{how}{did}。控えた番号は{number}。"
            question = f"{who}は{where}の近くで{what}をどうしたか。番号は{number}。"
        if question not in seen:
            seen.add(question)
            yield text, question, topic


def vectors_of(topics: list[int], seed: int) -> Iterator[tuple[Any, Any]]:
    """(memory's vector, its question's vector) per topic given, as unit float32.

    Around each topic's centre they spread in few directions, as those of real models do; independent noise
    in all 384 would make every neighbour equally far and approximate search needlessly hard.
    """
    import numpy

    draw, inner = numpy.random.default_rng(seed), 24
    count = len(pairs(TOPICS))
    centres = draw.standard_normal((count, DIMENSION)) / DIMENSION**0.5
    bases = draw.standard_normal((count, inner, DIMENSION)) / (inner * DIMENSION) ** 0.5
    for topic in topics:
        spread = draw.standard_normal(inner)
        near = spread + 0.35 * draw.standard_normal(inner)
        noise = draw.standard_normal((2, DIMENSION)) * (0.1 / DIMENSION**0.5)
        both = centres[topic] + numpy.stack([spread, near]) @ bases[topic] + noise
        both /= numpy.linalg.norm(both, axis=1, keepdims=True)
        memory, question = both.astype("<f4")
        yield memory, question


@dataclass(frozen=True)
class Data:
    """The prepared memories and questions; their vectors lie in the folder, in the same order."""

    folder: Path
    texts: list[str]
    queries: list[str]


def prepare(folder: Path, rows: int, queries: int, asked_of: int, seed: int) -> Data:
    """Write everything the subjects will read; the questions are about memories of the smallest store."""
    import numpy

    source = sentences(seed)
    made = [next(source) for _ in range(rows)]
    both = list(vectors_of([topic for _, _, topic in made], seed))
    targets = random.Random(seed).sample(range(asked_of), queries)
    data = Data(folder, [text for text, _, _ in made], [made[row][1] for row in targets])
    folder.mkdir()
    write(folder / "texts", data.texts, numpy.stack([vector for vector, _ in both]).tobytes())
    write(folder / "queries", data.queries, numpy.stack([both[row][1] for row in targets]).tobytes())
    for number, row in enumerate(targets):
        (folder / f"query-{number}.txt").write_text(made[row][1], encoding="utf-8")
        (folder / f"query-{number}.f32").write_bytes(both[row][1].tobytes())
    return data


def write(stem: Path, texts: list[str], vectors: bytes) -> None:
    """Texts and their vectors as `bench/peers.py` reads them."""
    stem.with_suffix(".json").write_text(json.dumps(texts, ensure_ascii=False), encoding="utf-8")
    stem.with_suffix(".f32").write_bytes(vectors)


def nearest(data: Data, rows: int) -> list[list[str]]:
    """The exact top 10 of every question among the first rows, by comparing with all of them."""
    import numpy

    def load(name: str) -> Any:
        return numpy.fromfile(data.folder / name, "<f4").reshape(-1, DIMENSION)

    scores = load("queries.f32") @ load("texts.f32")[:rows].T
    order = numpy.argsort(-scores, axis=1)[:, :TOP]
    return [[data.texts[row] for row in ranked] for ranked in order]
