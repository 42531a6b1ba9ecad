"""Calls that a type checker must refuse: each line that ends in `# wrong`, and no other. Never run."""

from datetime import UTC, datetime

from nagori import AsyncNagori, Config, Draft, Kind, Nagori, Nagoria  # wrong


def call_sync(memory: Nagori) -> None:
    memory.remember("tea", knd="fact")  # wrong
    memory.remember("tea", kind="rumour")  # wrong
    memory.remember("tea", keywords="tea")  # wrong
    memory.remember("tea", created="2026-01-01")  # wrong
    memory.remember("tea", metadata={"order": ["a", "b"]})  # wrong
    memory.remember(7)  # wrong
    memory.remember_many([7])  # wrong
    memory.form([7])  # wrong
    memory.turn("hello")  # wrong
    memory.turn("hello", session="s", role="wizard")  # wrong
    memory.context("hello", sesion="s")  # wrong
    memory.recall("tea", k="three")  # wrong
    memory.recall("tea", min_confidence="high")  # wrong
    memory.recall("tea", ranking="best")  # wrong
    memory.recall("tea", filters=None)  # wrong
    memory.recall("tea")[0].txt  # wrong
    memory.edit("mem_a", contents="coffee")  # wrong
    memory.edit("mem_a", privacy="mine")  # wrong
    memory.prune([], bugdet=1000)  # wrong
    memory.prune([], budget="1000")  # wrong
    memory.prune([], strategy="hope")  # wrong
    memory.conversation(budgte=1000)  # wrong
    memory.conversation().recall("tea", kk=3)  # wrong
    memory.with_scope(usr="aki")  # wrong
    memory.with_scope(user=None)  # wrong
    memory.feedback("mem_a", "good")  # wrong
    memory.protect("mem_a", release="mem_b")  # wrong
    memory.list(limit="ten")  # wrong
    memory.as_of("yesterday")  # wrong
    memory.export("yaml")  # wrong
    memory.rebuild(accept_damages=True)  # wrong
    memory.rmember("tea")  # wrong
    Nagori.open(folder="x")  # wrong
    Nagori.open(config={"window.budget": 4000})  # wrong
    Draft("tea", kinds=Kind.FACT)  # wrong
    Config().evolve(window_budget=4000)  # wrong
    Config().window.bugdet  # wrong
    print(Nagoria, datetime.now(UTC))


async def call_async(memory: AsyncNagori) -> None:
    await memory.rmember("tea")  # wrong
    await memory.remember("tea", knd="fact")  # wrong
    await memory.recall("tea", k="three")  # wrong
    await memory.edit("mem_a", contents="coffee")  # wrong
    await memory.prune([], bugdet=1000)  # wrong
    await (await memory.conversation()).ad({})  # wrong
    await (await memory.turn("hello", session="s")).answr("hi")  # wrong
    await memory.with_scope(usr="aki").status()  # wrong
    (await memory.recall("tea")).text  # wrong
    memory.recall("tea")[0]  # wrong
    AsyncNagori.open(folder="x")  # wrong
