"""One fixed, invented life of sixty days, told to nagori through what users have: the verbs, the hooks, the
worker and the command line. The person, the shop and everything said are made up for this file.

Nothing here looks at a journal, a table or a note file. Everything that a refactoring may rename stands in
the first section.
"""

# mypy: disable-error-code="arg-type,assignment"
# Because words stand for members of enums, or options are passed on as a dict; one name for several shapes.

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any
from unittest import mock

# --- entry points: the only part to change when something is renamed ------------------------------
from typer.testing import CliRunner

from nagori import Category, Draft, Emotion, Filter, Kind, Memory, Nagori, Privacy, Source, Trust, Turn
from nagori.adapters import embed as embedders
from nagori.core.llm import Reply  # what a language model returns
from nagori.edges.cli import app
from nagori.edges.hooks import answer as answer_hook  # (arguments, source) -> printed text
from nagori.edges.worker.run import work as run_worker  # (folder) -> turns formed
from nagori.errors import InvalidInput
from nagori.runtime import SystemClock
from nagori.testing import FrozenClock, WordEmbedder


@contextmanager
def replace_machine(clock: FrozenClock) -> Iterator[None]:
    """Hooks, worker and command line open their own parts: they get our clock and our embedder."""

    def read_now(self: SystemClock) -> datetime:
        return clock.now()

    with (
        mock.patch.object(SystemClock, "now", read_now),
        mock.patch.object(SystemClock, "zone", property(lambda self: clock.zone)),
        mock.patch.dict(embedders.PROVIDERS, {"local": lambda *_: WordEmbedder()}),
    ):
        yield


# --- the stage ------------------------------------------------------------------------------------

TOKYO = timezone(timedelta(hours=9))
FIRST_DAY = datetime(2026, 1, 5, tzinfo=TOKYO)
DAYS = 60
EVERYTHING = Filter(archived=True, forgotten=True)
SETTINGS = {
    "NAGORI_HOOKS__WORKER": "false",
    "NAGORI_HOOKS__BEFORE_TOOL": "true",
    "NAGORI_ARCHIVE__GRACE_DAYS": "12",
    "NAGORI_COMPRESSION__MIN_POPULATION": "50",  # so that the shares of the levels apply
    "NAGORI_COMPRESSION__LEVEL3_RATIO": "0.12",  # so that there is no room for all that is wished back
    "NAGORI_COMPRESSION__DELETE_RATIO": "0.43",
    "NAGORI_RELATIONS__AUTO_LINK_SIMILARITY_THRESHOLD": "0.6",
    "NAGORI_GENERAL__LANGUAGE": "en",
    "LANG": "C.UTF-8",
    "COLUMNS": "100",
}
SHOP, HOME = "/srv/kazaguruma", "/srv/house"  # folders that do not exist: project names


@contextmanager
def set_environment(home: Path) -> Iterator[None]:
    """No setting of this machine is seen, except its time zone, which must not matter."""
    kept = {
        name: os.environ[name] for name in ("PATH", "TZ", "TMPDIR", "PYTHONHASHSEED") if name in os.environ
    }
    given = {**kept, **SETTINGS, "HOME": str(home), "NAGORI_GENERAL__DATA_DIR": str(home / "data")}
    with mock.patch.dict(os.environ, given, clear=True):
        yield


class FixedModel:
    """A language model that judges every passage by its length, always the same way."""

    model = "fixed-model"

    def complete(self, prompt: Any, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024) -> Reply:
        found = []
        for each in json.loads(prompt.data):
            if each.get("judge"):
                size = len(each["text"])
                found.append(
                    {
                        "i": each["i"],
                        "keywords": each["text"].split()[:4],
                        "kind": "lesson" if size % 2 else "episode",
                        "category": "work",
                        "valence": "neutral",
                        "tags": ["curiosity"],
                        "intensity": 30 + size % 40,
                        "arousal": 40,
                        "importance": 20,
                        "corrects": None,
                        "continues": None,
                    }
                )
        return Reply(json.dumps({"items": found}, ensure_ascii=False), self.model, 10, 10)


class Life:
    """The life as it runs, and everything that was answered on the way."""

    def __init__(self, home: Path) -> None:
        self.home, self.folder = home, home / "data"
        self.clock = FrozenClock(FIRST_DAY.astimezone(UTC), TOKYO)
        self.hooks: list[dict[str, Any]] = []
        self.verbs: list[dict[str, Any]] = []
        self.ids: dict[str, str] = {}  # of memories that are spoken of again
        self.day = 0

    @contextmanager
    def prepare(self) -> Iterator[None]:
        with set_environment(self.home), replace_machine(self.clock):
            yield

    def open(self, **more: Any) -> Nagori:
        return Nagori.open(self.folder, clock=self.clock, embedder=WordEmbedder(), **{"llm": None, **more})

    def set_time(self, hour: int, minute: int = 0) -> None:
        self.clock.set((FIRST_DAY + timedelta(days=self.day, hours=hour, minutes=minute)).astimezone(UTC))

    def note(self, verb: str, returned: Any) -> None:
        self.verbs.append({"day": self.day, "verb": verb, "returned": returned})

    # --- what one day has

    def run(self) -> None:
        """All days, and a last morning on which the fixtures are taken."""
        for self.day in range(DAYS):
            self.live_day()
        self.day = DAYS
        self.set_time(9)

    def live_day(self) -> None:
        with self.open() as memory:
            self.set_time(9)
            for name, content, more in TOLD.get(self.day, ()):
                kept = memory.remember(content, **more)
                self.ids[name] = kept.id
            self.set_time(10)
            for session, turns in TALKS.get(self.day, {}).items():
                self.note("form", describe_all(memory.form(self.make_turns(session, turns))))
        if self.day in SESSIONS:
            for number, session in enumerate(SESSIONS[self.day]):
                self.play_session(12 + 2 * number, session)
        if self.day in SESSIONS or self.day in WORKER_DAYS:
            self.set_time(19)
            self.note("work", run_worker(self.folder))
        with self.open() as memory:
            self.set_time(20)
            if self.day in ACTS:
                ACTS[self.day](self, memory)
            self.set_time(23)
            if self.day not in WORKER_DAYS:
                night = memory.cycle()
                steps = sorted((step.act, step.reason) for step in night.plan.steps)
                self.note("cycle", {"done": night.done, "ties": night.ties, "steps": steps})

    def make_turns(self, session: str, turns: Sequence[tuple[str, str, str]]) -> list[Turn]:
        start = self.clock.now()
        return [
            Turn(text, start + timedelta(minutes=n), session, n, speaker=speaker, role=Trust(role))
            for n, (role, speaker, text) in enumerate(turns)
        ]

    def play_session(self, hour: int, session: Mapping[str, Any]) -> None:
        """One session of a host; every line is one hook."""
        for minute, (event, more) in enumerate(session["hooks"]):
            self.set_time(hour, minute)
            more = {
                name: str(self.home / "shop-d.jsonl") if value == "{transcript}" else value
                for name, value in more.items()
            }
            payload = {
                session.get("event_field", "hook_event_name"): event,
                session.get("session_field", "session_id"): session["name"],
                "cwd": session["folder"],
                "prompt_id": f"{session['name']}-{minute}",
                **more,
            }
            host = session["host"]
            printed = answer_hook(["--host", host], io.BytesIO(json.dumps(payload).encode()))
            self.hooks.append({"day": self.day, "host": host, "event": event, "printed": printed})

    # --- what can be asked at the end

    def run_cli(self, *words: str) -> str:
        done = CliRunner().invoke(app, list(words), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output.replace(str(self.home), "HOME")


def describe(memory: Memory) -> dict[str, Any]:
    return {
        "id": memory.id,
        "kind": str(memory.kind),
        "level": int(memory.level),
        "protected": memory.protected,
        "mentions": memory.mentions,
        "text": memory.text.content,
    }


def describe_all(memories: Sequence[Memory]) -> list[dict[str, Any]]:
    return [describe(memory) for memory in memories]


# --- what is told by hand: name, words, fields of the draft ---------------------------------------

STRONG = Emotion(85, "positive", 70, ("joy",))
WEAK = Emotion(22)
FAINT = Emotion(9)
TOLD: dict[int, list[tuple[str, str, dict[str, Any]]]] = {
    0: [
        (
            "shop",
            "The shop is called Kazaguruma Cycles and stands behind the old bathhouse.",
            {"protect": True},
        ),
        ("lock", "The alarm of the workshop is switched off with the left key.", {"emotion": WEAK}),
    ],
    1: [
        (
            "allergy",
            "美緒はそばアレルギーなので、外食のときは必ず店に確認する。",
            {"emotion": Emotion(75, "negative", 60, ("fear",))},
        ),
        (
            "paint",
            "We tried the pearl grey paint on a test tube; it looked dull.",
            {"kind": "episode", "emotion": FAINT, "category": "casual"},
        ),
    ],
    2: [
        (
            "spokes",
            "Spokes of 286 mm fit the front wheel of the Tsubame frame.",
            {"category": "work", "kind": "lesson"},
        )
    ],
    3: [("rain", "Rain all day, nobody came.", {"kind": "episode", "emotion": FAINT, "category": "casual"})],
    4: [
        (
            "price",
            "A full overhaul costs 18,000 yen since January.",
            {"trigger": "Prices for the new year", "kind": "decision", "category": "decision"},
        )
    ],
    6: [
        (
            "cat",
            "うちの猫の名前はコイシで、工房の棚の三段目で寝る。",
            {"emotion": STRONG, "category": "emotional"},
        )
    ],
    8: [("supplier", "The supplier for rims is Hartmann & Sato in Nagoya.", {"category": "work"})],
    9: [
        ("snow", "Snow on the roof of the shed.", {"kind": "episode", "emotion": FAINT, "category": "casual"})
    ],
    11: [("bread", "角のパン屋は水曜日が休み。", {"emotion": WEAK, "category": "casual"})],
    13: [
        (
            "ledger",
            "Invoices are numbered by year and month, e.g. 2026-01-07.",
            {"category": "work", "keywords": ("invoice", "numbering")},
        )
    ],
    15: [
        (
            "race",
            "Jonas finished the lake race in nineteenth place and was happy like a child.",
            {"kind": "episode", "emotion": STRONG, "category": "emotional"},
        )
    ],
    17: [("wrench", "The torque wrench is lent to Ogawa until the end of the month.", {"emotion": WEAK})],
    19: [
        (
            "secret",
            "The router's password is hunter2hunter2 <private>and the safe opens with 4711</private>.",
            {"category": "work"},
        )
    ],
    21: [("lessonglue", "二液の接着剤は十度より寒いと固まらない。", {"kind": "lesson", "category": "work"})],
    24: [
        (
            "hub",
            "Hub gears get thin oil, never grease.",
            {"kind": "lesson", "category": "work", "emotion": Emotion(65)},
        )
    ],
    27: [
        (
            "visit",
            "Grandmother Ritsu came by with pickled plums and told of the ferry.",
            {
                "kind": "episode",
                "emotion": Emotion(70, "positive", 40, ("nostalgia",)),
                "category": "emotional",
            },
        )
    ],
    31: [
        (
            "diary",
            "Private note: I doubt the lease.",
            {"privacy": Privacy.PUBLIC, "emotion": Emotion(55, "negative", 50, ("anxiety",))},
        )
    ],
    34: [("tea", "Customers are given barley tea in summer and roasted tea in winter.", {"emotion": WEAK})],
    37: [("bell", "真鍮のベルは在庫が四つだけ残っている。", {"category": "work", "emotion": WEAK})],
    41: [
        (
            "lease",
            "The lease of the shop was renewed for three years.",
            {"kind": "decision", "category": "decision", "emotion": STRONG},
        )
    ],
    45: [("camera", "The camera for the web shop is on the top shelf.", {"emotion": WEAK})],
    50: [
        (
            "festival",
            "春祭りの自転車行列は四月十二日に決まった。",
            {"kind": "decision", "category": "decision"},
        )
    ],
    55: [
        (
            "pump",
            "The compressor was repaired by Ogawa for a crate of oranges.",
            {"kind": "episode", "emotion": Emotion(50)},
        )
    ],
    58: [("map", "The tour map for visitors shows seven stops along the river.", {"category": "work"})],
}

# --- conversations that are formed: role, speaker, words ------------------------------------------

TALKS: dict[int, dict[str, list[tuple[str, str, str]]]] = {
    1: {
        "kitchen-1": [
            ("user", "Mio", "Let's paint the Tsubame frame dark blue, that is decided."),
            ("assistant", "helper", "Dark blue it is. I would order half a litre of paint."),
            ("user", "Jonas", "I love that colour, it reminds me of the sea at my parents' place!"),
            ("user", "Mio", "覚えておいて：塗装の前に必ずフレームの番号を写真に撮ること。"),
        ]
    },
    5: {
        "kitchen-2": [
            ("user", "Jonas", "The delivery van leaves at half past seven on Mondays."),
            ("user", "Mio", "昨日の注文は大阪の佐伯さんから、子供用の赤い自転車二台。"),
            ("assistant", "helper", "佐伯さんの注文を記録しました。納期は二週間です。"),
        ]
    },
    7: {
        "kitchen-3": [
            (
                "user",
                "Jonas",
                "No, that's wrong: the delivery van leaves at a quarter past eight on Mondays.",
            ),
            ("user", "Mio", "I am so angry that the rims came with scratches again."),
        ]
    },
    12: {
        "kitchen-4": [
            ("user", "Mio", "Let's paint the Tsubame frame dark blue, that is decided."),
            ("user", "Mio", "About the scratched rims: Hartmann & Sato will send eight new ones."),
            ("user", "Jonas", "ok"),
        ]
    },
    20: {
        "kitchen-5": [
            ("user", "Mio", "佐伯さんがとても喜んで、写真を送ってくれた。うれしい！"),
            ("user", "Jonas", "Please remember that my sister arrives on 14 March with the night train."),
            ("assistant", "helper", "Noted: your sister arrives on 14 March with the night train."),
        ]
    },
    33: {
        "kitchen-6": [
            ("user", "Mio", "What did we decide about the colour of the Tsubame frame?"),
            ("assistant", "helper", "You decided on dark blue."),
            ("user", "Mio", "間違えた、納期は二週間ではなく三週間です。"),
        ]
    },
    48: {
        "kitchen-7": [
            ("user", "Jonas", "I was afraid the bank would say no, but the loan for the stand was granted."),
            ("user", "Mio", "The stand will have a roof of larch and a bench for six."),
            ("user", "Mio", "As I said, my private note: I doubt the lease less now."),
            ("user", "Jonas", "Following up on the lake race in nineteenth place: Jonas finished it happy."),
        ]
    },
}

# --- sessions of hosts: one line a hook -----------------------------------------------------------


def ask(words: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "UserPromptSubmit", {"prompt": words, **more}


def reply(words: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "Stop", {"last_assistant_message": words, **more}


LETTERS_AND_DIGITS = f"{ascii_lowercase}{digits}"  # a token that looks real, put together here
REVIEW = "The review found that the tax view lacks a test for zero rates."
RECAP = (
    "<summary>Deployed the shop after opening port 2222; "
    "a test for zero tax rates is still missing.</summary>"
)
START: tuple[str, dict[str, Any]] = ("SessionStart", {"source": "startup"})
END: tuple[str, dict[str, Any]] = ("SessionEnd", {"reason": "exit"})
SESSIONS: dict[int, list[dict[str, Any]]] = {
    2: [
        {
            "name": "shop-a",
            "host": "claude-code",
            "folder": SHOP,
            "hooks": [
                START,
                ask("The web shop should show prices with tax. The tax rate is in settings/tax.toml."),
                reply("I changed the price view: it now reads the rate from settings/tax.toml and adds it."),
                ask("thanks"),
                reply("You are welcome."),
                ask("How much is a full overhaul, and which key is for the alarm?"),
                reply("A full overhaul is 18,000 yen; the alarm uses the left key."),
                END,
            ],
        }
    ],
    10: [
        {
            "name": "shop-b",
            "host": "claude-code",
            "folder": SHOP,
            "hooks": [
                START,
                ask("Where is the tax rate of the web shop kept?"),
                reply("In settings/tax.toml, which the price view reads."),
                ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "make deploy-shop"}}),
                (
                    "PostToolUseFailure",
                    {
                        "tool_name": "Bash",
                        "tool_input": {"command": "make deploy-shop"},
                        "error": "rsync: connection refused on port 2222; the firewall was closed",
                    },
                ),
                ask("デプロイが失敗した。ファイアウォールのポート2222を開けてから再実行して。"),
                reply("ポート2222を開けてから再実行し、デプロイは成功しました。"),
                (
                    "SubagentStop",
                    {
                        "agent_type": "reviewer",
                        "last_assistant_message": REVIEW,
                    },
                ),
                ("PreCompact", {"trigger": "manual"}),
                (
                    "PostCompact",
                    {"compact_summary": RECAP},
                ),
                ("SessionStart", {"source": "compact"}),
                ask("What failed when we ran make deploy-shop?"),
                reply("rsync was refused on port 2222 because the firewall was closed."),
                END,
            ],
        }
    ],
    16: [
        {
            "name": "house-a",
            "host": "codex",
            "folder": HOME,
            "hooks": [
                START,
                ask("そばアレルギーの人を連れて行ける店を探して。猫の名前も教えて。"),
                reply("そばを使わない店を三つ見つけました。猫の名前はコイシです。"),
                END,
            ],
        },
        {
            "name": "house-b",
            "host": "cursor",
            "folder": HOME,
            "session_field": "conversation_id",
            "hooks": [
                ("sessionStart", {}),
                ("beforeSubmitPrompt", {"prompt": "Write a shelf plan for the pantry with four boards."}),
                (
                    "afterAgentResponse",
                    {"text": "The shelf plan has four boards of 80 cm, oak, 18 mm thick."},
                ),
                ("sessionEnd", {}),
            ],
        },
    ],
    23: [
        {
            "name": "shop-c",
            "host": "claude-code",
            "folder": SHOP,
            "hooks": [
                START,
                ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "make deploy-shop"}}),
                ask("Remember: orders above 50,000 yen ship for free. Did we deploy with port 2222 open?"),
                reply("Yes, port 2222 was opened before the deployment. Free shipping starts at 50,000 yen."),
                ask("/compact"),
                ask("次の質問：佐伯さんの注文はどうなった？"),
                reply("佐伯さんの子供用の赤い自転車は届き、写真が送られてきました。"),
                END,
            ],
        }
    ],
    30: [
        {
            "name": "shop-d",
            "host": "claude-code",
            "folder": SHOP,
            "hooks": [
                START,
                ask(
                    "Which rims do we use, and why were we angry about them?", transcript_path="{transcript}"
                ),
            ],
        }
    ],
    38: [
        {
            "name": "house-c",
            "host": "gemini",
            "folder": HOME,
            "hooks": [
                ("SessionStart", {"source": "startup"}),
                ("BeforeAgent", {"prompt": "How thick are the boards of the pantry shelf?"}),
                ("AfterAgent", {"prompt_response": "The boards of the pantry shelf are 18 mm thick."}),
                ("SessionEnd", {}),
            ],
        },
        {
            "name": "house-d",
            "host": "copilot",
            "folder": HOME,
            "session_field": "sessionId",
            "event_field": "hookEventName",
            "hooks": [
                ("sessionStart", {}),
                ("userPromptSubmitted", {"prompt": "When does Jonas' sister arrive with the night train?"}),
                ("agentStop", {"response": "She arrives on 14 March."}),
                ("sessionEnd", {}),
            ],
        },
    ],
    52: [
        {
            "name": "shop-e",
            "host": "claude-code",
            "folder": SHOP,
            "hooks": [
                START,
                ask("What was missing after the first deployment of the shop?"),
                reply("A test for zero tax rates was missing; I have added it now."),
                ask("春祭りの自転車行列はいつ？"),
                reply("四月十二日です。"),
                ask(f"My card is 4111 1111 1111 1111, and the token is ghp_{LETTERS_AND_DIGITS}."),
                reply("I will not keep either of them."),
                END,
            ],
        },
        {
            "name": "raw-a",
            "host": "raw",
            "folder": SHOP,
            "hooks": [
                ("session start", {}),
                ("prompt", {"prompt": "Which oil do hub gears get?"}),
                ("turn end", {"text": "Hub gears get thin oil, never grease."}),
                ("session end", {}),
            ],
        },
    ],
}
WORKER_DAYS = (29, 31, 55)  # no cycle by hand: the worker of the next working day has to do the night


# --- what is done by hand -------------------------------------------------------------------------


def correct_words(life: Life, memory: Nagori) -> None:
    edited = memory.edit(life.ids["paint"], content="We tried the pearl grey paint; it looked dull indoors.")
    life.note("edit", describe(edited))
    edited = memory.edit(life.ids["lock"], kind="lesson", category="work", emotion=Emotion(40))
    life.note("edit", describe(edited))
    life.note("feedback", describe(memory.feedback(life.ids["spokes"], True)))
    life.note("feedback", describe(memory.feedback(life.ids["rain"], False)))
    life.note("feedback", describe(memory.feedback(life.ids["rain"], False)))  # once a day


def recall_some(life: Life, memory: Nagori) -> None:
    for query in ("spokes of the front wheel", "What colour is the Tsubame frame?", "猫はどこで寝る？"):
        life.note("recall", list_found(memory.recall(query, 3)))


def protect_some(life: Life, memory: Nagori) -> None:
    life.note("protect", describe(memory.protect(life.ids["allergy"])))
    life.note("protect", describe(memory.protect(life.ids["supplier"])))
    life.note("unprotect", describe(memory.unprotect(life.ids["supplier"])))
    life.note("protect", describe(memory.protect(life.ids["spokes"][:12])))


def forget_some(life: Life, memory: Nagori) -> None:
    life.note("forget", describe(memory.forget(life.ids["snow"])))
    life.note("forget", describe(memory.forget(life.ids["bread"])))
    kept, undone = memory.undo(life.ids["bread"])
    life.note("undo", [describe(kept), undone])
    kept, undone = memory.undo(life.ids["paint"])
    life.note("undo", [describe(kept), undone])


def archive_some(life: Life, memory: Nagori) -> None:
    for name in ("rain", "ledger", "lock", "wrench"):
        life.note("archive", describe(memory.archive(life.ids[name])))
    life.note("recall", list_found(memory.recall("the alarm of the workshop and the left key", 3)))
    try:
        life.note("unarchive", describe(memory.unarchive(life.ids["ledger"])))
    except InvalidInput as refused:  # its words may be gone by then
        life.note("unarchive", str(refused))


def plan_night(life: Life, memory: Nagori) -> None:
    plan = memory.plan()
    life.note("plan", [[step.act, step.reason, step.id, round(step.score, 4)] for step in plan.steps])
    preview = memory.preview(plan)
    names = ("shortened", "looked", "before", "after", "purged", "freed")
    life.note("preview", {name: getattr(preview, name) for name in names})


def import_others(life: Life, memory: Nagori) -> None:
    notes = [
        "# Tools",
        "",
        "- The truing stand needs a new dial.",
        "- 六角レンチの5mmは予備がない。",
        "",
        "Loose words",
        "in one paragraph.",
    ]
    taken = memory.import_(notes, "markdown")
    life.note("import_", [taken.added, taken.known, taken.relations, [*map(str, taken.faults)]])
    lines = [*memory.export(), "not a line"]
    again = memory.import_(lines)
    life.note("import_", [again.added, again.known, again.relations, [*map(str, again.faults)]])
    with Nagori.open(life.home / "second", clock=life.clock, embedder=WordEmbedder(), llm=None) as second:
        moved = second.import_(lines)
        life.note("import_", [moved.added, moved.known, moved.relations, [*map(str, moved.faults)]])
        life.note("export", list(second.export()) == lines[:-1])
    draft = Draft(
        "The neighbour waters the plants in August.", trust=Trust.IMPORT, source=Source(uri="other:1")
    )
    for _ in range(2):
        taken = memory.import_drafts([draft])
        life.note("import_drafts", [taken.added, taken.known])


def judge_some(life: Life, memory: Nagori) -> None:
    with life.open(llm=FixedModel()) as judged:
        estimate = judged.estimate_appraisal()
        life.note("judge_estimate", [estimate.memories, estimate.questions])
        done = judged.appraise()
        life.note(
            "judge", [done.judged, done.by_rules, done.questions, done.waiting, str(done.trouble or "")]
        )


def prune_window(life: Life, memory: Nagori) -> None:
    there = memory.with_scope(project=SHOP)
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You help in a bicycle shop."}]
    for n in range(12):
        messages.append(
            {
                "role": "user",
                "content": f"Question {n}: where is part number {700 + n} of the stock list kept?",
            }
        )
        messages.append(
            {
                "role": "assistant",
                "content": f"Part number {700 + n} lies in drawer {n % 5} of the green cabinet.",
            }
        )
    done = there.prune(messages, session="window-a", budget=300, count=lambda text: len(text) // 4 + 1)
    life.note("prune", done.report)
    talk = there.conversation(session="window-b", budget=200, count=lambda text: len(text) // 4 + 1)
    for message in messages[1:9]:
        talk.add(message)
    life.note("conversation", talk.report)
    life.note("conversation", describe_all(talk.end()))


def work_with_agents(life: Life, memory: Nagori) -> None:
    painter = memory.with_scope(project=SHOP, agent="painter", role="craft")
    kept = painter.remember_many(
        [
            "Two thin coats of lacquer are better than a thick one.",
            Draft(
                "下塗りは最低でも六時間乾かす。",
                kind=Kind.LESSON,
                category=Category.WORK,
                privacy=Privacy.AGENT_ONLY,
            ),
            Draft("The painter dislikes the new brush.", privacy=Privacy.PRIVATE, emotion=WEAK),
        ]
    )
    life.note("remember_many", describe_all(kept))
    accountant = memory.with_scope(project=SHOP, agent="accountant", role="office")
    for asker in (painter, accountant, memory):
        life.note("recall", list_found(asker.recall("coats of lacquer and the new brush", 5, mark=False)))
    life.note(
        "remember_many",
        describe_all(
            memory.remember_many(["The bakery closes on Wednesdays.", "The bakery closes on Wednesdays."])
        ),
    )


def look_back(life: Life, memory: Nagori) -> None:
    then = FIRST_DAY + timedelta(days=9, hours=12)
    life.note("as_of", describe_all(list(memory.as_of(then))))
    life.note("summary", memory.summary("kitchen-5"))
    life.note("summary", memory.with_scope(project=SHOP).summary("shop-b", 60))
    life.note("list", describe_all(memory.list(Filter(kinds=frozenset({Kind.LESSON})), limit=10)))
    life.note("list", describe_all(memory.list(Filter(protected=True))))
    life.note("show", describe(memory.show(life.ids["shop"])))


def check_house(life: Life, memory: Nagori) -> None:
    life.note("verify", memory.verify().sound)
    life.note("backup", memory.backup(life.home / "saved.tar") is not None)
    life.note(
        "restore", Nagori.restore(life.home / "saved.tar", life.home / "third", life.clock.now()) is None
    )
    with Nagori.open(life.home / "third", clock=life.clock, embedder=WordEmbedder(), llm=None) as third:
        before = list(memory.export())
        life.note("export", list(third.export()) == before)
        third.rebuild()
        life.note("rebuild", list(third.export()) == before)
        life.note("embed_missing", third.embed_missing() > 0)
    life.note(
        "doctor", [[each.name, each.state] for each in memory.doctor() if each.name not in ("folder", "disk")]
    )


def leave_transcript(life: Life, memory: Nagori) -> None:
    """The session shop-d was killed; its answer stands in the host's own file."""
    path, at = life.home / "shop-d.jsonl", life.clock.now() - timedelta(hours=7)
    line = {
        "type": "assistant",
        "sessionId": "shop-d",
        "uuid": "u1",
        "timestamp": at.isoformat(),
        "message": {
            "role": "assistant",
            "content": "The rims come from Hartmann & Sato; they were scratched.",
        },
    }
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    os.utime(path, (at.timestamp(), at.timestamp()))


def touch_same_memory_often(life: Life, memory: Nagori) -> None:
    life.note("remember", describe(memory.remember("Hub gears get thin oil, never grease.")))
    life.note(
        "remember", describe(memory.remember("Correction: a full overhaul costs 19,500 yen, not 18,000 yen."))
    )
    for query in ("hub gears oil", "接着剤 寒い", "snow on the shed", "brass bell 真鍮のベル"):
        life.note("recall", list_found(memory.recall(query, 2)))
    with suppress(StopIteration):
        faded = next(each for each in memory.list(EVERYTHING, limit=500) if each.level == 2)
        kept, undone = memory.undo(faded.id)
        life.note("undo", [describe(kept), undone])


def wish_back(life: Life, memory: Nagori) -> None:
    for query in (
        "We tried the pearl grey paint",
        "rain all day, nobody came",
        "torque wrench lent to Ogawa",
    ):
        life.note("recall", list_found(memory.recall(query, 3)))


def list_found(found: Sequence[Any]) -> list[list[Any]]:
    return [[each.memory.id, round(each.score, 4)] for each in found]


ACTS: dict[int, Callable[[Life, Nagori], None]] = {
    3: correct_words,
    6: recall_some,
    9: protect_some,
    11: forget_some,
    14: import_others,
    18: archive_some,
    20: look_back,
    23: judge_some,
    25: plan_night,
    28: work_with_agents,
    30: leave_transcript,
    35: touch_same_memory_often,
    40: look_back,
    43: recall_some,
    44: wish_back,
    46: check_house,
    48: judge_some,
    51: plan_night,
    53: wish_back,
    54: prune_window,
    56: touch_same_memory_often,
    57: archive_some,
}

# --- what is asked at the end ---------------------------------------------------------------------

QUERIES: list[tuple[str, dict[str, Any]]] = [
    ("What is the shop called?", {}),
    ("How do I switch off the alarm?", {}),
    ("そばアレルギー", {}),
    ("猫の名前は？", {}),
    ("What colour is the Tsubame frame?", {}),
    ("spokes for the front wheel", {"k": 3}),
    ("When does the delivery van leave on Mondays?", {}),
    ("佐伯さんの注文", {}),
    ("納期は何週間？", {}),
    ("scratched rims", {}),
    ("Who sells us rims?", {"k": 2}),
    ("what did we do yesterday", {}),
    ("What happened last week?", {"k": 4}),
    ("一月に何をした？", {"k": 4}),
    ("When does Jonas' sister arrive?", {}),
    ("price of a full overhaul", {}),
    ("port 2222 firewall", {}),
    ("zero tax rates test", {}),
    ("pantry shelf boards", {}),
    ("hub gears oil", {"filter": Filter(kinds=frozenset({Kind.LESSON}))}),
    ("接着剤が固まらない", {}),
    ("something sad or frightening", {"mood": Emotion(80, "negative", 70, ("fear",))}),
    ("春祭り", {"tokens": 60}),
    ("drawer of the green cabinet part number 703", {"k": 3}),
    ("lacquer coats", {}),
    ("the weather on the moon", {"min_confidence": 0.3}),
    ("rain", {"filter": EVERYTHING}),
]
