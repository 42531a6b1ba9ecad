"""Open a language model by the name of its provider. None is required, and none is loaded before use."""

from __future__ import annotations

from collections.abc import Callable

from nagori.config.sections import Llm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import LLM


def none(config: Llm) -> LLM | None:
    """No model: rules only."""
    return None


def anthropic(config: Llm) -> LLM | None:
    from nagori.adapters.llm.anthropic import Anthropic

    return Anthropic(config)


def openai(config: Llm) -> LLM | None:
    from nagori.adapters.llm.openai import OpenAI

    return OpenAI(config)


def claude_cli(config: Llm) -> LLM | None:
    from nagori.adapters.llm.claude_cli import ClaudeCli

    return ClaudeCli(config)


PROVIDERS: dict[str, Callable[[Llm], LLM | None]] = {
    "none": none,
    "anthropic": anthropic,
    "openai": openai,
    "claude-cli": claude_cli,
}


def open_llm(config: Llm) -> LLM | None:
    """The configured model, or None. Opening it makes no request."""
    return PROVIDERS[config.provider](config)
