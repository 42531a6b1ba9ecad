"""The worker: what was heard becomes memories, once, whatever happens to the processes."""

# mypy: disable-error-code="attr-defined"
# Because parts of a module or an engine are looked into.

import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nagori import Nagori
from nagori.core.events import OPEN_PROMPTS
from nagori.edges import hooks
from nagori.edges.hosts import launcher_script
from nagori.edges.worker import run as worker
from nagori.edges.worker.recover_answers_from_transcripts import TRANSCRIPTS, finish_killed
from nagori.edges.worker.run import work
from nagori.edges.worker.spawn import LOCK, is_working, start
from nagori.errors import InvalidInput
from nagori.files import take_lock
from nagori.journals.file import FileJournal
from nagori.services import process_turns
from nagori.services.record_turns_or_spool import spool

OWNER = ("local", "me")


@pytest.fixture
def folder(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NAGORI_HOOKS__WORKER", "false")
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
    return own_home / ".local/share/nagori"


def say(name: str, session: str, **more: object) -> None:
    payload = {"hook_event_name": name, "session_id": session, "cwd": "/srv/app", **more}
    said = hooks.answer(["--host", "claude-code"], io.BytesIO(json.dumps(payload).encode()))
    assert "systemMessage" not in said, said


def ask(text: str, session: str = "s", ref: str | None = None, **more: object) -> None:
    say("UserPromptSubmit", session, prompt=text, **({"prompt_id": ref} if ref else {}), **more)


def reply(text: str, session: str = "s", ref: str | None = None) -> None:
    say("Stop", session, last_assistant_message=text, **({"prompt_id": ref} if ref else {}))


def talk(turns: int, session: str = "s") -> None:
    for n in range(turns):
        ask(f"Question {n} of {session}: what is {word(n)}?", session, f"p{n}")
        reply(f"Answer {n} of {session}: {word(n)} is {word(n + 500)}.", session, f"p{n}")


def word(number: int) -> str:
    return "".join(random.Random(number).choices("bcdfghklmnprstvz", k=8))


def kept(folder: Path) -> Counter[str]:
    """What is remembered, and how often it was stored or mentioned."""
    with Nagori.open(folder) as memory:
        assert memory.verify().sound
        lines = [json.loads(line)["memory"] for line in list(memory.export())[1:]]
    counts: Counter[str] = Counter()
    for line in lines:
        for side in filter(None, (line["texts"]["1"]["trigger"], line["texts"]["1"]["content"])):
            counts[side] = line.get("mentions", 1)
    return counts


def exported(folder: Path) -> list[str]:
    with Nagori.open(folder) as memory:
        return list(memory.export())


def heard(folder: Path) -> list[str]:
    events = FileJournal(folder / "journal").read(OWNER)
    return [event.data["text"] for event in events if event.type == "turn_recorded"]


def is_processed(folder: Path) -> bool:
    events = FileJournal(folder / "journal").read(OWNER)
    return any(event.type == "turns_processed" for event in events)


def lose_store(folder: Path) -> None:
    for path in folder.glob("nagori.db*"):
        path.unlink()


# --- once -----------------------------------------------------------------------------------------


def test_what_was_heard_becomes_memories_with_their_place_in_the_session(folder: Path) -> None:
    talk(2)
    say("PostToolUseFailure", "s", tool_name="Bash", tool_input={"command": "make"}, error="no rule")
    assert work(folder) == 5
    with Nagori.open(folder) as memory:
        found = memory.with_scope(project="/srv/app").list()
    assert sorted(each.source.turn for each in found if each.source.turn is not None) == [0, 2, 4]
    assert all(each.text.trigger for each in found if each.trust != "tool")  # a question before its answer
    assert {str(each.trust) for each in found} == {"user", "tool"}
    assert {each.project for each in found} == {"/srv/app"}
    assert [str(each.kind) for each in found if each.trust == "tool"] == ["lesson"]


def test_working_twice_is_working_once(folder: Path) -> None:
    talk(3)
    say("PostToolUseFailure", "s", tool_name="Bash", tool_input={"command": "make"}, error="no rule")
    say("PostCompact", "s", compact_summary="<summary>They spoke of words.</summary>")
    assert work(folder) == 8
    before = exported(folder)
    assert work(folder) == 0
    assert exported(folder) == before


def test_a_lost_store_makes_nothing_twice(folder: Path) -> None:
    talk(3)
    say("PostToolUseFailure", "s", tool_name="Bash", tool_input={"command": "make"}, error="no rule")
    say("PostCompact", "s", compact_summary="<summary>They spoke of words.</summary>")
    work(folder)
    before = exported(folder)
    lose_store(folder)
    assert work(folder) == 0
    assert exported(folder) == before
    ask("One more.", ref="n")
    lose_store(folder)
    assert work(folder) == 1


def test_turns_whose_processing_was_not_noted_are_formed_once(folder: Path) -> None:
    """As after a crash between the last memory and the note."""
    talk(3)
    work(folder)
    before = exported(folder)
    lose_store(folder)
    [segment] = (folder / "journal/local/me").glob("*.jsonl")
    lines = segment.read_bytes().splitlines(keepends=True)
    assert b"cycle_finished" in lines[-1]
    assert b"turns_processed" in lines[-2]
    segment.write_bytes(b"".join(lines[:-2]))
    FileJournal(folder / "journal").request_work(OWNER)
    assert work(folder) == 6
    assert exported(folder) == before


def test_hooks_that_are_installed_twice_are_heard_once(folder: Path) -> None:
    for _ in range(2):
        ask("Which tea is the best?", ref="p1")
    for _ in range(2):
        reply("Green tea.", ref="p1")
    ask("Which tea is the best?", ref="p2")
    assert work(folder) == 3
    assert kept(folder) == {"Which tea is the best?": 1, "Green tea.": 1}  # asked again, and not answered


def test_a_subagent_may_say_the_same_as_who_called_it(folder: Path) -> None:
    ask("Count the cups.", ref="p1")
    say("SubagentStop", "s", agent_type="counter", prompt_id="p1", last_assistant_message="Seven cups.")
    reply("Seven cups.", ref="p1")
    assert work(folder) == 3


def test_the_numbers_of_turns_do_not_depend_on_when_the_worker_came_by(folder: Path) -> None:
    for n in range(12):
        talk(1, f"s{n % 5}")
        if n % 4 == 3:
            work(folder)
    work(folder)
    before = exported(folder)
    lose_store(folder)
    FileJournal(folder / "journal").request_work(OWNER)
    work(folder)
    assert exported(folder) == before


def test_a_turn_that_cannot_be_kept_holds_up_nobody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(which: str) -> Any:
        real = getattr(process_turns, which)

        def picky(parts: Any, scope: Any, items: Any, **more: Any) -> Any:
            if any("poison" in repr(each) for each in items):
                raise InvalidInput("content", "not this")
            return real(parts, scope, items, **more)

        return picky

    monkeypatch.setattr(process_turns, "form_memories", refuse("form_memories"))
    monkeypatch.setattr(process_turns, "remember_many", refuse("remember_many"))
    ask("First.", ref="1")
    reply("This is poison.", ref="1")
    say("PostToolUseFailure", "s", tool_name="Bash", error="poison")
    say("PostToolUseFailure", "s", tool_name="Bash", error="no rule")
    ask("Last.", ref="2")
    assert work(folder) == 3
    assert set(kept(folder)) == {"First.", "Last.", "Bash : no rule"}
    assert work(folder) == 0


# --- one at a time --------------------------------------------------------------------------------


def test_of_two_workers_one_works(folder: Path) -> None:
    talk(2)
    lock = take_lock(folder / LOCK)
    assert lock is not None
    assert is_working(folder)
    assert work(folder) == 0
    os.close(lock)
    assert not is_working(folder)
    assert work(folder) == 4


def test_two_worker_processes_at_once_store_everything_once(folder: Path) -> None:
    talk(10)
    running = [worker_process(folder) for _ in range(2)]
    for each in running:
        assert each.wait(60) == 0
    assert kept(folder) == dict.fromkeys(heard(folder), 1)


def worker_process(folder: Path) -> subprocess.Popen[bytes]:
    code = "import sys; from nagori.edges.worker.run import main; main(sys.argv[1])"
    return subprocess.Popen([sys.executable, "-c", code, str(folder)])


def test_a_hook_that_looks_for_a_worker_does_not_send_the_new_one_away(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(1)
    looking = take_lock(folder / LOCK)
    assert looking is not None
    monkeypatch.setattr(worker.time, "sleep", lambda _: os.close(looking))
    assert work(folder) == 2


def test_what_is_written_while_a_worker_finishes_is_not_left_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hook sees a worker at work and starts none, so that worker has to look once more."""
    talk(1)
    late = iter(["This comes too late."])

    def at_the_very_end(_: Path) -> None:
        for text in late:
            ask(text)
            spool(folder, OWNER, [next(FileJournal(folder / "journal").read(OWNER))])
            assert is_working(folder)

    monkeypatch.setattr(worker, "sweep", at_the_very_end)
    assert work(folder) == 3
    assert "This comes too late." in kept(folder)
    assert not list((folder / "spool").glob("*"))


def test_the_lock_of_a_dead_worker_is_nobody_s(folder: Path) -> None:
    talk(1)
    folder.joinpath(LOCK).write_text("123456")
    code = "import sys, time; from pathlib import Path; from nagori.files import take_lock\n"
    code += "take_lock(Path(sys.argv[1]) / 'worker.lock'); print('held', flush=True); time.sleep(60)"
    command = [sys.executable, "-c", code, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_working(folder)
        holder.kill()
    assert not is_working(folder)
    assert work(folder) == 2


def test_a_worker_ends_when_nothing_waits_even_behind_a_torn_line(folder: Path) -> None:
    """A line that a killed hook left unfinished is nothing to wait for; it once kept the worker turning."""
    talk(1)
    [segment] = (folder / "journal/local/me").glob("*.jsonl")
    with segment.open("ab") as file:
        file.write(b'{"v":1,"type":"heard","da')
    assert work(folder) == 2
    with segment.open("ab") as file:
        file.write(b'broken"}\n')
    assert work(folder) == 0
    ask("And on it goes.")
    assert work(folder) == 1


def test_a_started_worker_belongs_to_nobody_and_ends(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talk(1)
    monkeypatch.delenv("NAGORI_HOOKS__WORKER")
    before = children()  # other tests of this process may have some
    assert start(folder)
    for _ in range(1200):  # before it is a worker it looks like ourselves
        if is_processed(folder):
            break
        time.sleep(0.05)
    wait_for_workers(folder)
    assert kept(folder) == dict.fromkeys(heard(folder), 1)
    assert children() <= before  # not even one that nobody has waited for


def children() -> set[int]:
    """The processes whose parent we are, ended ones included."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # gone meanwhile
            continue
        if parent == os.getpid():
            found.add(int(place.name))
    return found


def wait_for_workers(folder: Path) -> None:
    """Until no process mentions the folder; a minute is for a machine that stands still."""
    for _ in range(1200):
        if not workers(folder):
            return
        time.sleep(0.05)
    pytest.fail(f"still running: {workers(folder)}")


def workers(folder: Path) -> list[int]:
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("no /proc to look for processes in")
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (place / "cmdline").read_bytes() and int(place.name) != os.getpid():
                found.append(int(place.name))
        except OSError:
            continue
    return found


# --- trouble --------------------------------------------------------------------------------------


def test_what_waits_in_the_spool_is_taken_in_once(folder: Path) -> None:
    talk(1)
    event = next(FileJournal(folder / "journal").read(OWNER))
    for _ in range(2):  # as after a crash between taking it and removing it
        spool(folder, OWNER, [event])
    (folder / "spool" / "1.jsonl").write_bytes(b"rubbish")
    assert work(folder) == 2
    assert kept(folder) == dict.fromkeys(heard(folder)[:2], 1)
    assert [path.name for path in (folder / "spool").iterdir()] == ["1.unreadable"]


def test_a_crash_after_the_spool_was_taken_in_stores_nothing_twice(folder: Path) -> None:
    """Also without the host's own name for the turn."""
    ask("Green tea is the best.")
    event = next(FileJournal(folder / "journal").read(OWNER))
    spool(folder, OWNER, [event])
    assert work(folder) == 1
    assert kept(folder) == {"Green tea is the best.": 1}


def test_trouble_leaves_a_note_without_words_and_is_over_when_it_is_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(1)
    for trouble in (OSError(28, "No space left on device"), RuntimeError("nobody thought of this")):
        with monkeypatch.context() as patch:
            patch.setattr(
                process_turns, "form_memories", lambda *_, trouble=trouble: (_ for _ in ()).throw(trouble)
            )
            assert work(folder) == 0
        note = (folder / worker.LOG).read_text()
        assert type(trouble).__name__ in note
        assert "Question" not in note
        assert (folder / worker.LOG).stat().st_mode & 0o077 == 0
    assert work(folder) == 2
    assert not (folder / worker.LOG).exists()


def test_notes_that_vanish_while_they_are_looked_through_are_no_trouble(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(1)
    real = Path.glob
    monkeypatch.setattr(
        Path,
        "glob",
        lambda self, pattern: (
            [*real(self, pattern), self / "1.new"] if pattern == "*" else real(self, pattern)
        ),
    )
    assert work(folder) == 2
    assert not (folder / worker.LOG).exists()


# --- sessions that were killed --------------------------------------------------------------------


def transcript(path: Path, *turns: tuple[str, str, datetime]) -> Path:
    lines = [
        {
            "type": kind,
            "sessionId": "s",
            "uuid": f"u{n}",
            "timestamp": at.isoformat(),
            "message": {"role": kind, "content": text},
        }
        for n, (kind, text, at) in enumerate(turns)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def age(path: Path, **by: float) -> None:
    then = time.time() - timedelta(**by).total_seconds()
    os.utime(path, (then, then))


def asked_long_ago(folder: Path, monkeypatch: pytest.MonkeyPatch, path: Path, **by: float) -> None:
    from nagori.runtime import SystemClock

    then = datetime.now(UTC) - timedelta(**by)
    with monkeypatch.context() as patch:
        patch.setattr(SystemClock, "now", lambda self: then)
        ask("Which tea is the best?", ref="p1", transcript_path=str(path))
    work(folder)


def test_a_killed_session_is_finished_from_the_host_s_own_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    now = datetime.now(UTC)
    before, after = now - timedelta(hours=2), now - timedelta(minutes=50)
    path = transcript(
        tmp_path / "s.jsonl",
        ("assistant", "An old answer.", before),
        ("user", "Which tea is the best?", after),
        ("assistant", "Green tea, and password = hunter2Xq9.", after),
    )
    age(path, minutes=30)
    asked_long_ago(folder, monkeypatch, path, hours=1)
    ask("Something else.", "other")
    work(folder)
    assert [text for text in heard(folder) if "Green tea" in text] == [
        "Green tea, and password = [secret:password]."
    ]
    assert "An old answer." not in heard(folder)
    before_again = exported(folder)
    lose_store(folder)
    FileJournal(folder / "journal").request_work(OWNER)
    work(folder)
    assert exported(folder) == before_again


def test_a_crash_while_a_killed_session_is_finished_stores_its_answer_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = transcript(
        tmp_path / "s.jsonl", ("assistant", "Green tea.", datetime.now(UTC) - timedelta(minutes=50))
    )
    age(path, minutes=30)
    with monkeypatch.context() as patch:
        patch.setattr(worker, "finish_killed", lambda *_: None)
        asked_long_ago(folder, monkeypatch, path, hours=1)
    for _ in range(2):  # the store has not followed yet, as after a crash: the prompt still stands open
        with Nagori.open(folder) as memory:
            assert finish_killed(memory.runtime, OWNER) == 1
    assert heard(folder).count("Green tea.") == 2
    work(folder)
    assert kept(folder)["Green tea."] == 1


def test_a_session_that_is_still_being_written_is_not_taken_for_a_killed_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An agent may work on one prompt for an hour; its answer comes with its own hook."""
    path = transcript(tmp_path / "s.jsonl", ("assistant", "First I look.", datetime.now(UTC)))
    asked_long_ago(folder, monkeypatch, path, hours=1)
    work(folder)
    assert heard(folder) == ["Which tea is the best?"]
    reply("Green tea.", ref="p1")
    age(path, minutes=30)
    work(folder)
    assert heard(folder) == ["Which tea is the best?", "Green tea."]


def test_a_file_without_an_answer_is_read_once_and_not_again_and_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = transcript(tmp_path / "s.jsonl", ("user", "Which tea is the best?", datetime.now(UTC)))
    age(path, minutes=30)
    reads: list[Path] = []

    def read(path: Path) -> Iterator[Any]:
        reads.append(path)
        return iter(())

    monkeypatch.setitem(TRANSCRIPTS, "claude-code", read)
    asked_long_ago(folder, monkeypatch, path, hours=1)
    work(folder)
    work(folder)
    assert reads == [path]
    with Nagori.open(folder) as memory:
        assert list(memory.runtime.store.state(OWNER, OPEN_PROMPTS)) == ["s"]


def test_a_prompt_without_an_answer_is_given_up_after_a_week(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answered = ("assistant", "Green tea.", datetime.now(UTC) - timedelta(days=7))
    path = transcript(tmp_path / "s.jsonl", answered)
    age(path, days=7)
    asked_long_ago(folder, monkeypatch, path, days=8)
    work(folder)
    assert heard(folder) == ["Which tea is the best?"]


# --- killed at any point --------------------------------------------------------------------------


def kill_workers(folder: Path, seeds: range, turns: int) -> int:
    """Start workers on what was said and kill each at a random moment of its life, which is as long as that
    of a first one; how many were killed in time."""
    talk(turns, "first")
    begun = time.monotonic()
    assert worker_process(folder).wait() == 0
    life = time.monotonic() - begun
    killed = 0
    for seed in seeds:
        dice = random.Random(seed)
        talk(turns, f"session {seed}")
        process = worker_process(folder)
        time.sleep(life * dice.uniform(0.2, 1.0))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        if dice.random() < 0.3:
            lose_store(folder)
    return killed


def test_10_workers_killed_at_random_lose_nothing_and_store_nothing_twice(folder: Path) -> None:
    check_kills(folder, range(10), 3)


@pytest.mark.slow
def test_200_workers_killed_at_random_lose_nothing_and_store_nothing_twice(folder: Path) -> None:
    check_kills(folder, range(100, 300), 2)


def check_kills(folder: Path, seeds: range, turns: int) -> None:
    killed = kill_workers(folder, seeds, turns)
    assert killed, "they were all killed after they had ended"
    work(folder)
    said, found = heard(folder), kept(folder)
    assert len(said) == 2 * turns * (len(seeds) + 1)
    assert found == dict.fromkeys(said, 1)
    print(f"{killed} of {len(seeds)} workers killed at work, {len(said)} turns, 0 lost, 0 twice")


# --- a life -----------------------------------------------------------------------------------------


def call(folder: Path, payload: dict[str, object], kill_after: float | None = None) -> bool:
    """One hook as a process; whether it ended by itself."""
    process = subprocess.Popen(
        launcher_script.hook_command("claude-code", folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    if kill_after is None:
        out, _ = process.communicate(json.dumps(payload).encode(), timeout=60)
        assert process.returncode == 0
        assert not out or b"systemMessage" not in out, out
        return True
    assert process.stdin is not None
    process.stdin.write(json.dumps(payload).encode())
    process.stdin.close()
    time.sleep(kill_after)
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    return process.returncode == 0


def live(folder: Path, conversations: int, seed: int) -> None:
    """Conversations with real hooks and real workers. Some hooks are killed, some come twice, some
    sessions never end."""
    dice = random.Random(seed)
    certain: set[str] = set()
    possible: set[str] = set()
    killed = doubled = 0
    for number in range(conversations):
        session = f"talk {number}"
        usual: dict[str, object] = {"session_id": session, "cwd": "/srv/app"}
        call(folder, {**usual, "hook_event_name": "SessionStart", "source": "startup"})
        for turn in range(dice.randrange(1, 4)):
            mark = word(1000 * number + turn)
            prompt = {"hook_event_name": "UserPromptSubmit", "prompt": f"{session} asks {turn} of {mark}."}
            stop = {"hook_event_name": "Stop", "last_assistant_message": f"{session} says {turn} of {mark}."}
            for said, field in ((prompt, "prompt"), (stop, "last_assistant_message")):
                payload = {**usual, **said, "prompt_id": f"{session}-{turn}"}
                chance = dice.random()
                possible.add(said[field])
                if chance < 0.15:
                    killed += 1
                    if call(folder, payload, dice.uniform(0.0, 0.15)):
                        certain.add(said[field])
                else:
                    call(folder, payload)
                    certain.add(said[field])
                if chance > 0.9:
                    doubled += 1
                    call(folder, payload)
        if dice.random() < 0.6:
            call(folder, {**usual, "hook_event_name": "SessionEnd", "reason": "other"})
    call(folder, {"session_id": "last", "hook_event_name": "SessionStart", "source": "startup"})
    wait_for_workers(folder)
    found = kept(folder)
    assert certain - found.keys() == set(), "lost"
    assert set(found) <= possible
    assert max(found.values()) == 1, "stored or counted twice"
    assert not (folder / worker.LOG).exists()
    assert is_processed(folder)
    assert not list((folder / "spool").glob("*.jsonl"))
    print(f"{conversations} conversations, {len(certain)} turns acknowledged, {killed} hooks killed")
    print(f"{doubled} doubled, {len(found)} memories, 0 lost, 0 twice, 0 processes left")


@pytest.fixture
def living(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("NAGORI_HOOKS__WORKER")
    launcher_script.write(folder, launcher_script.texts(folder, "gone", {}))
    return folder


def test_8_conversations_with_killed_hooks_end_with_everything_kept_once(
    living: Path, tmp_path: Path
) -> None:
    live(living, 8, 1)


@pytest.mark.slow
def test_200_conversations_with_killed_hooks_end_with_everything_kept_once(
    living: Path, tmp_path: Path
) -> None:
    live(living, 200, 2)
