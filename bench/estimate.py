"""The estimate of tokens beside real vocabularies: `python -m bench.estimate [--vocabularies a,b]`.

For every kind of text: the estimate as a multiple of the true count, by vocabulary. Below 1.0 a window would
be sent that is over its budget. The texts were written for this benchmark, are drawn from a fixed seed, or
are modules of the standard library; the prices were solved for other texts. The last rows are means: over
the twelve kinds that agents see most, and over all.
"""

# ruff: noqa: E501
# Because a text is as it is.

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

from bench.report import python, table, write_json

from nagori.adapters.tokens import open_counter
from nagori.language.tokens import estimate_tokens

VOCABULARIES = ("cl100k", "o200k", "llama-3", "deepseek-3")

WRITTEN = {
    "English talk": """
        Hey, did you get the parcel yet? I think they left it with the neighbour, the one with the red door.
        No idea, I was out all day. Let me check when I'm home. By the way, are we still on for Thursday? I
        could bring the board game, and maybe some of that bread you liked. Sure, sounds good! But I have to
        leave at nine, the kids have school on Friday. Oh, and could you ask Tom whether he still has my
        drill? He borrowed it in March and I really need it for the shelves. Haha, good luck with that.
    """,
    "English prose": """
        The harbour was built in the nineteenth century, when steamships replaced the sailing vessels that had
        carried grain along the coast. Its granite walls, quarried a few miles inland, have needed almost no
        repair, although the wooden piers were replaced twice. Historians disagree about the reasons for the
        decline of the port: some emphasise the opening of the railway, others point to the gradual silting
        of the estuary, which made dredging unaffordable for a municipality with limited revenue.
    """,
    "Japanese talk": """
        ねえ、昨日の荷物もう届いた？隣の人が預かってくれたみたいだよ。えっ、そうなの？あとで聞いてみるね。
        ところで木曜日はまだ大丈夫？私、ケーキを焼いていこうかなって思ってるんだけど。いいね、楽しみ！でも
        九時には帰らないといけないんだ、次の日が早いから。了解です。じゃあ駅前で六時に待ち合わせしようか。
        うん、それでお願い。あ、そうだ、田中さんに貸したドリル、まだ返ってきてないよね？棚を付けたいんだけど。
    """,
    "Japanese documents": """
        本書は、社内システムにおける障害発生時の対応手順を定めるものである。障害を検知した担当者は、直ちに
        監視画面で影響範囲を確認し、三十分以内に責任者へ報告しなければならない。復旧作業に先立ち、データベース
        の整合性を検証し、必要に応じて直近のバックアップから復元すること。作業記録は所定の様式に従って保存し、
        原因の分析結果とともに翌営業日までに提出する。なお、顧客への通知は広報部門が一元的に行うものとする。
    """,
    "Half-width kana": """
        ﾃﾞｰﾀﾍﾞｰｽ ｼｽﾃﾑ ｴﾗｰ ｶﾞ ﾊｯｾｲ ｼﾏｼﾀ｡ ﾌﾘｺﾐ ｶﾌﾞｼｷｶﾞｲｼｬ ﾔﾏﾀﾞｼｮｳｼﾞ ﾄｳｷｮｳﾄ ﾁﾖﾀﾞｸ ﾏﾙﾉｳﾁ
        ｺｸﾞﾁｻﾞﾝﾀﾞｶ ﾋｷｵﾄｼ ﾃﾞﾝｷﾘｮｳｷﾝ ｽｲﾄﾞｳﾘｮｳｷﾝ ｹｲﾀｲﾃﾞﾝﾜ ｸﾚｼﾞｯﾄｶｰﾄﾞ ﾎｹﾝﾘｮｳ ﾃｽｳﾘｮｳ
    """,
    "German": """
        Die Bundesverfassungsgerichtsentscheidung wurde gestern veröffentlicht. Nach Auffassung der Richterinnen
        müssen Krankenversicherungsbeiträge künftig anders berechnet werden, weil die bisherige
        Beitragsbemessungsgrenze kinderreiche Familien benachteiligt. Der Gesetzgeber hat bis Jahresende Zeit,
        eine verfassungsgemäße Neuregelung zu beschließen. Wirtschaftsverbände äußerten Zweifel an der
        Umsetzbarkeit, während Wohlfahrtsorganisationen das Urteil ausdrücklich begrüßten.
    """,
    "Finnish": """
        Tietojärjestelmän käyttöönotto viivästyi, koska palvelimien asennuksessa ilmeni odottamattomia ongelmia.
        Työntekijöille järjestettiin koulutustilaisuuksia, joissa käytiin läpi uuden ohjelmiston tärkeimmät
        ominaisuudet. Kaupunginhallitus käsittelee talousarviota seuraavassa kokouksessaan, ja asukkailta
        pyydetään lausuntoja liikennejärjestelyistä. Syksyllä sienestäjät löysivät metsistä runsaasti
        kantarelleja ja suppilovahveroita, vaikka kesä oli poikkeuksellisen kuiva.
    """,
    "French and Spanish": """
        La réunion a été reportée à jeudi parce que plusieurs collègues étaient malades. Nous devrons relire le
        rapport avant la fin de la semaine et vérifier les chiffres du dernier trimestre. Est-ce que tu peux
        m'envoyer la version corrigée ? El ayuntamiento anunció ayer que las obras de la plaza empezarán en
        otoño. Los vecinos piden más árboles y menos coches, aunque algunos comerciantes temen perder clientes.
        ¿Podrías decirme a qué hora llega el tren de mañana?
    """,
    "Polish, Czech, Hungarian, Turkish": """
        Wczoraj wieczorem pojechaliśmy nad jezioro, chociaż prognoza zapowiadała burzę z gradem. Příští týden
        navštívíme babičku, která bydlí nedaleko od řeky, a opravíme jí střechu. A könyvtár hétfőn zárva tart,
        ezért a kölcsönzött könyveket kedden visszük vissza. Toplantı öğleden sonraya ertelendi, çünkü
        müşterilerin çoğu trafikte kalmıştı; değişiklikleri akşam göndereceğim.
    """,
    "Russian": """
        Вчера вечером мы обсуждали новый график поставок, но окончательного решения так и не приняли. Склад
        переполнен, а грузовики приходят только по вторникам. Пожалуйста, пришлите исправленную таблицу до
        конца недели, чтобы бухгалтерия успела всё проверить. Соседка рассказала, что на реке уже тронулся лёд.
    """,
    "Chinese": """
        昨天下午我们讨论了新的供货计划，但是还没有做出最后的决定。仓库已经满了，而卡车只在星期二来。请在周末之前
        把修改后的表格发给我，这样会计部门才有时间核对。系统升级将于今晚十点开始，期间所有服务暂停使用，给您带来
        不便敬请谅解。隔壁的老师说，河里的冰已经开始融化了，再过几天就能划船。
    """,
    "Korean": """
        어제 저녁에 새로운 납품 일정을 논의했지만 아직 최종 결정을 내리지 못했습니다. 창고는 이미 가득 찼고 트럭은
        화요일에만 옵니다. 회계팀이 확인할 시간이 있도록 이번 주말까지 수정된 표를 보내 주세요. 시스템 점검은 오늘 밤
        열 시에 시작되며 그동안 모든 서비스를 이용할 수 없습니다.
    """,
    "Arabic and Hebrew": """
        ناقشنا مساء أمس جدول التسليم الجديد لكننا لم نتخذ قرارا نهائيا بعد. المستودع ممتلئ والشاحنات لا تأتي إلا
        يوم الثلاثاء. من فضلك أرسل الجدول المعدل قبل نهاية الأسبوع. אתמול בערב דנו בלוח הזמנים החדש, אבל עדיין לא
        קיבלנו החלטה סופית. המחסן מלא והמשאיות מגיעות רק ביום שלישי.
    """,
    "Hindi and Thai": """
        कल शाम हमने नई आपूर्ति योजना पर चर्चा की, लेकिन अंतिम निर्णय अभी नहीं हुआ है। गोदाम भरा हुआ है और ट्रक केवल
        मंगलवार को आते हैं। कृपया सप्ताह के अंत तक संशोधित तालिका भेज दें। เมื่อวานตอนเย็นเราคุยกันเรื่องแผนการจัดส่งใหม่
        แต่ยังไม่ได้ตัดสินใจขั้นสุดท้าย คลังสินค้าเต็มแล้ว และรถบรรทุกมาเฉพาะวันอังคารเท่านั้น
    """,
    "Emoji and signs": """
        Done 🎉🎉🎉 thanks a lot!! 👍🏽 see you tomorrow 😊 ☀️🏖️ 😂😂 what a day 🤷‍♀️ ➡️ next: 🚀 launch ✅ tests ❌ docs ⚠️ later
        → α ≤ β, ∑xᵢ ≈ 3.14 ± 0.02 °C · “quotes” – dashes — ellipsis… ★★★☆☆ £20 €35 ¥4,000 №7 ½ ¾ © ®
    """,
    "Markdown": """
        ## Release checklist

        1. **Freeze** the branch (`release/2.4`) and tell the team.
        2. Run the [smoke tests](https://ci.example.org/job/smoke?branch=release%2F2.4).
        3. Update `CHANGELOG.md`:
           - *added*: `--dry-run`
           - *fixed*: crash when `config.toml` is empty (#1482)

        | step | owner | state |
        |------|-------|-------|
        | build | Ana | ✅ |
        | sign  | Raj | ⏳ |

        > Note: never publish from a laptop.
    """,
}


def numbers(draw: Random) -> str:
    rows = ([f"{draw.uniform(-1000, 1000):.4f}" for _ in range(8)] for _ in range(40))
    return "\n".join(",".join(row) for row in rows)


def table_of_blanks(draw: Random) -> str:
    rows = (
        f"{draw.choice(('api', 'worker', 'scheduler')):<24}{draw.randint(0, 99999):>12}{draw.choice('RSDZ'):>16}"
        for _ in range(60)
    )
    return "\n".join(rows)


def compact_json(draw: Random) -> str:
    items = [
        {
            "id": number,
            "name": f"item {number}",
            "price": round(draw.uniform(1, 99), 2),
            "tags": ["new", "sale"],
        }
        for number in range(40)
    ]
    return json.dumps(items, separators=(",", ":"))


def nested_json(draw: Random) -> str:
    """JSON in a text in JSON, as arguments of a call are, indented."""
    inner = json.dumps({"path": "/srv/app/config.yaml", "lines": [draw.randint(1, 400) for _ in range(6)]})
    calls = [{"id": f"call_{n}", "function": {"name": "read", "arguments": inner}} for n in range(12)]
    return json.dumps({"tool_calls": calls}, indent=2)


def hashes(draw: Random) -> str:
    digests = [hashlib.sha256(bytes([draw.randrange(256)])).hexdigest() for _ in range(15)]
    return "\n".join((*digests, base64.b64encode(draw.randbytes(900)).decode()))


def log(draw: Random) -> str:
    lines = (
        f"2026-03-{draw.randint(1, 28):02}T{draw.randint(0, 23):02}:14:07.{draw.randint(0, 999):03}Z "
        f"{draw.choice(('INFO', 'WARN', 'ERROR'))} [worker-{draw.randint(1, 16)}] c.e.shop.OrderService - "
        f"request {draw.getrandbits(32):08x} took {draw.randint(2, 9000)} ms, status={draw.choice((200, 404, 500))}"
        for _ in range(40)
    )
    return "\n".join(lines)


def paths(draw: Random) -> str:
    parts = ("src", "main", "resources", "node_modules", "@types", "utils", "index", "v2", "api", "__init__")
    lines = ("/".join(draw.choices(parts, k=5)) + draw.choice((".py", ".tsx", ".json")) for _ in range(60))
    return "\n".join(
        f"https://git.example.org/{line}?ref={draw.getrandbits(24):06x}#L{draw.randint(1, 900)}"
        for line in lines
    )


DRAWN: dict[str, Callable[[Random], str]] = {
    "Rows of numbers": numbers,
    "Columns with blanks": table_of_blanks,
    "JSON": compact_json,
    "JSON in JSON": nested_json,
    "Hashes and base64": hashes,
    "Logs": log,
    "Paths and addresses": paths,
}
MODULES = {"Python": "argparse", "Python with data": "html.entities"}
TWELVE = (
    *("English talk", "English prose", "Japanese talk", "Japanese documents", "Half-width kana", "German"),
    *("Finnish", "Rows of numbers", "Columns with blanks", "JSON", "Logs", "Python"),
)


def texts(seed: int = 7) -> dict[str, str]:
    """A text of every kind."""
    written = {
        kind: "\n".join(line.strip() for line in text.strip().splitlines()) for kind, text in WRITTEN.items()
    }
    drawn = {kind: make(Random(seed)) for kind, make in DRAWN.items()}
    sources = {kind: _source(name)[:20_000] for kind, name in MODULES.items()}
    return written | drawn | sources


def _source(name: str) -> str:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{name} has no source")
    return Path(spec.origin).read_text(encoding="utf-8")


def ratios(vocabularies: Sequence[str]) -> dict[str, list[float]]:
    """For every kind of text the estimate as a multiple of the true counts."""
    counts = [open_counter(name) for name in vocabularies]
    if any(count is estimate_tokens for count in counts):
        raise SystemExit("the vocabularies are missing: pip install nagori[tokens]")
    return {kind: [estimate_tokens(text) / count(text) for count in counts] for kind, text in texts().items()}


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.estimate")
    parser.add_argument("--vocabularies", default=",".join(VOCABULARIES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args(given)
    names = options.vocabularies.split(",")
    found = ratios(names)
    rows = [[kind, *(f"{each:.2f}" for each in row), f"{min(row):.2f}"] for kind, row in found.items()]
    for title, kinds in (("twelve kinds", TWELVE), ("all kinds", tuple(found))):
        chosen = [found[kind] for kind in kinds]
        means = [mean(column) for column in zip(*chosen, strict=True)]
        least = min(map(min, chosen))
        rows.append([f"mean, {title}", *(f"{each:.2f}" for each in means), f"{least:.2f}"])
    print(f"python {python()}\n\n{table(['text', *names, 'least'], rows, ('text',))}")
    if options.json:
        figures: dict[str, Any] = {"vocabularies": names, "ratios": found}
        write_json(options.json, figures)


if __name__ == "__main__":
    main(sys.argv[1:])
