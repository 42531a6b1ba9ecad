"""Calls that a type checker must accept; the tests run them, too."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from nagori import AsyncNagori, Config, Draft, Filter, Kind, Memory, Nagori, Recollection, Turn, Window


def live(folder: Path) -> list[Recollection]:
    config = Config().evolve({"embedding.provider": "none", "window.budget": 4000})
    with Nagori.open(folder, config=config) as memory:
        kept: Memory = memory.remember(
            "The staging server moved to port 8443.",
            kind="fact",
            category="work",
            keywords=["staging", "port"],
            created=datetime(2026, 3, 1, tzinfo=UTC),
            metadata={"ticket": 4711, "urgent": True, "author": "Aki", "score": 0.5, "closed": None},
        )
        memory.remember_many(["I like tea.", Draft("Never deploy on Fridays.", kind=Kind.LESSON)])
        memory.form([Turn("I moved to Kyoto.", datetime(2026, 3, 2, tzinfo=UTC), session="a", index=0)])
        memory.form([{"role": "user", "content": "My cat is called Tama."}], session="b")
        memory.edit(kept.id, content="The staging server moved to port 9443.", kind=Kind.DECISION)
        memory.protect(kept.id, release=["mem_none"])
        memory.feedback(kept.id, True)
        opened = memory.turn("What is my cat called?", session="c", role="user")
        opened.answer("Tama.")
        memory.process()
        context = memory.context("Where is the staging server?", session="d")
        assert str(context) == context.text
        other = memory.with_scope(user="other", project=None)
        assert other.recall("cat") == []
        talk = memory.conversation(
            session="e", budget=500, strategy="scored", window=Window(summarise_gap_from=3)
        )
        talk.add({"role": "user", "content": "hello"})
        talk.recall("cat", k=1, mark=False)
        found = memory.recall("staging", k=2, filter=Filter(kinds=frozenset({Kind.DECISION})), mark=False)
        first = found[0]
        print(first.id, first.text.upper(), first.created.year, (first.confidence or 0.0) + first.score)
        return found


async def live_async(folder: Path) -> list[Recollection]:
    async with AsyncNagori.open(folder, config=Config(), embedder=None) as memory:
        await memory.remember("The kettle is green.", kind=Kind.FACT, metadata={"room": "kitchen"})
        turn = await memory.turn("Where is the kettle?", session="f")
        await turn.answer("In the kitchen.")
        await memory.process()
        talk = await memory.conversation(budget=500)
        await talk.add({"role": "user", "content": "hello"})
        lines = await memory.export("markdown")
        print(len(lines), memory.scope.user, talk.messages)
        return await memory.with_scope(project="garden").recall("kettle", k=1)


def main(folder: Path) -> None:
    assert live(folder / "sync")
    assert asyncio.run(live_async(folder / "async"))
