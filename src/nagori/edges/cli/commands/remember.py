"""The command `remember`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from nagori.core.model import Category, Emotion, Kind, Memory, Privacy, Source, Valence
from nagori.core.serialize import to_record
from nagori.edges.cli.context import AHEAD, CommandSession, Json, making_room, moment, print_json, read_words
from nagori.errors import InvalidInput
from nagori.services.remember import REMEMBERED_INTENSITY

MARK = "[secret:"  # what redaction writes where a secret was


def remember(
    context: typer.Context,
    text: Annotated[list[str], typer.Argument(help="help.remember.text")],
    trigger: Annotated[str, typer.Option(help="help.common.trigger")] = "",
    kind: Annotated[Kind, typer.Option(help="help.common.kind")] = Kind.FACT,
    category: Annotated[Category | None, typer.Option(help="help.common.category")] = None,
    intensity: Annotated[float, typer.Option(help="help.remember.intensity")] = REMEMBERED_INTENSITY,
    valence: Annotated[Valence, typer.Option(help="help.remember.valence")] = Valence.NEUTRAL,
    arousal: Annotated[float, typer.Option(help="help.remember.arousal")] = 30.0,
    tag: Annotated[list[str] | None, typer.Option(help="help.remember.tag")] = None,
    speaker: Annotated[str | None, typer.Option(help="help.remember.speaker")] = None,
    session: Annotated[str | None, typer.Option(help="help.remember.session")] = None,
    privacy: Annotated[Privacy, typer.Option(help="help.common.privacy")] = Privacy.PUBLIC,
    protect: Annotated[bool, typer.Option("--protect", help="help.remember.protect")] = False,
    when: Annotated[str | None, typer.Option(help="help.remember.when")] = None,
    as_json: Json = False,
) -> None:
    """Remember something."""
    session_ = CommandSession.of(context)
    content = read_words(text)
    draft: dict[str, Any] = {
        "trigger": trigger,
        "kind": kind,
        "category": category,
        "emotion": Emotion(intensity, valence, arousal, tuple(tag or ())),
        "source": Source(session=session, speaker=speaker),
        "privacy": privacy,
        "protect": protect,
        "created": moment(when),
    }
    with session_.memory() as memory:
        _refuse_future(draft["created"], memory.runtime.clock.now())
        kept = making_room(session_, memory, lambda: memory.remember(content, **draft))
    if as_json:
        print_json({"memory": to_record(kept)})
    elif kept.mentions > 1:
        session_.say("cli.mentioned", id=kept.id, n=kept.mentions)
    else:
        session_.say("cli.remembered", id=kept.id)
    if not as_json and (removed := _count_removed(kept, trigger + content)):
        session_.say("cli.secrets_removed", n=removed)


def _count_removed(kept: Memory, said: str) -> int:
    """How many secrets were replaced before the memory was written."""
    return kept.fullest.whole.count(MARK) - said.count(MARK)


def _refuse_future(when: datetime | None, now: datetime) -> None:
    """Who writes a day that lies ahead means what is said, not when: such a memory would not fade until then,
    would count as the newest, and would answer "what is new?" for ever."""
    if when is not None and when > now + AHEAD:
        raise InvalidInput(
            "when",
            "error.when_future",
            value=when.isoformat(timespec="minutes"),
        )
