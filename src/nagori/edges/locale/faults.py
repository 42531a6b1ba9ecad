"""Sentences that others write, in Japanese: the parser of the command line, and what is wrong with settings.

They come as finished English sentences, so they are known by their form. One that is not known stays as it
is, whole and true.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What is matched in groups stays as it was written: names, values, paths.
PARSER: dict[str, str] = {
    r"No such command '(.+?)'\. Did you mean (.+)\?": "「{0}」というコマンドはありません。もしかして: {1}",
    r"No such command '(.+)'\.": "「{0}」というコマンドはありません",
    r"No such option: (\S+) \(Possible options: (.+)\)": "{0} というオプションはありません。もしかして: {1}",
    r"No such option: (\S+) Did you mean (.+)\?": "{0} というオプションはありません。もしかして: {1}",
    r"No such option: (.+)": "{0} というオプションはありません",
    r"Missing command\.": "コマンドがありません",
    r"Missing argument '(.+?)'\. Choose from:\s+(.+)": "{0} がありません。次から選んでください: {1}",
    r"Missing argument '(.+)'\.": "{0} がありません",
    r"Missing option '(.+)'\.": "{0} がありません",
    r"Got unexpected extra arguments?(?:\(s\))? \((.+)\)": "余分な引数があります: {0}",
    r"Option '(.+)' requires an argument\.": "{0} には値が必要です",
    r"Option '(.+)' does not take a value\.": "{0} に値は付けられません",
    r"Argument '(.+)' takes (\d+) values\.": "{0} には値が {1} 個必要です",
    r"Invalid value for '(.+?)': (.+)": "{0}: {1}",
    r"Invalid value: (.+)": "{0}",
}
VALUES: dict[str, str] = {
    r"(?:Value error, )?'(.*)' is not one of (.+?)\.?": "'{0}' は {1} のどれでもありません",
    r"Input should be (?:a valid integer|a valid int).*": "整数ではありません",
    r"'(.*)' is not a valid int(?:eger)?\.?": "'{0}' は整数ではありません",
    r"Input should be a valid number.*": "数ではありません",
    r"'(.*)' is not a valid float\.?": "'{0}' は数ではありません",
    r"Input should be greater than or equal to (.+)": "{0} 以上にしてください",
    r"Input should be less than or equal to (.+)": "{0} 以下にしてください",
    r"Input should be a valid boolean.*": "true か false にしてください",
    r"(?:File|Directory|Path) '(.+)' does not exist\.": "{0} はありません",
}
SETTINGS: dict[str, str] = {
    r"(.+): no such setting; did you mean (.+)\?": "{0}: そのような設定はありません。もしかして: {1}",
    r"(.+): no such setting": "{0}: そのような設定はありません",
    r"(.+): (.+) is not a table": "{0}: {1} は表ではありません",
    r"(.+): (.+) is not true or false": "{0}: {1} は true でも false でもありません",
    r"(.+): (.+) is not a whole number": "{0}: {1} は整数ではありません",
    r"(.+): (.+) is not a number": "{0}: {1} は数ではありません",
    r"(.+): (.+) is not a text": "{0}: {1} は文字列ではありません",
    r"(.+): (.+) is not a list of texts": "{0}: {1} は文字列の並びではありません",
    r"(.+): (.+) is not absolute": "{0}: {1} は絶対パスではありません",
    r"(.+): not a number": "{0}: 数ではありません",
    r"(.+): not in rising order": "{0}: 小さい順になっていません",
    r"(.+): (.+) is not below (.+)": "{0}: {1} は {2} より小さくありません",
    r"(.+): the sum is (.+), not 1": "{0}: 合計が {1} です（1 にしてください）",
    r"(.+): (.+) is none of (.+)": "{0}: {1} は {2} のどれでもありません",
    r"(.+): (.+) is below (.+)": "{0}: {1} は {2} より小さい値です",
    r"(.+): (.+) is above (.+)": "{0}: {1} は {2} より大きい値です",
}
ORIGINS = {"environment": "環境変数", "override": "指定"}


def parser_fault(message: str) -> str:
    """What the command line's parser complains about."""
    said = " ".join(message.split())
    for pattern, japanese in PARSER.items():
        if match := re.fullmatch(pattern, said):
            return japanese.format(*(_known(group, VALUES) for group in match.groups()))
    return _known(said, VALUES)


def setting_fault(fault: str) -> str:
    """What is wrong with a setting, and where it was set: `key: problem (origin)`."""
    match = re.fullmatch(r"(.*) \(((?:file|env|preset):.*|environment|override|)\)", fault, re.DOTALL)
    said, origin = (match[1], match[2]) if match else (fault, "")
    where = f"（{ORIGINS.get(origin, origin)}）" if origin else ""
    return _known(said, SETTINGS) + where


def usage(error: Any) -> str:
    """A complaint of the parser as it stands in a terminal: how the command is used, then what is wrong."""
    context = getattr(error, "ctx", None)
    lines = []
    if context is not None:
        lines.append("使い方: " + context.get_usage().partition(": ")[2])
        lines.append(f"詳しくは {context.command_path} {context.help_option_names[0]}\n")
    return "\n".join([*lines, f"nagori: {parser_fault(error.format_message())}"])


def _known(said: str, forms: Mapping[str, str]) -> str:
    for pattern, japanese in forms.items():
        if match := re.fullmatch(pattern, said):
            return japanese.format(*match.groups())
    return said
