"""What makes two texts the same: nearly all their letters, and every number and every "not"."""

from __future__ import annotations

import re

from nagori.core.text import _MARKS, _PICTURE, normalise

SAME = 0.9  # resemblance from which two texts say the same thing
_SHINGLE = 4  # characters


def shingles(text: str) -> frozenset[str]:
    """Overlapping pieces of the letters and digits, with numbers and negations weighted up.

    A changed number or a "not" turns a long sentence into another statement while few letters change:
    each adds marks for a sixteenth of the text's length, enough to bring the resemblance below 0.9.
    """
    plain = normalise(text)
    bare = _letters(plain)
    pieces = {bare[at : at + _SHINGLE] for at in range(max(1, len(bare) - _SHINGLE + 1))} if bare else {plain}
    numbers = set(re.findall(r"[0-9]+(?:\.[0-9]+)?", bare))
    copies = len(pieces) // 16 + 1 if len(bare) < 4000 and len(numbers) < 32 else 1
    marks = [*numbers, f"not {_negations(plain, bare)}"]
    return frozenset(pieces.union(f"{mark} #{copy}" for mark in marks for copy in range(copies)))


def _letters(plain: str) -> str:
    """Normalised text without punctuation and spaces, except where they part or sign numbers."""
    plain = re.sub("(?<=[0-9]),(?=[0-9]{3}(?![0-9]))", "", plain)
    plain = re.sub(r"\b([cf])(\+\+|#)", lambda sign: sign[1] + ("pp" if sign[2] == "++" else "sharp"), plain)

    def keep(gap: re.Match[str]) -> str:
        after = plain[gap.end() : gap.end() + 1].isdigit()
        if after and plain[gap.start() - 1 : gap.start()].isdigit():
            return "." if gap[0] == "." else " "
        return "-" if after and gap[0].endswith((" -", " −")) else ""

    return re.sub(rf"(?:[^\w{_PICTURE}{_MARKS}$€£¥%°]|_)+", keep, plain)


def _negations(plain: str, bare: str) -> int:
    verbs = "do|does|did|is|are|was|were|ca|wo|could|should|would|has|have|had|must|need"
    english = rf"\b(?:not|no|never|none|without|cannot|(?:{verbs})n['’]?t)\b"
    return len(re.findall(english, plain)) + len(re.findall("な(?:い|く|かった)|ません|ずに", bare))


def resemblance(a: frozenset[str], b: frozenset[str]) -> float:
    """Jaccard index of two sets of shingles, 0 to 1."""
    return 1.0 if a == b else len(a & b) / len(a | b)


def alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two texts say the same thing; they are given by their shingles."""
    # Sets of very different size cannot be alike: most pairs are told apart without looking inside.
    return len(one) * SAME <= len(other) <= len(one) / SAME and resemblance(one, other) >= SAME
