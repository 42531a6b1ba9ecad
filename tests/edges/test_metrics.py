"""Metrics: what a monitor would read."""

import re

from nagori import Nagori, Scope
from nagori.core.events import Event
from nagori.edges.cli import prometheus
from nagori.edges.cli.prometheus import Family, escape_label, families, text
from nagori.services.process_turns import count_pending

Sample = tuple[str, frozenset[tuple[str, str]]]
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:\\[\\n"]|[^\\\n"])*)"(?:,|$)')
LINE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")
PLAIN = {r"\\": "\\", r"\n": "\n", r"\"": '"'}


def parsed(page: str) -> dict[Sample, float]:
    """The exposition format, read as strictly as it is defined."""
    assert page.endswith("\n")
    samples: dict[Sample, float] = {}
    announced: dict[str, set[str]] = {}
    for line in page[:-1].split("\n"):
        if line.startswith("# "):
            _, what, name, rest = line.split(" ", 3)
            assert what not in announced.setdefault(name, set())
            assert what == "HELP" or rest == "gauge"
            announced[name].add(what)
            continue
        found = LINE.fullmatch(line)
        assert found, line
        name, labels, value = found[1], found[2] or "", float(found[3])
        assert announced[name] == {"HELP", "TYPE"}
        assert "".join(m[0] for m in LABEL.finditer(labels)) == labels
        pairs = {m[1]: re.sub(r"\\.", lambda e: PLAIN[e[0]], m[2]) for m in LABEL.finditer(labels)}
        key = (name, frozenset(pairs.items()))
        assert key not in samples
        samples[key] = value
    return samples


def read(memory: Nagori, **labels: str) -> dict[str, float]:
    """The samples of a memory by name and last label."""
    page = text(families(memory.status(), memory.measure(), 0), memory.scope)
    owner = {"tenant": memory.scope.tenant, "user": memory.scope.user}
    found = {}
    for (name, pairs), value in parsed(page).items():
        rest = dict(pairs)
        assert {key: rest.pop(key) for key in owner} == owner
        found[" ".join([name, *rest.values()])] = value
    return found


def test_the_counts_are_those_of_the_memory(memory: Nagori) -> None:
    kept = [memory.remember(word, kind=kind) for word, kind in (("tea", "fact"), ("cup", "lesson"))]  # type: ignore[arg-type]
    memory.protect(kept[0].id)
    memory.forget(memory.remember("gone").id)
    told = read(memory)
    assert told["memory_count full"] == 2
    assert told["memory_count archived"] == told["memory_archive_count"] == 0
    assert (told["memory_kind_count fact"], told["memory_kind_count lesson"]) == (1, 1)
    assert (told["memory_tier_count hot"], told["memory_tier_count cold"]) == (2, 0)
    assert (told["memory_protected_count"], told["memory_forgotten_count"]) == (1, 1)
    assert told["memory_compression_rate"] == 0
    assert told["memory_events"] == 5
    assert told["memory_store_bytes"] > 0
    assert told["memory_journal_bytes"] > 0


def test_tiers_grow_older(memory: Nagori) -> None:
    memory.remember("tea")
    for days, tier in ((6.9, "hot"), (0.2, "warm"), (23, "cold")):
        memory.runtime.clock.forward(days=days)  # type: ignore[attr-defined]
        assert read(memory)[f"memory_tier_count {tier}"] == 1


def test_strange_names_come_back_whole(memory: Nagori) -> None:
    for user in ('say "hi"', "back\\slash", "\\n", "名残", "a{b}=c,d", 'x",user="y', "ends\\"):
        assert read(memory.with_scope(Scope(user=user)))["memory_count full"] == 0


def test_the_three_signs_are_escaped_and_no_others() -> None:
    assert escape_label('a\\b"c\nd名{}') == r"a\\b\"c\nd名{}"
    page = text([Family("x", 'a\\b\n"c"', {"": 0.25})], Scope(project="p"))
    assert page.splitlines() == [
        r'# HELP x a\\b\n"c"',
        "# TYPE x gauge",
        'x{tenant="local",user="me",project="p"} 0.25',
    ]


def test_large_numbers_are_not_rounded() -> None:
    page = text([Family("x", "x", {"": 123_456_789_012})], Scope())
    assert list(parsed(page).values()) == [123_456_789_012]


def test_turns_wait_until_they_are_formed(memory: Nagori) -> None:
    owner = memory.scope.owner
    data = {"session": "s", "role": "user", "text": "I like tea."}
    memory.runtime.ledger.write(owner, lambda: [Event("turn_recorded", memory.runtime.clock.now(), data)])
    assert count_pending(memory.runtime, owner) == 1
    memory.process()
    assert count_pending(memory.runtime, owner) == 0
    assert prometheus.text(families(memory.status(), memory.measure(), 7), memory.scope).count(" 7\n") == 1
