"""Anthropic's Messages API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nagori.adapters.http import post_json
from nagori.adapters.keys import needed_key
from nagori.adapters.llm._forms import Forms, counted, unlimited, unusable
from nagori.config.sections import Llm
from nagori.core.asking import Prompt, Reply

BASE = "https://api.anthropic.com"
VERSION = "2023-06-01"
# Later ones refuse a temperature, and think before they answer unless told not to.
_TAKES_TEMPERATURE = re.compile(r"^claude-(?:3|(?:haiku|sonnet|opus)-4(?:-[0-6])?(?:-\d{8})?$)")
ENDS = {
    "refusal": "the model refuses to answer",
    "max_tokens": "the answer is cut off: it is longer than was allowed",
    "model_context_window_exceeded": "the question is too long for the model",
}


class Anthropic:
    """A Claude model. Thinking is off: what is asked here is reading, not reasoning."""

    def __init__(self, config: Llm) -> None:
        self._config = config
        self._url = f"{(config.base_url or BASE).rstrip('/')}/v1/messages"
        self._forms = Forms({"temperature": "temperature", "thinking": "thinking", "schema": "output_config"})

    @property
    def model(self) -> str:
        return self._config.model

    def complete(
        self, prompt: Prompt, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> Reply:
        key = needed_key(self._config.key_env or "ANTHROPIC_API_KEY")
        headers = {"x-api-key": key, "anthropic-version": VERSION}
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
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": max_tokens,
            "system": prompt.task,
            "messages": [{"role": "user", "content": prompt.data}],
        }
        if schema is not None and "schema" not in self._forms.refused:
            body["output_config"] = {"format": {"type": "json_schema", "schema": unlimited(schema)}}
        if _TAKES_TEMPERATURE.search(self.model):
            if "temperature" not in self._forms.refused:
                body["temperature"] = self._config.temperature
        elif "thinking" not in self._forms.refused:
            body["thinking"] = {"type": "disabled"}
        return body

    def _reply(self, answer: Mapping[str, Any]) -> Reply:
        ended = str(answer.get("stop_reason"))
        if ended in ENDS:
            raise unusable(self.model, ENDS[ended])
        blocks = answer.get("content")
        texts = [
            block["text"]
            for block in (blocks if isinstance(blocks, list) else [])
            if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
        ]
        text = "".join(texts).strip()
        if not text:
            raise unusable(self.model, "the answer is empty")
        usage = answer.get("usage")
        cached = counted(usage, "cache_read_input_tokens") + counted(usage, "cache_creation_input_tokens")
        read = counted(usage, "input_tokens") + cached
        return Reply(text, str(answer.get("model") or self.model), read, counted(usage, "output_tokens"))
