"""Language models with Anthropic's Messages API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from nagori.adapters.credentials import needed_key
from nagori.adapters.http import as_object, fetch, post_json
from nagori.adapters.llm.refused_parts_and_batches import (
    LONGEST_BATCH,
    Forms,
    answering_model,
    answers_of,
    find_fault,
    name_of,
    read_count,
    unusable,
    without_bounds,
)
from nagori.config.sections import Llm
from nagori.core.llm import CompletionRequest, Prompt, Reply
from nagori.errors import ModelError, Notice

BASE = "https://api.anthropic.com"
VERSION = "2023-06-01"
# Newer models refuse a temperature, and think before they answer unless it is turned off.
_TAKES_TEMPERATURE = re.compile(r"^claude-(?:3|(?:haiku|sonnet|opus)-4(?:-[0-6])?(?:-\d{8})?$)")
ENDS = {
    "refusal": Notice("answer.refused"),
    "max_tokens": Notice("answer.cut_off"),
    "model_context_window_exceeded": Notice("answer.question_too_long"),
}


class Anthropic:
    """A Claude model. Thinking is off: the tasks here need reading, not reasoning."""

    def __init__(self, config: Llm) -> None:
        self._config = config
        self._url = f"{(config.base_url or BASE).rstrip('/')}/v1/messages"
        self._forms = Forms({"temperature": "temperature", "thinking": "thinking", "schema": "output_config"})

    @property
    def model(self) -> str:
        return self._config.model

    def find_fault(self) -> Notice | None:
        return find_fault(self._url, self._config.key_env or "ANTHROPIC_API_KEY")

    def complete(
        self, prompt: Prompt, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> Reply:
        headers, how = self._headers(), self._how()
        answer = self._forms.ask(
            lambda: post_json(self._url, self._body(prompt, schema, max_tokens), headers, resend=False, **how)
        )
        return self._reply(answer)

    def submit(self, questions: Mapping[str, CompletionRequest]) -> str:
        """Create a message batch."""
        requests = [
            {"custom_id": name, "params": self._body(each.prompt, each.schema, each.max_tokens)}
            for name, each in questions.items()
        ]
        url = f"{self._url}/batches"
        return name_of(post_json(url, {"requests": requests}, self._headers(), **self._how()), self.model)

    def collect(self, batch: str) -> dict[str, Reply | ModelError] | None:
        url, headers, how = f"{self._url}/batches/{batch}", self._headers(), self._how()
        if as_object(fetch("GET", url, headers, **how), self.model).get("processing_status") != "ended":
            return None
        # The address in the answer is not used: the key goes only to the known host.
        lines = fetch("GET", f"{url}/results", headers, most=LONGEST_BATCH, **how)
        return answers_of(lines, self.model, self._result)

    def discard(self, batch: str) -> None:
        with suppress(ModelError):  # it expires after some weeks
            fetch("DELETE", f"{self._url}/batches/{batch}", self._headers(), **self._how())

    def _result(self, line: Mapping[str, Any]) -> Reply:
        result = line.get("result")
        if not isinstance(result, dict) or result.get("type") != "succeeded":
            kind = result.get("type") if isinstance(result, dict) else None
            state = Notice("answer.batch_state", state=str(kind)[:60])
            raise ModelError("error.model_answer", model=self.model, reason=state)
        message = result.get("message")
        return self._reply(message if isinstance(message, dict) else {})

    def _headers(self) -> dict[str, str]:
        key = needed_key(self._config.key_env or "ANTHROPIC_API_KEY")
        return {"x-api-key": key, "anthropic-version": VERSION}

    def _how(self) -> dict[str, Any]:
        config = self._config
        return {
            "timeout": config.timeout_seconds,
            "tries": config.max_attempts,
            "plain": bool(config.base_url),
        }

    def _body(self, prompt: Prompt, schema: Mapping[str, Any] | None, max_tokens: int) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": max_tokens,
            "system": prompt.task,
            "messages": [{"role": "user", "content": prompt.data}],
        }
        if schema is not None and "schema" not in self._forms.refused:
            body["output_config"] = {"format": {"type": "json_schema", "schema": without_bounds(schema)}}
        if _TAKES_TEMPERATURE.search(self.model):
            if "temperature" not in self._forms.refused:
                body["temperature"] = self._config.temperature
        elif "thinking" not in self._forms.refused:
            body["thinking"] = {"type": "disabled"}
        return body

    def _reply(self, answer: Mapping[str, Any]) -> Reply:
        usage = answer.get("usage")
        cached = read_count(usage, "cache_read_input_tokens") + read_count(
            usage, "cache_creation_input_tokens"
        )
        spent = read_count(usage, "input_tokens") + cached, read_count(usage, "output_tokens")
        ended = str(answer.get("stop_reason"))
        if ended in ENDS:
            raise unusable(self.model, ENDS[ended], *spent)
        blocks = answer.get("content")
        texts = [
            block["text"]
            for block in (blocks if isinstance(blocks, list) else [])
            if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
        ]
        text = "".join(texts).strip()
        if not text:
            raise unusable(self.model, Notice("answer.empty"), *spent)
        return Reply(text, answering_model(answer, self.model), *spent)
