"""The command `remember`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from nagori.core.model import Category, Emotion, Kind, Privacy, Source, Valence
from nagori.core.serialize import to_record
from nagori.edges.cli.context import AHEAD, CommandSession, Json, making_room, moment, print_json, read_words
from nagori.errors import InvalidInput
from nagori.services.remember import REMEMBERED_INTENSITY


def remember(
    context: typer.Context,
    text: Annotated[list[str], typer.Argument(help="What to remember; - reads standard input.")],
    trigger: Annotated[str, typer.Option(help="What set it off.")] = "",
    kind: Annotated[Kind, typer.Option(help="What it is.")] = Kind.FACT,
    category: Annotated[Category | None, typer.Option(help="How fast it fades.")] = None,
    intensity: Annotated[float, typer.Option(help="How much it moved you, 0-100.")] = REMEMBERED_INTENSITY,
    valence: Annotated[Valence, typer.Option(help="How it felt.")] = Valence.NEUTRAL,
    arousal: Annotated[float, typer.Option(help="How exciting it was, 0-100.")] = 30.0,
    tag: Annotated[list[str] | None, typer.Option(help="Emotion; may be given again.")] = None,
    speaker: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    session: Annotated[str | None, typer.Option(help="In which conversation.")] = None,
    privacy: Annotated[Privacy, typer.Option(help="Which agents may see it.")] = Privacy.PUBLIC,
    protect: Annotated[bool, typer.Option("--protect", help="Never let it fade.")] = False,
    when: Annotated[str | None, typer.Option(help="When it was said, ISO 8601; default: now.")] = None,
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
        session_.say("mentioned", id=kept.id, n=kept.mentions)
    else:
        session_.say("kept", id=kept.id)


def _refuse_future(when: datetime | None, now: datetime) -> None:
    """Who writes a day that lies ahead means what is said, not when: such a memory would not fade until then,
    would count as the newest, and would answer "what is new?" for ever."""
    if when is not None and when > now + AHEAD:
        raise InvalidInput(
            "when",
            "{value} is still to come; --when is when it was said: put a day that lies ahead into the words",
            value=when.isoformat(timespec="minutes"),
        )
