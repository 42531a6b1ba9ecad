"""What is done at each moment. Writing down comes first; only then may anything else fail.

session start   a short brief: what is protected, what the last session was about
prompt          what it reminds of, each memory once in a session
before tool     lessons about this tool and its target (off unless `hooks.before_tool`)
the others      nothing to say: the worker is started if there is work for it
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from nagori.adapters.clock import SystemClock
from nagori.config import Config
from nagori.core._clean import clean
from nagori.core.fold import Event
from nagori.core.model import Filter, Kind, Memory, Scope, Trust
from nagori.edges.hooks.hearing import heard, write_down
from nagori.edges.hooks.moment import SILENCE, Answer, At, Moment
from nagori.edges.hooks.notes import Notes
from nagori.edges.project import project_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import tzinfo

    from nagori.app import Nagori
    from nagori.protocols import Embedder

COMPACTED = "compacted"  # a note: this session's own beginning is no longer before the model
SHORT_ANSWER = 30  # characters of an assistant's answer that says nothing by itself
LONGEST_QUESTION = 2000  # characters; recall reads no more
QUICK = "local"  # the one embedder that may be asked here
WORK = frozenset({At.TURN_END, At.SUBAGENT_END, At.COMPACTED, At.BEFORE_COMPACTION, At.SESSION_END})


def act(moment: Moment, config: Config, folder: Path) -> Answer:
    """Do what the moment asks for."""
    scope = _whose(moment, config)
    event = heard(moment, scope.project, config, SystemClock().now())
    if event is not None:
        write_down(folder, scope.space, [event])
    if moment.at in WORK and config.hooks.worker:
        from nagori.edges.worker.start import start

        start(folder)
    say = SAYINGS.get(moment.at)
    return say(moment, config, folder, scope) if say else SILENCE


def _whose(moment: Moment, config: Config) -> Scope:
    """The memory of whoever works there; the command line's own variables say otherwise if they are set."""
    said = os.environ.get
    return Scope(
        user=said("NAGORI_USER") or config.hooks.user,
        tenant=said("NAGORI_TENANT") or Scope().tenant,
        project=said("NAGORI_PROJECT") or project_of(moment.folder),
    )


def _open(config: Config, folder: Path, scope: Scope) -> Nagori:
    from nagori.app import Nagori  # the store and all that: a turn's end needs none of it

    memory = Nagori.open(folder, config=config, scope=scope, llm=None)
    # Nobody who waits for a host waits for a network, or for a library that takes seconds to load.
    if config.embedding.provider != QUICK:
        memory.parts.open_embedder = lambda: None
    if config.embedding.provider != "none":
        memory.parts.open_model = _at_hand
    return memory


def _at_hand(name: str) -> Embedder | None:
    from nagori.adapters.embed import at_hand

    return at_hand(name)


# --- session start --------------------------------------------------------------------------------


def brief(moment: Moment, config: Config, folder: Path, scope: Scope) -> Answer:
    """What somebody should know who comes in: what must not be forgotten, and where things stood."""
    from nagori.edges.hooks.block import block, plain
    from nagori.edges.worker.start import start

    notes = Notes.of(folder, moment.session)
    if moment.source == "compact":
        notes.start_over()
        notes.first_time(COMPACTED)
    with _open(config, folder, scope) as memory:
        kept = _valid(memory, memory.list(Filter(protected=True), limit=config.hooks.brief))
        zone = memory.parts.clock.zone
        fresh = [each for each in kept if each.id not in notes.shown]
        text, shown = block(fresh, zone, config.hooks.brief_tokens // 2, config.retrieval.char_budget // 2)
        last = "" if moment.source == "resume" else _last_session(memory, moment.session, config)
    notes.show(each.id for each in shown)
    notes.save(moment.session)
    if config.hooks.worker:
        start(folder)  # what a killed session left behind
    story = f"<last-session>\n{plain_lines(last, plain)}\n</last-session>" if last else ""
    return Answer("\n".join(part for part in (text, story) if part))


def _valid(memory: Nagori, kept: Iterable[Memory]) -> list[Memory]:
    """What holds now: a memory that was corrected is told in its new words."""
    heirs = {each.id: each.superseded_by or each.id for each in kept}
    return memory.parts.store.get(memory.scope, list(dict.fromkeys(heirs.values())))


def plain_lines(text: str, plain: Callable[[str], str]) -> str:
    return "\n".join(plain(line) for line in text.splitlines())


def _last_session(memory: Nagori, session: str, config: Config) -> str:
    """The recap of the session before this one in the same project."""
    for each in memory.list(limit=200):
        name = each.source.session
        if name and name != session and (each.project or not memory.scope.project):
            return memory.summary(name, config.hooks.brief_tokens // 2)
    return ""


# --- prompt ---------------------------------------------------------------------------------------


def remind(moment: Moment, config: Config, folder: Path, scope: Scope) -> Answer:
    """What the prompt reminds of. What was shown in this session, or said in it, is before the model."""
    from nagori.core.chatter import is_chatter
    from nagori.edges.hooks.ahead import Ahead

    text = _question(clean(moment.text))
    if is_chatter(text):
        return SILENCE
    ahead = Ahead(config.embedding, text[:LONGEST_QUESTION]) if config.embedding.provider == QUICK else None
    notes = Notes.of(folder, moment.session)
    k = config.hooks.most
    with _open(config, folder, scope) as memory:
        if ahead is not None:
            memory.parts.open_embedder = ahead.embedder
        floor = max(config.hooks.floor, config.retrieval.floor)
        found = memory.recall(text[:LONGEST_QUESTION], 3 * k, session=moment.session, floor=floor, mark=False)
        zone = memory.parts.clock.zone
    before = {moment.session} if COMPACTED not in notes.told else set[str]()
    new = [
        r.memory
        for r in found
        if r.memory.id not in notes.shown and r.memory.source.session not in before and _tells(r.memory)
    ]
    return _shown(new[:k], zone, config, folder, scope, notes, moment)


def _tells(memory: Memory) -> bool:
    """Chatter tells nothing, an old question asks again, and "Understood." answers nothing any more."""
    from nagori.core.chatter import is_chatter
    from nagori.core.text import asks

    said = memory.text.content
    if is_chatter(said) or said.startswith("/"):
        return False
    if memory.trust is Trust.USER:
        return not asks(said)
    short = len(said) < (SHORT_ANSWER if said.isascii() else SHORT_ANSWER // 2)
    return not (memory.trust is Trust.ASSISTANT and short)


def _question(prompt: str) -> str:
    """What a prompt asks: a command's name says nothing, what follows it does."""
    words = prompt.strip()
    if words.startswith("/"):
        name, _, rest = words.partition(" ")
        return rest.strip() if "/" not in name[1:] else words
    return words


def _shown(
    memories: Iterable[Memory],
    zone: tzinfo,
    config: Config,
    folder: Path,
    scope: Scope,
    notes: Notes,
    moment: Moment,
) -> Answer:
    from nagori.edges.hooks.block import block

    limits = config.retrieval
    text, shown = block(memories, zone, limits.token_budget, limits.char_budget)
    if shown:
        ids = [each.id for each in shown]
        told = {"memories": ids, "unasked": True}
        write_down(folder, scope.space, [Event("recalled", SystemClock().now(), told)])
        notes.show(ids)
        notes.save(moment.session)
    return Answer(text)


# --- before a tool --------------------------------------------------------------------------------


def warn(moment: Moment, config: Config, folder: Path, scope: Scope) -> Answer:
    """Lessons about this tool and what it is used on; a few lines at most."""
    if not config.hooks.before_tool or not moment.target:
        return SILENCE
    notes = Notes.of(folder, moment.session)
    question = f"{moment.tool or ''} {moment.target}"
    with _open(config, folder, scope) as memory:
        lessons = Filter(kinds=frozenset({Kind.LESSON}))
        found = memory.recall(question, 3, filter=lessons, floor=config.hooks.floor, tokens=200, mark=False)
        zone = memory.parts.clock.zone
    new = [r.memory for r in found if r.memory.id not in notes.shown]
    return _shown(new, zone, config, folder, scope, notes, moment)


SAYINGS: dict[At, Callable[[Moment, Config, Path, Scope], Answer]] = {
    At.SESSION_START: brief,
    At.PROMPT: remind,
    At.BEFORE_TOOL: warn,
}
