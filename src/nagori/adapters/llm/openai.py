"""Any server that speaks OpenAI's chat completions: OpenAI, vLLM, Ollama, llama.cpp, LM Studio and others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nagori.adapters.http import post_json
from nagori.adapters.keys import key_from
from nagori.adapters.llm._forms import Forms, counted, unlimited, unusable
from nagori.config.sections import Llm
from nagori.core.asking import Prompt, Reply

BASE = "https://api.openai.com/v1"
ENDS = {
    "length": "the answer is cut off: it is longer than was allowed",
    "content_filter": "the model refuses to answer",
}


class OpenAI:
    """A model behind an OpenAI-compatible address. A server on one's own machine needs no key."""

    def __init__(self, config: Llm) -> None:
        self._config = config
        self._url = f"{(config.base_url or BASE).rstrip('/')}/chat/completions"
        # In this order: a server that knows no schemas may know bounds, and names both in one sentence.
        self._forms = Forms(
            {
                "temperature": "temperature",
                "max_tokens": "max_completion_tokens",
                "bounds": "schema",
                "format": "response_format",
            }
        )

    @property
    def model(self) -> str:
        return self._config.model

    def complete(
        self, prompt: Prompt, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> Reply:
        key = key_from(self._config.key_env or "OPENAI_API_KEY")
        headers = {"authorization": f"Bearer {key}"} if key else {}
        answer = self._forms.ask(
            lambda: post_json(
                self._url,
                self._body(prompt, schema, max_tokens),
                headers,
                timeout=self._config.timeout_seconds,
                tries=self._config.tries,
                plain=bool(self._config.base_url),
            )
        )
        return self._reply(answer)

    def _body(self, prompt: Prompt, schema: Mapping[str, Any] | None, max_tokens: int) -> dict[str, Any]:
        refused = self._forms.refused
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": prompt.task},
                {"role": "user", "content": prompt.data},
            ],
            "max_completion_tokens" if "max_tokens" in refused else "max_tokens": max_tokens,
        }
        if "temperature" not in refused:
            body["temperature"] = self._config.temperature
        if schema is not None and "format" not in refused:
            # Small models ramble without bounds; large services refuse to be bound.
            bounded = unlimited(schema) if "bounds" in refused else schema
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": bounded, "strict": True},
            }
        return body

    def _reply(self, answer: Mapping[str, Any]) -> Reply:
        choices = answer.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        ended = str(choice.get("finish_reason"))
        if ended in ENDS:
            raise unusable(self.model, ENDS[ended])
        message = choice.get("message")
        message = message if isinstance(message, dict) else {}
        if message.get("refusal"):
            raise unusable(self.model, ENDS["content_filter"])
        text = message.get("content")
        if not isinstance(text, str) or not text.strip():
            raise unusable(self.model, "the answer is empty")
        usage = answer.get("usage")
        return Reply(
            text.strip(),
            str(answer.get("model") or self.model),
            counted(usage, "prompt_tokens"),
            counted(usage, "completion_tokens"),
        )
