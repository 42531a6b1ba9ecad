"""The estimate of tokens is not below any real vocabulary, whatever the text is made of."""

from __future__ import annotations

from itertools import cycle, islice

import pytest

from nagori.adapters.tokens import open_counter
from nagori.language.tokens import estimate_tokens

MODELS = ("cl100k", "o200k", "llama-3")


def drawn(first: int, last: int) -> str:
    """Characters of a block in no order, with a blank after every seventh."""
    chars = (chr(first + 37 * n % (last - first + 1)) for n in cycle(range(last - first + 1)))
    return "".join(char + " " * (n % 7 == 6) for n, char in enumerate(islice(chars, 300)))


STRANGE = {
    "Finnish compounds": "lentokonesuihkuturbiinimoottoriapumekaanikkoaliupseerioppilas " * 4,
    "Hungarian compounds": "megszentségteleníthetetlenségeskedéseitekért " * 4,
    "Icelandic compounds": "vaðlaheiðarvegavinnuverkfærageymsluskúrslyklakippuhringurinn " * 4,
    "Turkish compounds": "muvaffakiyetsizleştiricileştiriveremeyebileceklerimizdenmişsinizcesine " * 4,
    "Russian compounds": "превысокомногорассмотрительствующий рентгеноэлектрокардиографического " * 4,
    "letters in no order": "qzjxkvwpfhgbdnlmtrscyaeiou" * 8,
    "traditional Chinese": "我們決定下週五發布新版本，因為審計人員星期一會來。請記得備份資料庫。" * 4,
    "rare Chinese": drawn(0x4E00, 0x9FFF),
    "rare Chinese, second block": drawn(0x3400, 0x4DBF),
    "rare Korean": drawn(0xAC00, 0xD7A3),
    "cuneiform": drawn(0x12000, 0x12399),
    "private use": drawn(0xE000, 0xF8FF),
    "Coptic letters": drawn(0x3E2, 0x3EF),
    "letters of Sindhi and Kurdish": drawn(0x6B0, 0x6B9),
    "Yi": drawn(0xA000, 0xA48C),
    "Ethiopic": drawn(0x1200, 0x1248),
    "mathematical letters": drawn(0x1D400, 0x1D454),
    "squared signs": drawn(0x3300, 0x33FF),
    "wide letters": "ＡＢＣ１２３　ｘｙｚ：２０２６年１１月" * 8,
}


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("model", MODELS)
def test_strange_texts_are_not_estimated_below_a_vocabulary(kind: str, model: str) -> None:
    pytest.importorskip("splintr", reason="the vocabularies are not installed")
    assert estimate_tokens(STRANGE[kind]) >= open_counter(model)(STRANGE[kind])
