"""Language models by name of their provider. None of them is needed; none is loaded before it is asked."""

from __future__ import annotations

from collections.abc import Callable

from nagori.config.sections import Llm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import LLM


def none(config: Llm) -> LLM | None:
    """No model, on purpose: rules do all of it."""
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
    """The configured model, or None. Opening it asks nobody anything."""
    return PROVIDERS[config.provider](config)
