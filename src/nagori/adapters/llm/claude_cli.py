"""The program `claude -p` as a language model, with the user's own login. Opt-in, because it uses their plan.

It runs without tools, hooks and a session, in an empty folder. What it starts cannot call nagori again.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from nagori.adapters.llm.refused_parts_and_batches import read_count, unusable
from nagori.config.sections import Llm
from nagori.core.llm import Prompt, Reply
from nagori.errors import ModelError, Notice

INSIDE = "NAGORI_INSIDE"  # set for child processes, so that they never call a model through nagori
HOOKS_OFF = '{"disableAllHooks":true}'


class ClaudeCli:
    """`claude`, one process per request."""

    def __init__(self, config: Llm) -> None:
        self._config = config

    @property
    def model(self) -> str:
        return self._config.model

    def complete(
        self, prompt: Prompt, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> Reply:
        if os.environ.get(INSIDE):
            raise ModelError("error.program_nested", passing=False)
        program = shutil.which(self._config.command)
        if program is None:
            raise ModelError("error.program_missing", name=self._config.command, passing=False)
        said = self._run([program, *self._arguments(prompt, schema)], prompt.data, max_tokens)
        return self._reply(said, schema is not None)

    def _arguments(self, prompt: Prompt, schema: Mapping[str, Any] | None) -> list[str]:
        plain = ["-p", "--output-format", "json", "--model", self.model, "--system-prompt", prompt.task]
        plain += ["--tools", "", "--strict-mcp-config", "--settings", HOOKS_OFF, "--no-session-persistence"]
        return [*plain, "--json-schema", json.dumps(schema)] if schema is not None else plain

    def _run(self, command: list[str], data: str, max_tokens: int) -> str:
        """Its output. It has its own process group: on timeout all of it is killed."""
        limits = {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(max_tokens)}
        environment = {**os.environ, INSIDE: "1", "NAGORI_HOOKS__ENABLED": "false", **limits}
        with tempfile.TemporaryDirectory(prefix="nagori-") as folder:
            try:
                process = subprocess.Popen(  # noqa: S603 - the user's own program, no shell
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    cwd=folder,
                    env=environment,
                    start_new_session=True,
                )
            except OSError as fault:
                name, reason = self._config.command, fault.strerror or type(fault).__name__
                raise ModelError(
                    "error.program_not_started", name=name, reason=reason, passing=False
                ) from None
            try:
                out, _ = process.communicate(data.encode("utf-8", "replace"), self._config.timeout_seconds)
            except subprocess.TimeoutExpired:
                _end(process)
                seconds = self._config.timeout_seconds
                raise ModelError("error.timed_out", host=self._config.command, seconds=seconds) from None
            except BaseException:
                _end(process)
                raise
        if process.returncode != 0:
            code = process.returncode
            raise ModelError("error.program_failed", name=self._config.command, code=code)
        return out.decode("utf-8", "replace")

    def _reply(self, said: str, structured: bool) -> Reply:
        try:
            answer = json.loads(said)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise unusable(self.model, Notice("answer.not_object"))
        if answer.get("is_error") or answer.get("subtype") != "success":
            raise unusable(self.model, Notice("answer.unfinished"))
        text = answer.get("result")
        if structured and answer.get("structured_output") is not None:
            text = json.dumps(answer["structured_output"], ensure_ascii=False)
        if not isinstance(text, str) or not text.strip():
            raise unusable(self.model, Notice("answer.empty"))
        usage = answer.get("usage")
        cached = read_count(usage, "cache_read_input_tokens") + read_count(
            usage, "cache_creation_input_tokens"
        )
        read = read_count(usage, "input_tokens") + cached
        return Reply(text.strip(), self.model, read, read_count(usage, "output_tokens"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the program and its children."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:  # pragma: no cover - Windows
        process.kill()
    process.communicate()
