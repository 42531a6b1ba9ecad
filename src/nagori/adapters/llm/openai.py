"""Language models with OpenAI's chat completions API: OpenAI, vLLM, Ollama, llama.cpp, LM Studio and
others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from nagori.adapters.credentials import key_from
from nagori.adapters.http import as_object, fetch, post_json
from nagori.adapters.llm.refused_parts_and_batches import (
    LONGEST_BATCH,
    Forms,
    answering_model,
    answers_of,
    file_form,
    find_fault,
    name_of,
    plain_name,
    read_count,
    unusable,
    without_bounds,
)
from nagori.config.sections import Llm
from nagori.core.llm import CompletionRequest, Prompt, Reply
from nagori.errors import ModelError, Notice

BASE = "https://api.openai.com/v1"
ENDED = ("completed", "failed", "expired", "cancelled")
ENDS = {
    "length": Notice("answer.cut_off"),
    "content_filter": Notice("answer.refused"),
}


class OpenAI:
    """A model behind an OpenAI-compatible address. A server on this machine needs no key."""

    def __init__(self, config: Llm) -> None:
        self._config = config
        self._base = (config.base_url or BASE).rstrip("/")
        # In this order: a server without schemas may support bounds, and its error names both.
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

    def find_fault(self) -> Notice | None:
        needed = self._config.key_env or ("" if self._config.base_url else "OPENAI_API_KEY")
        return find_fault(self._base, needed or None)

    def complete(
        self, prompt: Prompt, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> Reply:
        headers, how = self._headers(), self._how()
        url = f"{self._base}/chat/completions"
        answer = self._forms.ask(
            lambda: post_json(url, self._body(prompt, schema, max_tokens), headers, resend=False, **how)
        )
        return self._reply(answer)

    def submit(self, questions: Mapping[str, CompletionRequest]) -> str:
        """Upload a file of requests and create a batch for it."""
        path = f"{urlsplit(self._base).path}/chat/completions"
        lines = [
            {
                "custom_id": name,
                "method": "POST",
                "url": path,
                "body": self._body(each.prompt, each.schema, each.max_tokens),
            }
            for name, each in questions.items()
        ]
        headers, how = self._headers(), self._how()
        form, kind = file_form("\n".join(json.dumps(line) for line in lines).encode(), purpose="batch")
        told = fetch("POST", f"{self._base}/files", {**headers, "content-type": kind}, form, **how)
        file = name_of(as_object(told, self.model), self.model)
        batch = {"input_file_id": file, "endpoint": path, "completion_window": "24h"}
        return name_of(post_json(f"{self._base}/batches", batch, headers, **how), self.model)

    def collect(self, batch: str) -> dict[str, Reply | ModelError] | None:
        headers, how = self._headers(), self._how()
        told = as_object(fetch("GET", f"{self._base}/batches/{batch}", headers, **how), self.model)
        if told.get("status") not in ENDED:
            return None
        answers: dict[str, Reply | ModelError] = {}
        for name in (told.get("output_file_id"), told.get("error_file_id")):
            if name:
                url = f"{self._base}/files/{plain_name(name, self.model)}/content"
                lines = fetch("GET", url, headers, most=LONGEST_BATCH, **how)
                answers |= answers_of(lines, self.model, self._result)
        return answers

    def discard(self, batch: str) -> None:
        """Delete the files, because they hold users' words."""
        headers, how = self._headers(), self._how()
        with suppress(ModelError):
            told = as_object(fetch("GET", f"{self._base}/batches/{batch}", headers, **how), self.model)
            for kind in ("output_file_id", "error_file_id", "input_file_id"):
                if told.get(kind):
                    file = plain_name(told[kind], self.model)
                    fetch("DELETE", f"{self._base}/files/{file}", headers, **how)

    def _result(self, line: Mapping[str, Any]) -> Reply:
        response = line.get("response")
        if not isinstance(response, dict) or response.get("status_code") != 200:
            raise ModelError("error.model_answer", model=self.model, reason=Notice("answer.batch_no_answer"))
        body = response.get("body")
        return self._reply(body if isinstance(body, dict) else {})

    def _headers(self) -> dict[str, str]:
        key = key_from(self._config.key_env or "OPENAI_API_KEY")
        return {"authorization": f"Bearer {key}"} if key else {}

    def _how(self) -> dict[str, Any]:
        config = self._config
        return {
            "timeout": config.timeout_seconds,
            "tries": config.max_attempts,
            "plain": bool(config.base_url),
        }

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
            # Small models need bounds; large services refuse them.
            bounded = without_bounds(schema) if "bounds" in refused else schema
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": bounded, "strict": True},
            }
        return body

    def _reply(self, answer: Mapping[str, Any]) -> Reply:
        usage = answer.get("usage")
        spent = read_count(usage, "prompt_tokens"), read_count(usage, "completion_tokens")
        choices = answer.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        ended = str(choice.get("finish_reason"))
        if ended in ENDS:
            raise unusable(self.model, ENDS[ended], *spent)
        message = choice.get("message")
        message = message if isinstance(message, dict) else {}
        if message.get("refusal"):
            raise unusable(self.model, ENDS["content_filter"], *spent)
        text = message.get("content")
        if not isinstance(text, str) or not text.strip():
            raise unusable(self.model, Notice("answer.empty"), *spent)
        return Reply(text.strip(), answering_model(answer, self.model), *spent)
