"""Every format of `bench.secrets` is redacted, alone and in sentences; ordinary text with hashes is not."""

from random import Random

import pytest
from bench.secrets import AROUND, BEHIND, LABELLED, ORDINARY, SHAPED, draw, is_found, ordinary, secrets

from nagori.language.redaction import redact_secrets

FRAMES = [frame for frames in AROUND.values() for frame in frames]


@pytest.mark.parametrize("name", SHAPED)
def test_a_format_with_a_shape_is_found_with_and_without_words_around_it(name: str) -> None:
    rng = Random(11)
    for frame in FRAMES:
        secret, parts = draw(SHAPED[name], rng)
        text, kinds = redact_secrets(frame.format(secret))
        assert is_found(parts, text), text
        assert kinds
        assert redact_secrets(text) == (text, ())


@pytest.mark.parametrize("name", LABELLED)
def test_a_value_without_a_shape_is_found_by_its_label(name: str) -> None:
    template, labels = LABELLED[name]
    rng = Random(11)
    for frames in BEHIND.values():
        for frame in frames:
            value, parts = draw(template, rng)
            text, _ = redact_secrets(frame.format(*labels, v=value))
            assert is_found(parts, text), text
            assert redact_secrets(text) == (text, ())


@pytest.mark.parametrize("frame", ORDINARY)
def test_hashes_identifiers_and_base64_are_no_secrets(frame: str) -> None:
    rng = Random(11)
    for _ in range(5):
        text, _ = draw(frame, rng)
        assert redact_secrets(text) == (text, ())


def test_fresh_secrets_and_texts_keep_the_figures() -> None:
    rng = Random()  # another sample each time; the shares are far from their limits
    made, plain = secrets(1, rng), ordinary(4, rng)
    missed = [text for _, _, text, parts in made if not is_found(parts, redact_secrets(text)[0])]
    alarms = [text for _, text in plain if redact_secrets(text)[1]]
    assert len(missed) <= 0.02 * len(made), missed
    assert len(alarms) <= 0.005 * len(plain), alarms


def test_a_secret_that_is_left_is_noticed() -> None:
    secret, parts = draw(SHAPED["npm"], Random(1))
    assert not is_found(parts, f"kept: {secret}")
    assert not is_found(parts, f"kept in part: {secret[10:24]}")
    assert is_found(parts, "kept: [secret:npm]")
    assert not is_found(["4821"], "the PIN is 4821")


@pytest.mark.parametrize(
    "text",
    [
        "店のWi-Fiのパスワード Hinata-Kz#4821wq に変わったんだった",
        "パスワードHinata#4821wqに変更した",
        "パスワード「Hinata#4821wq」でお願い",
        "guest wifi password Hinata-Kz#4821wq, it is on the fridge",
        "new token hK7qP2xW9dR4 in the file",
    ],
)
def test_a_value_right_behind_its_label_needs_no_verb(text: str) -> None:
    redacted, kinds = redact_secrets(text)
    assert kinds == ("password",)
    assert "4821" not in redacted
    assert "hK7q" not in redacted


@pytest.mark.parametrize(
    "text",
    [
        "パスワード argon2id でハッシュ化する",
        "トークン gpt-4o-mini-2024 の上限",
        "the password sha256-hash is stored",
        "token JWT2024 expired",
        "secret API_V2_KEY is missing",
        "password field type=password2",
    ],
)
def test_a_word_right_behind_a_label_is_no_secret_by_itself(text: str) -> None:
    assert redact_secrets(text) == (text, ())
