"""Ten agent loops, recorded as scripts: tasks with standing instructions, calls of tools, failures of which
some are put right later and some never.

    for loop in loops():
        loop.messages       # OpenAI's messages, or Anthropic's
        loop.instructions   # (place, words) of what holds until the end
        loop.failures       # (place, place of the result that put it right, or None)

The results of tools are modules of the standard library, listings, logs and records drawn from a fixed seed.
Instructions and failures are worded as people and programs word them; no rule of the window was consulted.
"""

# ruff: noqa: E501
# Because what programs say is as it is.

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from bench.data import sentences

STEPS = 90  # calls of tools in a loop


class Failure(NamedTuple):
    """A call that fails, and what its result says; `mended`: the same call succeeds some steps later."""

    tool: str
    arguments: dict[str, Any]
    words: str
    mended: bool


class Scene(NamedTuple):
    """What one loop is about. `later` are requests of the user on the way; each instruction is in one."""

    name: str
    system: str
    task: str
    later: tuple[str, ...]
    instructions: tuple[str, ...]
    tools: tuple[str, ...]
    failures: tuple[Failure, ...]
    thoughts: tuple[str, ...]


class Loop(NamedTuple):
    name: str
    messages: list[dict[str, Any]]
    instructions: list[tuple[int, str]]
    failures: list[tuple[int, int | None]]


SCENES = (
    Scene(
        "tests",
        "You are a coding agent. Work in small steps and report what you did.",
        "The suite of the billing package is red since the upgrade. Please find out why and mend it. I don't want "
        "you to touch anything under legacy/, and keep Python 3.9 compatibility.",
        (
            "Good so far. Also have a look at the rounding of refunds while you are there.",
            "One more thing: commit messages are in English here, and no force pushes.",
        ),
        (
            "I don't want you to touch anything under legacy/",
            "keep Python 3.9 compatibility",
            "commit messages are in English here, and no force pushes",
        ),
        ("read_file", "grep", "list_dir", "edit_file"),
        (
            Failure(
                "run",
                {"cmd": "pytest tests/test_refund.py"},
                "FAILED tests/test_refund.py::test_half_cent - assert Decimal('0.02') == Decimal('0.03')\n1 failed, 41 passed in 3.20s",
                True,
            ),
            Failure(
                "run",
                {"cmd": "pytest tests/test_tax.py"},
                "E   ModuleNotFoundError: No module named 'billing.rates'\n!!! Interrupted: 1 error during collection !!!",
                True,
            ),
            Failure(
                "run",
                {"cmd": "mypy billing"},
                'billing/tax.py:88: error: Incompatible return value type (got "float", expected "Decimal")\nFound 1 error in 1 file (checked 31 source files)',
                False,
            ),
            Failure(
                "edit_file",
                {"path": "billing/invoice.py", "at": 212},
                "The text to be replaced occurs 3 times; be more specific.",
                False,
            ),
        ),
        ("Let me look at how it is called.", "Now the next module.", "This looks unrelated, going on."),
    ),
    Scene(
        "migration",
        "You administer databases. Explain each statement before you run it.",
        "Move the orders tables to the new cluster tonight. Under no circumstances drop a table on the old cluster "
        "before I have confirmed the counts. Use read replicas for every check.",
        ("The window closes at 03:00 UTC. Ask me before you go beyond it.", "How far are we?"),
        (
            "Under no circumstances drop a table on the old cluster before I have confirmed the counts",
            "Use read replicas for every check",
            "The window closes at 03:00 UTC. Ask me before you go beyond it",
        ),
        ("query", "describe", "explain"),
        (
            Failure(
                "query",
                {"sql": "COPY orders_2024 TO STDOUT"},
                "ERROR:  canceling statement due to statement timeout\nSQLSTATE: 57014",
                True,
            ),
            Failure(
                "query",
                {"sql": "ALTER TABLE order_lines ADD CONSTRAINT fk_order"},
                'ERROR:  insert or update on table "order_lines" violates foreign key constraint\nDETAIL:  Key (order_id)=(88123) is not present in table "orders".',
                False,
            ),
            Failure(
                "shell",
                {"cmd": "pg_dump --jobs 4 shop"},
                'pg_dump: error: connection to server at "10.2.0.14", port 5432 failed: Connection refused',
                True,
            ),
            Failure(
                "query",
                {"sql": "REFRESH MATERIALIZED VIEW daily_totals"},
                'could not extend file "base/16401/2619": No space left on device',
                False,
            ),
        ),
        ("Checking the sizes first.", "The counts agree for this month.", "Next table."),
    ),
    Scene(
        "deploy",
        "You operate a cluster. Be careful.",
        "Roll out version 2.8 of the checkout service to all regions, one by one. Wait ten minutes between regions. "
        "Do not restart the payment pods.",
        (
            "Region eu-west-1 looks fine to me, go on.",
            "From now on post a line in the ops channel after each region.",
        ),
        (
            "Wait ten minutes between regions",
            "Do not restart the payment pods",
            "From now on post a line in the ops channel after each region",
        ),
        ("kubectl", "logs", "metrics"),
        (
            Failure(
                "kubectl",
                {"args": "rollout status deploy/checkout -n us-east-1"},
                'error: deployment "checkout" exceeded its progress deadline',
                True,
            ),
            Failure(
                "kubectl",
                {"args": "get pods -n ap-south-1"},
                "checkout-7d9f6c5b8-x2x7q   0/1   CrashLoopBackOff   7 (2m ago)   12m\ncheckout-7d9f6c5b8-zz4kd   0/1   ImagePullBackOff   0   12m",
                False,
            ),
            Failure(
                "http",
                {"url": "https://checkout.eu-north-1.example.org/health"},
                "HTTP/1.1 503 Service Unavailable\nretry-after: 30",
                False,
            ),
            Failure(
                "kubectl",
                {"args": "apply -f checkout.yaml"},
                'Error from server (Forbidden): deployments.apps is forbidden: User "bot" cannot patch resource',
                True,
            ),
        ),
        ("Watching the rollout.", "Latency is normal.", "The next region."),
    ),
    Scene(
        "research",
        "You research and write reports with sources.",
        "Write me a report about heat pumps in old apartment houses: cost, noise, subsidies. Cite a source for every "
        "number, and nothing older than 2021. British spelling, please.",
        ("Leave out the chapter on geothermal drilling.", "Keep the whole thing under four pages."),
        (
            "Cite a source for every number, and nothing older than 2021",
            "British spelling, please",
            "Leave out the chapter on geothermal drilling",
            "Keep the whole thing under four pages",
        ),
        ("search", "open_page", "note"),
        (
            Failure(
                "open_page",
                {"url": "https://stats.example.org/heat-2023"},
                "404 Not Found: the page has moved or does not exist.",
                False,
            ),
            Failure(
                "search",
                {"q": "subsidy rates apartment owners associations"},
                "429 Too Many Requests. Quota resets in 51 s.",
                True,
            ),
            Failure(
                "open_page",
                {"url": "https://noise.example.org/db-limits.pdf"},
                "Timed out after 30 s while waiting for the server.",
                True,
            ),
            Failure(
                "open_page",
                {"url": "https://city.example.org/permit"},
                "This page requires a login. No content could be extracted.",
                False,
            ),
        ),
        ("This source gives figures for three cities.", "I note that down.", "Looking for a second opinion."),
    ),
    Scene(
        "cleaning",
        "You are a data analyst with a Python sandbox.",
        "Clean the sensor export and give me daily means per station. Never impute missing values; leave them empty. "
        "Times are local, not UTC.",
        ("Station 14 was moved in June, treat it as two stations.", "What is left to do?"),
        (
            "Never impute missing values; leave them empty",
            "Times are local, not UTC",
            "Station 14 was moved in June, treat it as two stations",
        ),
        ("python", "head", "plot"),
        (
            Failure(
                "python",
                {"code": "df['t'] = pd.to_datetime(df.t)"},
                'Traceback (most recent call last):\n  File "<cell>", line 1, in <module>\nValueError: time data "31.02.2025 04:00" doesn\'t match format "%d.%m.%Y %H:%M"',
                True,
            ),
            Failure(
                "python",
                {"code": "means.to_parquet('out.parquet')"},
                "ImportError: Unable to find a usable engine; tried using: 'pyarrow', 'fastparquet'.",
                False,
            ),
            Failure(
                "python",
                {"code": "wide = df.pivot('station', 't', 'v')"},
                "TypeError: DataFrame.pivot() takes 1 positional argument but 4 were given",
                True,
            ),
            Failure(
                "python",
                {"code": "merge(stations, on='id')"},
                "Process killed: memory limit of 2 GB exceeded",
                False,
            ),
        ),
        ("The columns look plausible.", "Some rows are duplicated.", "Now the next station."),
    ),
    Scene(
        "frontend",
        "You are a coding agent for a web shop.",
        "Users on Safari cannot close the cart drawer. Reproduce it and fix it. Only ever use the design tokens for "
        "colours, no hex values. Stay away from the checkout folder, another team owns it.",
        (
            "The QA people say it also happens on iPad.",
            "Please add a regression test, with Playwright, not Cypress.",
        ),
        (
            "Only ever use the design tokens for colours, no hex values",
            "Stay away from the checkout folder, another team owns it",
            "Please add a regression test, with Playwright, not Cypress",
        ),
        ("read_file", "grep", "browser"),
        (
            Failure(
                "run",
                {"cmd": "npm run build"},
                "npm ERR! code ELIFECYCLE\nnpm ERR! errno 2\nsrc/cart/Drawer.tsx(41,17): error TS2339: Property 'inert' does not exist on type 'HTMLElement'.",
                True,
            ),
            Failure(
                "run",
                {"cmd": "npx playwright test cart"},
                "  1) [webkit] › cart.spec.ts:12:5 › closes on escape\n    expect(locator).toBeHidden() failed\n    Received: visible\n  1 failed, 6 passed",
                False,
            ),
            Failure(
                "browser",
                {"open": "http://localhost:3000/cart"},
                "net::ERR_CONNECTION_REFUSED at http://localhost:3000/cart",
                True,
            ),
            Failure(
                "run",
                {"cmd": "npx eslint src/cart"},
                '✖ 2 problems (2 errors, 0 warnings)\n  41:3  React Hook "useEffect" is called conditionally',
                False,
            ),
        ),
        ("The listener is attached twice.", "Let me see the styles.", "Going on with the provider."),
    ),
    Scene(
        "ログ調査",
        "あなたは運用エージェントです。調査結果は簡潔に報告してください。",
        "昨夜の受注停止の原因を調べてください。本番のデータベースには書き込まないでください。個人情報は報告書に載せないこと。",
        ("影響を受けた注文の件数も出してください。", "報告書は必ずですます調でお願いします。"),
        (
            "本番のデータベースには書き込まないでください",
            "個人情報は報告書に載せないこと",
            "報告書は必ずですます調でお願いします",
        ),
        ("search_logs", "metrics", "query"),
        (
            Failure(
                "query",
                {"sql": "SELECT count(*) FROM orders WHERE state = 'stuck'"},
                "エラー: 接続がタイムアウトしました (30秒)",
                True,
            ),
            Failure(
                "search_logs",
                {"q": "gateway timeout"},
                "検索に失敗しました。インデックス logs-2026.03.02 が見つかりません。",
                False,
            ),
            Failure(
                "metrics",
                {"name": "queue_depth"},
                "認証に失敗しました: トークンの有効期限が切れています",
                True,
            ),
            Failure(
                "query",
                {"sql": "EXPLAIN SELECT * FROM shipments"},
                "ERROR: permission denied for table shipments",
                False,
            ),
        ),
        ("次のログを確認します。", "この時間帯は正常です。", "関連する指標を見ます。"),
    ),
    Scene(
        "compiler",
        "You are a coding agent for a Rust workspace.",
        "Replace the hand-written parser of the config crate. No unsafe code, and do not add dependencies without "
        "asking me. Public signatures must not change.",
        (
            "nom would be fine as a dependency, but only in the config crate.",
            "Run clippy after every change from here on.",
        ),
        (
            "No unsafe code, and do not add dependencies without asking me",
            "Public signatures must not change",
            "nom would be fine as a dependency, but only in the config crate",
            "Run clippy after every change from here on",
        ),
        ("read_file", "grep", "edit_file"),
        (
            Failure(
                "cargo",
                {"args": "build -p config"},
                "errorerror E0502: cannot borrow `self.tokens` as mutable because it is also borrowed as immutable\n  --> crates/config/src/parse.rs:118:9",
                True,
            ),
            Failure(
                "cargo",
                {"args": "test -p config --doc"},
                "test result: FAILED. 11 passed; 2 failed; 0 ignored\n    crates/config/src/lib.rs - Config::merge (line 40)",
                False,
            ),
            Failure(
                "cargo",
                {"args": "bench -p config"},
                "thread 'main' panicked at 'called `Option::unwrap()` on a `None` value', benches/large.rs:22",
                False,
            ),
            Failure(
                "cargo",
                {"args": "clippy -p config"},
                "warning: unused variable: `span`\nerror: could not compile `config` due to 1 previous error; 3 warnings emitted",
                True,
            ),
        ),
        ("The lifetimes are the crux.", "Next I rewrite this function.", "That part stays."),
    ),
    Scene(
        "travel",
        "You are a travel assistant with booking tools. Confirm prices before booking.",
        "Plan a week in Scotland for four in September, with trains, no rental car. We are vegetarians, and my mother "
        "cannot climb stairs. Total budget 3,200 pounds.",
        (
            "Make it two double rooms, not four singles.",
            "Nothing before nine in the morning, please, on any day.",
        ),
        (
            "with trains, no rental car",
            "We are vegetarians, and my mother cannot climb stairs",
            "Total budget 3,200 pounds",
            "Make it two double rooms, not four singles",
            "Nothing before nine in the morning, please, on any day",
        ),
        ("search_trains", "search_hotels", "details"),
        (
            Failure(
                "book",
                {"hotel": "Harbour House", "nights": 2},
                "Booking declined: the card issuer did not authorise the payment.",
                False,
            ),
            Failure(
                "search_trains",
                {"from": "Inverness", "to": "Kyle"},
                '{"status": "error", "code": "NO_SERVICE", "message": "engineering works until 14 September"}',
                False,
            ),
            Failure(
                "book",
                {"train": "EDB-INV 10:32"},
                "Seat reservation failed: fare expired, please search again.",
                True,
            ),
            Failure("details", {"hotel": "Loch View"}, "Upstream returned 500 Internal Server Error", True),
        ),
        ("This one has a lift.", "Comparing the prices.", "Now the next leg."),
    ),
    Scene(
        "予定と連絡",
        "あなたは秘書エージェントです。カレンダーとメールを使えます。",
        "来月の出張の予定を組んで、関係者に連絡してください。水曜の午後は空けておいてください。社外へのメールは送信前に見せてください。",
        ("大阪の会議は絶対にオンラインにしないでください。", "宿は駅から徒歩五分以内で。"),
        (
            "水曜の午後は空けておいてください",
            "社外へのメールは送信前に見せてください",
            "大阪の会議は絶対にオンラインにしないでください",
            "宿は駅から徒歩五分以内で",
        ),
        ("calendar", "mail", "search"),
        (
            Failure(
                "calendar",
                {"add": "大阪 打ち合わせ 14:00"},
                "予定が重複しています: 「定例会議」と競合するため登録できませんでした。",
                True,
            ),
            Failure(
                "mail", {"to": "yamada@example.org"}, "550 5.1.1 recipient rejected: user unknown", False
            ),
            Failure(
                "search",
                {"q": "新大阪 ホテル 10日"},
                "該当する宿が見つかりませんでした。条件を変更してください。",
                False,
            ),
            Failure("calendar", {"share": "出張"}, "共有に失敗しました: 権限がありません", True),
        ),
        ("空き時間を確認します。", "候補を三つに絞りました。", "次の日程を見ます。"),
    ),
)


# --- what tools give back -------------------------------------------------------------------------


def _module(random: Random) -> str:
    paths = sorted(Path(json.__file__).parent.parent.glob("*.py"))
    lines = random.choice(paths).read_text(encoding="utf-8", errors="replace").splitlines()
    start = random.randrange(max(1, len(lines) - 40))
    return "\n".join(
        f"{start + n:>5}  {line}" for n, line in enumerate(lines[start : start + random.randint(8, 40)])
    )


def _listing(random: Random) -> str:
    names = (
        "main",
        "utils",
        "index",
        "models",
        "views",
        "errors",
        "config",
        "README",
        "test_parser",
        "session",
    )
    rows = (
        f"-rw-r--r-- 1 dev dev {random.randint(90, 90000):>6} {random.choice(names)}_{n}.py"
        for n in range(12)
    )
    return "\n".join(rows)


def _log(random: Random) -> str:
    rows = (
        f"2026-03-02T0{random.randint(0, 9)}:{random.randint(10, 59)}:07Z {random.choice(('INFO', 'DEBUG'))} "
        f"worker-{random.randint(1, 9)} request {random.getrandbits(32):08x} done in {random.randint(2, 900)} ms"
        for _ in range(random.randint(4, 14))
    )
    return "\n".join(rows)


def _records(random: Random) -> str:
    rows = [
        {
            "id": random.randint(1000, 99999),
            "state": random.choice(("open", "paid", "sent")),
            "sum": random.randint(5, 900),
        }
        for _ in range(random.randint(3, 12))
    ]
    return json.dumps(rows)


def _page(random: Random) -> str:
    source = sentences(random.randrange(1000))
    return " ".join(next(source)[0] for _ in range(random.randint(4, 16)))


KINDS: dict[str, tuple[Callable[[Random], str], ...]] = {
    **dict.fromkeys(("read_file", "edit_file", "grep"), (_module, _listing)),
    **dict.fromkeys(("list_dir", "shell", "head", "run", "cargo"), (_listing, _log)),
    **dict.fromkeys(
        ("query", "describe", "explain", "metrics", "python", "plot", "book"), (_records, _listing)
    ),
    **dict.fromkeys(("logs", "kubectl", "search_logs", "http"), (_log,)),
}


# --- loops ----------------------------------------------------------------------------------------


class _Step(NamedTuple):
    role: str
    text: str
    tool: str = ""
    arguments: dict[str, Any] = {}  # noqa: RUF012 - never changed
    failed: bool = False


def loops(steps: int = STEPS) -> Iterator[Loop]:
    """All of them; every second one in Anthropic's form."""
    for number, scene in enumerate(SCENES):
        script, failures = _script(scene, Random(number), steps)
        messages, places = (_anthropic if number % 2 else _openai)(script, scene.system)
        said = [
            (places[at], words)
            for words in scene.instructions
            for at, step in enumerate(script)
            if step.role == "user" and words in step.text
        ]
        known = [(places[at], None if until is None else places[until]) for at, until in failures]
        yield Loop(scene.name, messages, said, known)


def _script(scene: Scene, random: Random, steps: int) -> tuple[list[_Step], list[tuple[int, int | None]]]:
    script = [_Step("user", scene.task)]
    failures: list[tuple[int, int | None]] = []
    fails_at = sorted(random.sample(range(steps // 10, 8 * steps // 10), len(scene.failures)))
    due = dict(zip(fails_at, scene.failures, strict=True))
    mended: dict[int, tuple[int, Failure]] = {}
    asks = {steps * (n + 1) // (len(scene.later) + 2): words for n, words in enumerate(scene.later)}
    for at in range(steps):
        if at in asks:
            script += [_Step("assistant", f"{random.choice(scene.thoughts)} ({at})"), _Step("user", asks[at])]
        if at in due:
            failure = due[at]
            script.append(_Step("call", random.choice(scene.thoughts), failure.tool, failure.arguments))
            script.append(_Step("tool", failure.words, failed=True))
            failures.append((len(script) - 1, None))
            if failure.mended:
                mended[min(steps - 1, at + random.randint(8, 25))] = len(failures) - 1, failure
            continue
        if at in mended:
            which, failure = mended.pop(at)
            script.append(_Step("call", "Once more.", failure.tool, failure.arguments))
            script.append(_Step("tool", f"done\n{_result(failure.tool, random)}"))
            failures[which] = failures[which][0], len(script) - 1
            continue
        tool = random.choice(scene.tools)
        script.append(_Step("call", random.choice(scene.thoughts), tool, {"n": at, "of": scene.name}))
        script.append(_Step("tool", _result(tool, random)))
    return script, failures


def _result(tool: str, random: Random) -> str:
    return random.choice(KINDS.get(tool, (_page, _records)))(random)


def _openai(script: list[_Step], system: str) -> tuple[list[dict[str, Any]], list[int]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}]
    places = []
    for at, step in enumerate(script):
        places.append(len(messages))
        if step.role == "call":
            function = {"name": step.tool, "arguments": json.dumps(step.arguments, ensure_ascii=False)}
            call = {"id": f"call_{at}", "type": "function", "function": function}
            messages.append({"role": "assistant", "content": step.text, "tool_calls": [call]})
        elif step.role == "tool":
            messages.append({"role": "tool", "tool_call_id": f"call_{at - 1}", "content": step.text})
        else:
            messages.append({"role": step.role, "content": step.text})
    return messages, places


def _anthropic(script: list[_Step], system: str) -> tuple[list[dict[str, Any]], list[int]]:
    """The system prompt is not among the messages."""
    messages: list[dict[str, Any]] = []
    for at, step in enumerate(script):
        if step.role == "call":
            call = {"type": "tool_use", "id": f"toolu_{at}", "name": step.tool, "input": step.arguments}
            messages.append({"role": "assistant", "content": [{"type": "text", "text": step.text}, call]})
        elif step.role == "tool":
            result = {"type": "tool_result", "tool_use_id": f"toolu_{at - 1}", "content": step.text}
            messages.append(
                {"role": "user", "content": [result | ({"is_error": True} if step.failed else {})]}
            )
        else:
            messages.append({"role": step.role, "content": step.text})
    return messages, list(range(len(messages)))
