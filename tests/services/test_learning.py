"""Learning from outcomes: what agents do is observed, credited once, and moves settings by evidence."""

# mypy: disable-error-code="arg-type"
# Because words stand for members of enums, or options are passed on as a dict.

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nagori import Draft, Emotion, Filter, Kind, Nagori, ToolResult
from nagori.config import load
from nagori.core.events import LEARNED, POLICY, SESSIONS, Event
from nagori.core.memory_scores import contribution
from nagori.core.model import NO_CREDIT, Credit, Memory, RelationType
from nagori.core.outcomes_lessons_and_credit import LEVERS, Evidence
from nagori.errors import InvalidConfig, InvalidInput, Notice
from nagori.event_ledger import record_turns
from nagori.services import learned_settings as policies
from nagori.services.learned_settings import settings_in_force
from nagori.services.lessons_and_credit import credit_sessions
from nagori.services.process_turns import process
from nagori.services.prompt_context import context_for_prompt
from nagori.services.record_turns_or_spool import turn_event, work_event
from nagori.testing import FrozenClock, WordEmbedder

OWNER = ("local", "me")
ERROR = "no rule to make target kettle"
Call = tuple[str, str, bool, int, str]


def call(target: str, ok: bool = True, ms: int = 100, error: str = "") -> Call:
    return ("Bash", target, ok, ms, error)


def work(memory: Nagori, results: Sequence[Call], session: str = "one", answer: str = "Done it all.") -> None:
    """The end of a turn, as a hook records it."""
    runtime, scope, now = memory.runtime, memory.scope, memory.runtime.clock.now()
    said = turn_event(
        scope, runtime.config.privacy, text=answer, role="assistant", at=now, session=session, by="host"
    )
    done = [work_event(scope, results, now, session)] if results else []
    record_turns(runtime.journal, OWNER, [*([said] if said else []), *done])


def ask(memory: Nagori, prompt: str, session: str = "one") -> tuple[str, ...]:
    """A prompt, as a hook hears it; returns the ids of what was shown."""
    runtime = memory.runtime
    memory.turn(prompt, session=session)
    memory.runtime.clock.forward(seconds=1)  # type: ignore[attr-defined]
    return tuple(m.id for m in context_for_prompt(runtime, memory.scope, prompt, session).memories)


def lesson(memory: Nagori, text: str, **more: Any) -> Memory:
    (kept,) = memory.remember_many([Draft(text, kind=Kind.LESSON, emotion=Emotion(80), **more)])
    return kept


def without_withholding(folder: Path, clock: FrozenClock, **settings: object) -> Nagori:
    changes = {f"learning.{name}": value for name, value in ({"withhold_share": 0.0} | settings).items()}
    config = load(overrides=changes).config
    return Nagori.open(folder, clock=clock, config=config, embedder=WordEmbedder())


@pytest.fixture
def calm(tmp_path: Path, clock: FrozenClock) -> Any:
    """A memory that withholds nothing, so that every test sees what it shows."""
    with without_withholding(tmp_path, clock) as opened:
        yield opened


# --- lessons --------------------------------------------------------------------------------------


def test_a_failure_followed_by_success_on_the_same_target_is_a_lesson_linked_to_both(calm: Nagori) -> None:
    """[S2, S7]"""
    runtime, scope = calm.runtime, calm.scope
    calm.turn("Our kettle of the harbour office is built by make.", session="one")
    failed = turn_event(
        scope,
        runtime.config.privacy,
        text=f"Bash make kettle: {ERROR}",
        role="tool",
        at=runtime.clock.now(),
        session="one",
        by="host",
    )
    record_turns(runtime.journal, OWNER, [failed] if failed else [])
    work(calm, [call("make kettle", False, error=ERROR), call("ls"), call("make kettle FUEL=gas")])
    process(runtime, OWNER)
    lessons = {m.fullest.content: m for m in calm.list(Filter(kinds=frozenset({Kind.LESSON})))}
    learned = lessons[f"Bash `make kettle FUEL=gas` worked; Bash `make kettle` failed: {ERROR}"]
    failure = lessons[f"Bash make kettle: {ERROR}"]
    assert str(learned.outcome) == "success"
    relations = {
        (r.target, r.type) for r in runtime.store.relations(scope, [learned.id]) if r.source == learned.id
    }
    assert (failure.id, RelationType.DERIVED_FROM) in relations
    assert [type for target, type in relations if target != failure.id] == [RelationType.REFERENCES]


def test_a_failure_in_one_turn_and_a_success_in_the_next_make_one_lesson_once(calm: Nagori) -> None:
    work(calm, [call("npm test", False, error="timeout")])
    process(calm.runtime, OWNER)
    work(calm, [call("npm test -- --runInBand")])
    process(calm.runtime, OWNER)
    work(calm, [call("npm test -- --runInBand")])
    process(calm.runtime, OWNER)
    found = [m.fullest.content for m in calm.list(Filter(kinds=frozenset({Kind.LESSON})))]
    assert found == ["Bash `npm test -- --runInBand` worked; Bash `npm test` failed: timeout"]
    calm.rebuild()
    assert [m.fullest.content for m in calm.list(Filter(kinds=frozenset({Kind.LESSON})))] == found


# --- credit ---------------------------------------------------------------------------------------

TIP = "For the kettle of the harbour office use the gas burner with valve seven."
PROMPT = "Please boil the kettle of the harbour office now."
QUESTION = "Where is the kettle of the harbour office?"


def test_what_was_shown_unasked_is_strengthened_only_if_it_was_used(calm: Nagori, clock: FrozenClock) -> None:
    """[S7, ruling 43]"""
    tip = lesson(calm, TIP)
    assert ask(calm, PROMPT) == (tip.id,)
    assert calm.show(tip.id).recalled_at is None
    work(calm, [call("burner --gas --valve seven")])
    assert process(calm.runtime, OWNER)
    note = calm.runtime.store.state(OWNER, SESSIONS)["one"]["awaiting"][0]
    assert (note["outcome"], note["used"]) == (1.0, {tip.id: 1.0})  # provisional at the end of the turn
    assert calm.show(tip.id).credit == NO_CREDIT
    clock.forward(minutes=11)
    process(calm.runtime, OWNER)  # final when the session is over
    credited = calm.show(tip.id)
    assert (credited.credit.used, credited.credit.unused, credited.recalled_at) == (1.0, 0, clock.now())
    assert "awaiting" not in calm.runtime.store.state(OWNER, SESSIONS)["one"]


def test_what_was_shown_and_ignored_is_not_strengthened(calm: Nagori, clock: FrozenClock) -> None:
    tip = lesson(calm, TIP)
    ask(calm, PROMPT)
    work(calm, [call("microwave --start")], answer="I warmed some water elsewhere.")
    clock.forward(minutes=11)
    process(calm.runtime, OWNER)
    ignored = calm.show(tip.id)
    assert (ignored.credit.used, ignored.credit.ignored, ignored.credit.unused) == (0.0, 1.0, 1)
    assert ignored.recalled_at is None


def test_use_in_a_call_that_fails_and_a_rejected_answer_speak_against_a_memory(
    calm: Nagori, clock: FrozenClock
) -> None:
    tip = lesson(calm, TIP)
    for n, (ok, after) in enumerate([(False, "Thanks."), (True, "No, that's wrong, it leaks.")]):
        ask(calm, PROMPT, session=f"s{n}")
        work(calm, [call("burner --gas --valve seven", ok)], session=f"s{n}")
        calm.turn(after, session=f"s{n}")
    clock.forward(minutes=11)
    process(calm.runtime, OWNER)
    blamed = calm.show(tip.id)
    assert blamed.credit.used == pytest.approx(1.98)
    assert blamed.credit.used_sum < 0
    assert blamed.recalled_at is None


def test_the_words_of_the_prompt_are_no_use_of_a_memory(calm: Nagori, clock: FrozenClock) -> None:
    tip = lesson(calm, TIP)
    ask(calm, PROMPT)
    work(calm, [call("boil kettle --at harbour office")])
    clock.forward(minutes=11)
    process(calm.runtime, OWNER)
    assert calm.show(tip.id).credit.used == 0.0


def test_an_asked_recall_strengthens_as_before(calm: Nagori, clock: FrozenClock) -> None:
    tip = lesson(calm, TIP)
    calm.recall("kettle of the harbour office")
    assert calm.show(tip.id).recalled_at == clock.now()


def test_a_session_that_ended_is_credited_at_once(calm: Nagori) -> None:
    tip = lesson(calm, TIP)
    ask(calm, PROMPT)
    work(calm, [call("burner --gas --valve seven")])
    process(calm.runtime, OWNER, ended=["one"])
    assert calm.show(tip.id).credit.used == 1.0


def test_a_kill_anywhere_credits_nothing_twice(tmp_path: Path, clock: FrozenClock) -> None:
    """[S7] Killed before each event and after each event in turn; then all work is done again."""

    class Killed(BaseException):
        pass

    def life(folder: Path, kill_at: int | None, after: bool) -> tuple[Any, int]:
        start = clock.now()
        with without_withholding(folder, clock) as memory:
            tip = lesson(memory, TIP)
            ask(memory, PROMPT)
            work(memory, [call("burner", False, error="cold"), call("burner --gas --valve seven")])
            clock.forward(minutes=11)
            append, count = memory.runtime.journal.append, 0

            def killing(owner: Any, events: Sequence[Event], last: int) -> list[Event]:
                nonlocal count
                count += 1
                if count == kill_at and not after:
                    raise Killed
                written = append(owner, events, last)
                if count == kill_at:
                    raise Killed
                return written

            memory.runtime.journal.append = killing  # type: ignore[method-assign,assignment]
            try:
                process(memory.runtime, OWNER)
            except Killed:
                memory.runtime.journal.append = append  # type: ignore[method-assign,assignment]
        with without_withholding(folder, clock) as memory:
            for _ in range(2):
                process(memory.runtime, OWNER)
                credit_sessions(memory.runtime, OWNER, ["one"])
            lessons = memory.list(Filter(kinds=frozenset({Kind.LESSON})))
            told = (memory.show(tip.id).credit, len(lessons), memory.runtime.store.state(OWNER, LEARNED))
            assert memory.verify().sound
        clock.set(start)
        return told, count

    whole, writes = life(tmp_path / "whole", None, False)
    assert whole[0].used == 1.0
    assert writes >= 4
    for number in range(1, writes + 1):
        for after in (False, True):
            again, _ = life(tmp_path / f"killed-{number}-{after}", number, after)
            assert again == whole


def test_a_program_records_what_its_tools_did_and_is_credited_alike(calm: Nagori, clock: FrozenClock) -> None:
    """[S7] Here the context is asked for before the prompt is recorded."""
    tip = lesson(calm, TIP)
    prompt = "No, please boil the kettle of the harbour office now."
    assert [m.id for m in calm.context(prompt, session="one").memories] == [tip.id]
    opened = calm.turn(prompt, session="one")
    opened.answer("It boils.")
    key = "sk-ant-" + "api03-" + "Ab1" * 20
    calm.record_tools(
        [ToolResult("Bash", f"burner --gas --valve seven {key}", True, 30, times=2)], session="one"
    )
    calm.record_tools([], session="one")
    clock.forward(minutes=11)
    process(calm.runtime, OWNER)
    credit = calm.show(tip.id).credit
    assert (credit.used, credit.used_sum) == (1.0, 0.5)  # its own "No" is no rejection
    journal = b"".join(p.read_bytes() for p in calm.runtime.data_dir.rglob("*.jsonl"))
    assert key.encode() not in journal
    for wrong in ("text", [1], [ToolResult("a", "b", True), None]):
        with pytest.raises(InvalidInput):
            calm.record_tools(wrong, session="one")
    for fault in ({"ok": 1}, {"ms": -1}, {"times": 0}, {"target": None}):
        with pytest.raises(InvalidInput):
            ToolResult(**{"tool": "a", "target": "b", "ok": True} | fault)


# --- withholding ----------------------------------------------------------------------------------


def test_about_one_prompt_in_ten_withholds_one_memory_that_is_no_fact_and_not_protected(
    memory: Nagori, clock: FrozenClock
) -> None:
    """[ruling 52]"""
    tip = lesson(memory, TIP)
    fact = memory.remember("The kettle of the harbour office holds nine litres.")
    known = {"usual": {"": [1.0, 1.0, 0.0]}, "evidence": {}}
    memory.runtime.ledger.write(OWNER, lambda: [Event("credited", clock.now(), {**known, "credits": {}})])
    withheld = []
    for n in range(300):
        shown = ask(memory, PROMPT, session=f"s{n}")
        (note,) = memory.runtime.store.state(OWNER, SESSIONS)[f"s{n}"]["awaiting"]
        withheld.append(note.get("withheld"))
        assert set(note["order"]) == {*shown, *([note["withheld"]] if "withheld" in note else [])}
        assert note["share"] == pytest.approx(0.1)
    assert set(withheld) == {None, tip.id}
    assert 15 <= withheld.count(tip.id) <= 48  # 30 expected: three standard deviations
    assert fact.id not in withheld


def test_nothing_is_withheld_from_a_user_without_outcomes(memory: Nagori) -> None:
    tip = lesson(memory, TIP)
    assert all(ask(memory, PROMPT, session=f"s{n}") == (tip.id,) for n in range(40))


def test_a_memory_that_is_never_used_is_no_longer_shown_unasked_but_found(
    calm: Nagori, clock: FrozenClock
) -> None:
    """[S8]"""
    tip = lesson(calm, TIP)
    for n in range(12):
        assert tip.id in ask(calm, QUESTION, session=f"s{n}")
        work(calm, [call("microwave --start")], session=f"s{n}", answer="OK.")
        process(calm.runtime, OWNER, ended=[f"s{n}"])
    assert tip.id not in ask(calm, QUESTION, session="last")
    assert tip.id in [r.id for r in calm.recall("kettle of the harbour office")]


# --- policy ---------------------------------------------------------------------------------------

IDLE = Evidence(shown=2000, used=10)


def observe(memory: Nagori, **evidence: Evidence) -> None:
    """Evidence as many nights would have left it."""
    told = {f"{name.replace('__', '.')}": list(seen) for name, seen in evidence.items()}
    data = {"usual": {"": [1.0, 1.0, 0.0]}, "evidence": told, "credits": {}}
    memory.runtime.ledger.write(
        OWNER, lambda: [Event("credited", memory.runtime.clock.now(), data, by="worker")]
    )


def test_a_night_moves_one_setting_one_step_with_evidence_and_parent(
    calm: Nagori, clock: FrozenClock
) -> None:
    """[S8, ruling 53]"""
    observe(calm, hooks__max_memories=IDLE)
    night = calm.cycle()
    assert night.learned is not None
    assert (night.learned.setting, night.learned.before, night.learned.value) == ("hooks.max_memories", 8, 7)
    assert settings_in_force(calm.runtime, OWNER).hooks.max_memories == 7
    (version,) = calm.policy().versions
    assert (version.parent, version.reason, version.by, version.evidence) == (None, "use", "cycle", IDLE)
    assert version.gain is not None
    assert version.gain > 0
    assert calm.cycle().learned is None  # the same night, and its evidence is spent
    observe(calm, hooks__max_memories=IDLE)
    assert calm.cycle().learned is None
    clock.forward(days=1)
    assert calm.cycle().learned is not None
    assert [v.parent for v in calm.policy().versions] == [None, version.seq]
    calm.rebuild()
    assert settings_in_force(calm.runtime, OWNER).hooks.max_memories == 6


def test_going_back_restores_exactly_and_off_switches_everything_off(
    calm: Nagori, clock: FrozenClock
) -> None:
    """[S8]"""
    with pytest.raises(InvalidInput):
        calm.policy_back()
    seen = [calm.policy().values]
    for _ in range(3):
        observe(calm, hooks__max_memories=IDLE, learning__exclude_unused_after=IDLE)
        calm.cycle()
        clock.forward(days=1)
        seen.append(calm.policy().values)
    assert len({str(values) for values in seen}) == 4
    configs = [settings_in_force(calm.runtime, OWNER)]
    assert calm.policy_off().off
    assert settings_in_force(calm.runtime, OWNER) == calm.runtime.config
    assert calm.policy_back().values == seen[3]
    assert settings_in_force(calm.runtime, OWNER) == configs[0]
    for values in reversed(seen[:3]):
        assert calm.policy_back().values == values
    assert settings_in_force(calm.runtime, OWNER) == calm.runtime.config
    with pytest.raises(InvalidInput):
        calm.policy_back()
    assert calm.verify().sound


def test_no_night_moves_a_setting_that_is_off_or_without_evidence(calm: Nagori, clock: FrozenClock) -> None:
    observe(calm, hooks__max_memories=Evidence(shown=100, used=5))
    assert calm.cycle().learned is None
    calm.policy_off()
    clock.forward(days=2)
    observe(calm, hooks__max_memories=IDLE)
    assert calm.cycle().learned is None


@pytest.mark.parametrize("how", ["file", "variable", "program"])
def test_a_setting_that_a_person_chose_always_wins_even_if_it_is_the_default(
    tmp_path: Path, own_home: Path, clock: FrozenClock, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[S8]"""
    config = load().config
    with Nagori.open(tmp_path / "data", clock=clock, config=config, embedder=WordEmbedder()) as memory:
        observe(memory, hooks__max_memories=IDLE)
        memory.cycle()
        assert settings_in_force(memory.runtime, OWNER).hooks.max_memories == 7
        if how == "file":
            place = own_home / ".config/nagori/config.toml"
            place.parent.mkdir(parents=True)
            place.write_text("[hooks]\nmax_memories = 8\n")
        elif how == "variable":
            monkeypatch.setenv("NAGORI_HOOKS__MAX_MEMORIES", "8")
        else:
            memory.runtime.config = config.evolve({"hooks.max_memories": 9})
        wanted = memory.runtime.config.hooks.max_memories
        assert settings_in_force(memory.runtime, OWNER).hooks.max_memories == wanted
        observe(memory, hooks__max_memories=IDLE)
        clock.forward(days=1)
        assert memory.cycle().learned is None


def test_a_configuration_that_cannot_be_read_learns_nothing(
    calm: Nagori, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable() -> Any:
        raise InvalidConfig([Notice("error.missing")])

    monkeypatch.setattr(policies, "load", unreadable)
    observe(calm, hooks__max_memories=IDLE)
    assert calm.cycle().learned is None


def test_a_kill_before_or_after_a_step_leaves_one_step(calm: Nagori, clock: FrozenClock) -> None:
    observe(calm, hooks__max_memories=IDLE)
    append = calm.runtime.journal.append

    def killed(owner: Any, events: Sequence[Event], last: int) -> list[Event]:
        if any(event.type == "policy_changed" for event in events):
            append(owner, events, last)
            raise KeyboardInterrupt
        return append(owner, events, last)

    calm.runtime.journal.append = killed  # type: ignore[method-assign,assignment]
    with pytest.raises(KeyboardInterrupt):
        calm.cycle()
    calm.runtime.journal.append = append  # type: ignore[method-assign,assignment]
    calm.cycle()
    assert [version.value for version in calm.policy().versions] == [7]
    assert calm.runtime.store.state(OWNER, POLICY)["values"] == {"hooks.max_memories": 7}


def test_every_setting_that_is_learned_has_bounds_around_its_default(calm: Nagori) -> None:
    for name, lever in LEVERS.items():
        assert lever.lo <= policies.value_of(calm.runtime.config, name) <= lever.hi
    extreme = dict.fromkeys(LEVERS, 1e9)
    changed = policies.apply_settings(calm.runtime.config, extreme)
    assert {name: policies.value_of(changed, name) for name in LEVERS} == {
        name: lever.hi for name, lever in LEVERS.items()
    }


# --- organising -----------------------------------------------------------------------------------


def test_tiers_keep_what_is_hot_or_important_and_compress_the_rest(
    tmp_path: Path, clock: FrozenClock
) -> None:
    """[S4]"""
    config = load(overrides={"tiers.compress": True}).config
    long = "The {} of the harbour office holds nine litres of water, says Ken. It was bought in Rome in 1987."
    with Nagori.open(tmp_path, clock=clock, config=config, embedder=None) as memory:
        plain, kept, safe = (memory.remember(long.format(what)) for what in ("kettle", "boiler", "stove"))
        memory.protect(safe.id)
        data = {"credits": {kept.id: [20, 20, 0, 18, -18, 0, 0, 600]}, "memories": [kept.id], "usual": {}}
        memory.runtime.ledger.write(OWNER, lambda: [Event("credited", clock.now(), data)])
        clock.forward(days=6)
        assert memory.plan().counts()["compress", "tier"] == 0  # hot
        clock.forward(days=3)
        memory.cycle()
        levels = [int(memory.show(each.id).level) for each in (plain, kept, safe)]
        assert levels == [2, 1, 1]  # warm
        reasons = [e.data.get("reason") for e in memory.why(plain.id).history if e.type == "compressed"]
        assert reasons == ["tier"]
        assert memory.plan().counts()["compress", "tier"] == 0  # planning again gives none
        clock.forward(days=25)
        memory.cycle()
        assert int(memory.show(plain.id).level) == 3  # cold
        assert memory.verify().sound


def test_a_session_that_ends_leaves_one_stored_summary_as_private_as_its_memories(
    tmp_path: Path, clock: FrozenClock
) -> None:
    """[S3]"""
    with without_withholding(tmp_path, clock, session_summaries=True) as memory:
        cook = memory.with_scope(agent="a", role="cook")
        texts = ("The kettle is green.", "The burner needs gas.", "Ken bought nine cups in Rome.")
        formed = memory.form([{"role": "user", "content": text} for text in texts], session="one")
        assert len(formed) == 3
        secret = cook.remember("The key hangs behind the stove.", privacy="private")
        for _ in range(2):
            process(memory.runtime, OWNER, ended=["one", "never seen"])
        (summary,) = [m for m in memory.list() if m.kind is Kind.SUMMARY]
        assert summary.source.session == "one"
        assert str(summary.privacy) == "public"
        assert "stove" not in summary.fullest.content
        targets = {r.target for r in memory.runtime.store.relations(memory.scope, [summary.id])}
        assert targets == {m.id for m in formed}
        memory.edit(formed[0].id, privacy="private")
        assert cook.show(secret.id)


def test_what_was_learned_is_rebuilt_from_the_journal_alone(calm: Nagori) -> None:
    """[S11]"""
    tip = lesson(calm, TIP)
    ask(calm, PROMPT)
    work(calm, [call("burner --gas --valve seven")])
    process(calm.runtime, OWNER, ended=["one"])
    observe(calm, hooks__max_memories=IDLE)
    calm.cycle()
    before = [calm.show(tip.id)] + [
        calm.runtime.store.state(OWNER, key) for key in (LEARNED, POLICY, SESSIONS)
    ]
    calm.rebuild()
    after = [calm.show(tip.id)] + [
        calm.runtime.store.state(OWNER, key) for key in (LEARNED, POLICY, SESSIONS)
    ]
    assert after == before
    assert calm.verify().sound


def test_every_requirement_of_self_improvement_is_named_by_a_test() -> None:
    tests = Path(__file__).parents[1]
    marks = set()
    for path in tests.rglob("test_*.py"):
        for told in re.findall(r"\[([^\]\n]*\bS\d+[^\]\n]*)\]", path.read_text(encoding="utf-8")):
            marks.update(re.findall(r"\bS\d+\b", told))
    assert {f"S{n}" for n in range(1, 12)} <= marks


# --- importance and ranking -----------------------------------------------------------------------


def test_why_shows_the_six_terms_of_importance_each_measured(calm: Nagori, clock: FrozenClock) -> None:
    """[S6]"""
    tip = lesson(calm, TIP)
    before = calm.why(tip.id).importance
    ask(calm, PROMPT)
    work(calm, [call("burner --gas --valve seven")])
    process(calm.runtime, OWNER, ended=["one"])
    after = calm.why(tip.id).importance
    assert after.reuse > before.reuse
    assert "Importance" in str(calm.why(tip.id))
    assert calm.why(calm.protect(tip.id).id).importance.user_signal == 1.0
    calm.remember_many([Draft(TIP, kind=Kind.LESSON, emotion=Emotion(80))])
    assert calm.why(tip.id).importance.novelty == 0.5
    other = calm.remember("The gas burner was serviced by Ken.")
    calm.link(tip.id, other.id, "references")
    assert calm.why(tip.id).importance.cross_impact == pytest.approx(0.2)


def test_the_score_ranking_knows_task_outcome_and_role(calm: Nagori) -> None:
    """[S5]"""
    texts = [f"The kettle number {n} needs water." for n in range(3)]
    for n, text in enumerate(texts):
        at = calm.with_scope(task="boil" if n == 2 else "other", agent="a", role="cook" if n else None)
        at.share([text], outcome="success" if n == 1 else None, privacy="public")
    cook = calm.with_scope(task="boil", agent="a", role="cook")
    terms = {r.text: r.terms for r in cook.recall("kettle number needs water", ranking="score")}
    assert [terms[text].get("task") for text in texts] == [None, None, 1.2]
    assert [terms[text].get("success") for text in texts] == [None, 1.1, None]
    assert [terms[text]["role_fit"] for text in texts] == [0.5, 1.0, 1.0]
    assert {terms[text]["outcome"] for text in texts} == {0.5}
    best = cook.recall("kettle number needs water", ranking="score")[0]
    assert best.text == texts[2]


def test_credit_moves_the_default_ranking_within_bounds(calm: Nagori, clock: FrozenClock) -> None:
    """[S5]"""
    good, bad = (lesson(calm, f"The kettle of the harbour needs {what}.") for what in ("gas", "oil"))
    helped, harmed = Credit(20, 20, 0, 10, -10), Credit(20, 20, 0, -10, 10)
    assert contribution(helped) == -contribution(harmed) > 0.3
    credits = {good.id: list(helped), bad.id: list(harmed)}
    data = {"credits": credits, "memories": list(credits), "usual": {}, "evidence": {}}
    calm.runtime.ledger.write(OWNER, lambda: [Event("credited", clock.now(), data)])
    found = {r.id: r.terms["outcome"] for r in calm.recall("What does the kettle of the harbour need?")}
    assert 1.0 < found[good.id] <= 1.2
    assert 0.8 <= found[bad.id] < 1.0
    assert ask(calm, "What does the kettle of the harbour need?") == (good.id,)
