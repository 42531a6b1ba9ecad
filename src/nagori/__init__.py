"""nagori (名残): long-term memory for LLM agents that forgets like a person and loses nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.aio import AsyncConversation as AsyncConversation
    from nagori.aio import AsyncNagori as AsyncNagori
    from nagori.aio import AsyncTurn as AsyncTurn
    from nagori.aio import PendingOpen as PendingOpen
    from nagori.app import Nagori as Nagori
    from nagori.config import Config as Config
    from nagori.config import load_config as load_config
    from nagori.core.cycle import CyclePlan as CyclePlan
    from nagori.core.model import Category as Category
    from nagori.core.model import Emotion as Emotion
    from nagori.core.model import Filter as Filter
    from nagori.core.model import Kind as Kind
    from nagori.core.model import Level as Level
    from nagori.core.model import Memory as Memory
    from nagori.core.model import Privacy as Privacy
    from nagori.core.model import Recollection as Recollection
    from nagori.core.model import Relation as Relation
    from nagori.core.model import Scope as Scope
    from nagori.core.model import Source as Source
    from nagori.core.model import Text as Text
    from nagori.core.model import Trust as Trust
    from nagori.core.model import Turn as Turn
    from nagori.core.model import Valence as Valence
    from nagori.core.outcomes_lessons_and_credit import ToolResult as ToolResult
    from nagori.core.window import Window as Window
    from nagori.edges.http.client import RemoteNagori as RemoteNagori
    from nagori.errors import NagoriError as NagoriError
    from nagori.services.assemble_full_context import FullContext as FullContext
    from nagori.services.chat_recorder import OpenTurn as OpenTurn
    from nagori.services.cycle import CycleReport as CycleReport
    from nagori.services.erasure_plan import ErasurePlan as ErasurePlan
    from nagori.services.erasure_receipt import ErasureReceipt as ErasureReceipt
    from nagori.services.explain_ranking_and_context import ContextExplanation as ContextExplanation
    from nagori.services.learned_settings import Policy as Policy
    from nagori.services.profile_of_topics_and_speakers import Profile as Profile
    from nagori.services.prompt_context import Context as Context
    from nagori.services.remember import Draft as Draft
    from nagori.services.why_log_as_of_and_status import Explanation as Explanation
    from nagori.services.why_log_as_of_and_status import Status as Status
    from nagori.services.window.bounded_conversation import Conversation as Conversation
    from nagori.services.window.prune import PruneResult as PruneResult

__version__ = "0.1.0"

# The module of each public name. Names are imported on first use, because imports slow down hooks.
_HOMES = {
    "AsyncNagori": "nagori.aio",
    "Nagori": "nagori.app",
    "Config": "nagori.config",
    "load_config": "nagori.config",
    "NagoriError": "nagori.errors",
    "RemoteNagori": "nagori.edges.http.client",
    "Window": "nagori.core.window",
    "Draft": "nagori.services.remember",
    "ToolResult": "nagori.core.outcomes_lessons_and_credit",
    # what the verbs return
    **dict.fromkeys(("AsyncConversation", "AsyncTurn", "PendingOpen"), "nagori.aio"),
    "Context": "nagori.services.prompt_context",
    "ContextExplanation": "nagori.services.explain_ranking_and_context",
    "Conversation": "nagori.services.window.bounded_conversation",
    "CyclePlan": "nagori.core.cycle",
    "CycleReport": "nagori.services.cycle",
    "ErasurePlan": "nagori.services.erasure_plan",
    "ErasureReceipt": "nagori.services.erasure_receipt",
    "Explanation": "nagori.services.why_log_as_of_and_status",
    "FullContext": "nagori.services.assemble_full_context",
    "OpenTurn": "nagori.services.chat_recorder",
    "Policy": "nagori.services.learned_settings",
    "Profile": "nagori.services.profile_of_topics_and_speakers",
    "PruneResult": "nagori.services.window.prune",
    "Status": "nagori.services.why_log_as_of_and_status",
    **dict.fromkeys(
        ("Category", "Emotion", "Filter", "Kind", "Level", "Memory", "Privacy", "Recollection"),
        "nagori.core.model",
    ),
    **dict.fromkeys(("Relation", "Scope", "Source", "Text", "Trust", "Turn", "Valence"), "nagori.core.model"),
}
__all__ = [*_HOMES, "__version__"]


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # otherwise a type checker would accept any name

    def __getattr__(name: str) -> object:
        if name in _HOMES:
            from importlib import import_module

            return getattr(import_module(_HOMES[name]), name)
        raise AttributeError(f"module 'nagori' has no attribute {name!r}")
