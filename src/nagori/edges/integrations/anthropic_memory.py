"""Anthropic's memory tool (`memory_20250818`): Claude's files under `/memories`, kept as items.

    tool = NagoriMemoryTool("memory")                 # or NagoriMemoryTool(memory=memory)
    client.beta.messages.run_tools(model=…, messages=…, tools=[tool])

A file comes back as it was written. With `remember=True` the notes in it become memories, too. The sentences
of the answers are those of Anthropic's documentation: Claude knows them.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError

from nagori.app import Nagori
from nagori.core.model import Item
from nagori.edges.integrations import finish_in_thread, open_memory, run_in_thread
from nagori.services.key_value_items import ItemDelete, ItemPut, read_value

ROOT = "/memories"
SPACE = "anthropic_memory"
MOST_LINES = 999_999
WIDTH = len(str(MOST_LINES))
CONTEXT = 2  # lines shown before and after a replacement
DEPTH = 2  # levels of folders that are listed

Parts = tuple[str, ...]


class MemoryFiles:
    """The files, and what each command of the tool does with them."""

    def __init__(self, memory: Nagori, remember: bool) -> None:
        self.memory, self._remember = memory, remember

    def view(self, command: Any) -> str:
        parts = _parse(command.path)
        text = self._read(parts) if parts else None
        if text is not None:
            return _numbered(command.path, text, command.view_range)
        files = self._below(parts)
        if parts and not files:
            raise _missing(command.path)
        header = f"up to {DEPTH} levels deep in {command.path}, excluding hidden items:"
        sizes = [(_place(item)[len(parts) :], len(read_value(item).encode())) for item in files]
        return "\n".join([f"Here're the files and directories {header}", *_listing(command.path, sizes)])

    def create(self, command: Any) -> str:
        parts = _parse(command.path)

        def decide() -> list[ItemPut]:
            if not parts or self._read(parts) is not None or self._below(parts):
                raise ToolError(f"File {command.path} already exists")
            self._refuse_files_above(parts)
            return [_put(parts, command.file_text)]

        self._change(decide, command.file_text)
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: Any) -> str:
        snippet: list[str] = []

        def replace(text: str) -> str:
            old, path = command.old_str, command.path
            places = _occurrences(text, old)
            if not places:
                raise ToolError(
                    f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
                )
            if text.count(old) > 1:  # as Anthropic's own tool: `aa` is once in `aaa`
                lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places)
                raise ToolError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines:"
                    f" {lines}. Please ensure it is unique"
                )
            new = text[: places[0]] + (command.new_str or "") + text[places[0] + len(old) :]
            line = text.count("\n", 0, places[0])
            shown = new.split("\n")[max(0, line - CONTEXT) : line + CONTEXT + 1]
            snippet[:] = _with_numbers(shown, max(0, line - CONTEXT) + 1)
            return new

        self._edit(command.path, replace)
        told = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return "\n".join([told, *snippet])

    def insert(self, command: Any) -> str:
        def insert(text: str) -> str:
            lines = text.split("\n")
            if lines[-1] == "":
                lines.pop()
            if not 0 <= command.insert_line <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {command.insert_line}. "
                    f"It should be within the range [0, {len(lines)}]."
                )
            lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
            new = "\n".join(lines)
            return new if new.endswith("\n") else f"{new}\n"

        self._edit(command.path, insert)
        return f"The file {command.path} has been edited."

    def delete(self, command: Any) -> str:
        parts = _parse(command.path)
        if not parts:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")

        def decide() -> list[ItemDelete]:
            gone = self._at(parts)
            if not gone:
                raise ToolError(f"The path {command.path} does not exist")
            return [ItemDelete(item.namespace, item.key) for item in gone]

        self.memory.items.change(decide)
        return f"Successfully deleted {command.path}"

    def rename(self, command: Any) -> str:
        old, new = _parse(command.old_path), _parse(command.new_path)
        if not old:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")

        def decide() -> Iterator[ItemPut | ItemDelete]:
            if not new or self._at(new):
                raise ToolError(f"The destination {command.new_path} already exists")
            moved = self._at(old)
            if not moved:
                raise ToolError(f"The path {command.old_path} does not exist")
            if new[: len(old)] == old:
                raise ToolError(f"The path {command.old_path} cannot be moved into itself")
            self._refuse_files_above(new)
            for item in moved:
                yield ItemDelete(item.namespace, item.key)
                yield _put((*new, *_place(item)[len(old) :]), read_value(item))

        self.memory.items.change(decide)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear(self) -> str:
        items = self.memory.items
        items.change(lambda: [ItemDelete(item.namespace, item.key) for item in items.list((SPACE,))])
        return "All memory cleared"

    def texts(self) -> dict[str, str]:
        """All files, by their paths without the leading slash."""
        return {posixpath.join(ROOT[1:], *_place(item)): read_value(item) for item in self._below(())}

    def _read(self, parts: Parts) -> str | None:
        item = self.memory.items.get((SPACE, *parts[:-1]), parts[-1])
        return None if item is None else str(read_value(item))

    def _below(self, parts: Parts) -> Sequence[Item]:
        return self.memory.items.list((SPACE, *parts))

    def _at(self, parts: Parts) -> Sequence[Item]:
        """The file itself, or everything in the folder."""
        file = self.memory.items.get((SPACE, *parts[:-1]), parts[-1])
        return self._below(parts) if file is None else [file]

    def _refuse_files_above(self, parts: Parts) -> None:
        for size in range(1, len(parts)):
            if self._read(parts[:size]) is not None:
                raise ToolError(f"The path {posixpath.join(ROOT, *parts[:size])} is not a directory")

    def _edit(self, path: str, change: Callable[[str], str]) -> None:
        parts = _parse(path)
        written: list[str] = []

        def decide() -> list[ItemPut]:
            text = self._read(parts) if parts else None
            if text is None:
                if not parts or self._below(parts):
                    raise ToolError(f"The path {path} is not a file.")
                raise _missing(path)
            written[:] = [change(text)]
            return [_put(parts, written[0])]

        self._change(decide, written)

    def _change(self, decide: Callable[[], list[ItemPut]], text: str | list[str]) -> None:
        self.memory.items.change(decide)
        if self._remember:
            whole = text if isinstance(text, str) else "".join(text)
            self.memory.import_(whole.splitlines(), "markdown")


class _OnMemory:
    """What the two tools share: the memory, opened from a folder unless it is given."""

    def __init__(
        self,
        base_path: str | Path = "./memory",
        *,
        memory: Nagori | None = None,
        remember: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self.base_path = base_path
        self._opened = ExitStack()
        given = memory if memory is not None else self._opened.enter_context(open_memory(base_path))
        self.files = MemoryFiles(given, remember)

    def close(self) -> None:
        """Close the memory, if the tool opened it."""
        self._opened.close()

    @classmethod
    def snapshot(cls, base_path: str | Path) -> dict[str, str]:
        """All files of the memory in a folder, by path."""
        with open_memory(base_path) as memory:
            return MemoryFiles(memory, remember=False).texts()


class NagoriMemoryTool(_OnMemory, BetaAbstractMemoryTool):  # type: ignore[misc, unused-ignore]
    """The tool for `Anthropic`."""

    def view(self, command: Any) -> str:
        return self.files.view(command)

    def create(self, command: Any) -> str:
        return self.files.create(command)

    def str_replace(self, command: Any) -> str:
        return self.files.str_replace(command)

    def insert(self, command: Any) -> str:
        return self.files.insert(command)

    def delete(self, command: Any) -> str:
        return self.files.delete(command)

    def rename(self, command: Any) -> str:
        return self.files.rename(command)

    def clear_all_memory(self) -> str:
        return self.files.clear()


class AsyncNagoriMemoryTool(_OnMemory, BetaAsyncAbstractMemoryTool):  # type: ignore[misc, unused-ignore]
    """The tool for `AsyncAnthropic`: each command in a thread, on asyncio or trio."""

    async def view(self, command: Any) -> str:
        return await run_in_thread(self.files.view, command)

    async def create(self, command: Any) -> str:
        return await finish_in_thread(lambda: self.files.create(command))

    async def str_replace(self, command: Any) -> str:
        return await finish_in_thread(lambda: self.files.str_replace(command))

    async def insert(self, command: Any) -> str:
        return await finish_in_thread(lambda: self.files.insert(command))

    async def delete(self, command: Any) -> str:
        return await finish_in_thread(lambda: self.files.delete(command))

    async def rename(self, command: Any) -> str:
        return await finish_in_thread(lambda: self.files.rename(command))

    async def clear_all_memory(self) -> str:
        return await finish_in_thread(self.files.clear)


# --- paths and texts ------------------------------------------------------------------------------


def _parse(path: str) -> Parts:
    """The names in a path below `/memories`; () for the folder itself."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    whole = posixpath.normpath(ROOT + "/" + path[len(ROOT) :].lstrip("/"))
    if whole != ROOT and not whole.startswith(f"{ROOT}/"):
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    if "\0" in whole:
        raise ToolError(f"Path {path!r} holds a NUL character")
    return tuple(whole[len(ROOT) + 1 :].split("/")) if whole != ROOT else ()


def _place(item: Item) -> Parts:
    return (*item.namespace[1:], item.key)


def _put(parts: Parts, text: str) -> ItemPut:
    return ItemPut((SPACE, *parts[:-1]), parts[-1], text)


def _missing(path: str) -> ToolError:
    return ToolError(f"The path {path} does not exist. Please provide a valid path.")


def _occurrences(text: str, wanted: str) -> list[int]:
    """Where `wanted` begins in `text`, overlapping ones included."""
    places, at = [], text.find(wanted) if wanted else -1
    while at >= 0:
        places.append(at)
        at = text.find(wanted, at + 1)
    return places


def _numbered(path: str, text: str, view_range: Sequence[int] | None) -> str:
    lines, first = text.split("\n"), 1
    if len(lines) > MOST_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of 999,999 lines.")
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0])
        last = len(lines) if view_range[1] == -1 else view_range[1]
        lines = lines[first - 1 : last]
    return f"Here's the content of {path} with line numbers:\n" + "\n".join(_with_numbers(lines, first))


def _with_numbers(lines: Sequence[str], first: int) -> list[str]:
    return [f"{number:>{WIDTH}}\t{line}" for number, line in enumerate(lines, first)]


def _listing(path: str, files: Sequence[tuple[Parts, int]]) -> Iterator[str]:
    """The lines of a folder: its size, then what is in it, by name."""
    seen = [(parts, size) for parts, size in files if not any(name.startswith(".") for name in parts)]
    yield f"{_size(sum(size for _, size in seen))}\t{path}"
    entries: dict[Parts, tuple[int, str]] = {}
    for parts, size in seen:
        for depth in range(1, min(len(parts), DEPTH) + 1):
            whole = depth == len(parts)
            before, _ = entries.get(parts[:depth], (0, ""))
            entries[parts[:depth]] = (before + size, "" if whole else "/")
    for parts, (size, end) in sorted(entries.items()):
        yield f"{_size(size)}\t{path.rstrip('/')}/{'/'.join(parts)}{end}"


def _size(count: int) -> str:
    """A number of bytes as `ls -h` writes it."""
    size, units = float(count), iter("BKMG")
    unit = next(units)
    while size >= 1024 and unit != "G":
        size, unit = size / 1024, next(units)
    return f"{size:.0f}{unit}" if size == int(size) else f"{size:.1f}{unit}"
