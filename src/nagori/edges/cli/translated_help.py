"""Help texts and complaints of the command line's parser, in the user's language.

Commands, options and arguments carry the ids of their help texts (`help.recall.k`). A complaint is known by
the class of its exception and by what that carries, never by its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from rich.cells import cell_len
from typer.core import TyperCommand, TyperGroup

from nagori.edges.locale import Translator
from nagori.errors import Notice

REMARKS = {"default": "help.default", "env var": "help.env_var"}  # labels that the library puts into brackets
OWN = {  # options that the library adds
    "help": "help.common.show_help",
    "install_completion": "help.common.install_completion",
    "show_completion": "help.common.show_completion",
}
WIDEST_NAME = 28
NOT_AT_THE_START = "。、）］」』；：？！"  # of a line


def translator_of(context: Any) -> Translator:
    """Who speaks: `main` puts a translator there, and `prepare` a session with it."""
    there = context.find_root().obj
    if isinstance(there, Translator):
        return there
    found = getattr(there, "translator", None)
    return found if isinstance(found, Translator) else Translator()


# ── help ─────────────────────────────────────────────────────────────────────────────────────────


class TranslatedCommand(TyperCommand):
    """A command whose help and complaints are in the user's language."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        if not _write_help(self, ctx, formatter):
            super().format_help(ctx, formatter)

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        _write_usage(self, ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.allow_extra_args = True  # refused below, with words of our own
        with_context(ctx, lambda: super(TranslatedCommand, self).parse_args(ctx, args))
        if ctx.args and not ctx.resilient_parsing:
            fail(ctx, Notice("parser.extra_arguments", arguments=" ".join(ctx.args)))
        return list(ctx.args)


class TranslatedGroup(TyperGroup):
    """The program itself: its commands by group, and what is said of one that does not exist. A command is
    loaded when it is used; the list of all needs only their names."""

    groups: Mapping[str, Mapping[str, str]] = {}
    renamed: Mapping[str, str] = {}

    def load(self, name: str, place: str) -> Any:
        """The command of this name."""
        raise NotImplementedError("a program says where its commands are")

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for commands in self.groups.values() for name in commands]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        places = {name: place for commands in self.groups.values() for name, place in commands.items()}
        if cmd_name in places and cmd_name not in self.commands:
            self.commands[cmd_name] = self.load(cmd_name, places[cmd_name])
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for heading, rows in self.command_sections(translator_of(ctx)):
            with formatter.section(heading):
                formatter.write_dl(rows)

    def command_sections(self, translator: Translator) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """The commands of each group with their meaning."""
        for group, commands in self.groups.items():
            rows = [(name, translator(f"help.command.{name}")) for name in commands]
            yield translator(f"help.group.{group}"), rows

    def format_help(self, ctx: Any, formatter: Any) -> None:
        if not _write_help(self, ctx, formatter):
            super().format_help(ctx, formatter)

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        _write_usage(self, ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return with_context(ctx, lambda: super(TranslatedGroup, self).parse_args(ctx, args))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name in self.renamed and not ctx.resilient_parsing:
            fail(ctx, Notice("parser.renamed_command", name=name, new=self.renamed[name]))
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = ", ".join(get_close_matches(name, self.list_commands(ctx)))
            id = "parser.no_such_command_near" if near else "parser.no_such_command"
            fail(ctx, Notice(id, name=name, near=near))
        return super().resolve_command(ctx, args)


def _write_usage(command: Any, context: Any, formatter: Any) -> None:
    pieces = " ".join(command.collect_usage_pieces(context))
    formatter.write_usage(context.command_path, pieces, f"{translator_of(context)('help.usage')}: ")


def _write_help(command: Any, context: Any, formatter: Any) -> bool:
    """Put words in the place of ids. True when the help is written: the library breaks lines where English
    has spaces, which Japanese has not."""
    translator = translator_of(context)
    for each in (command, *command.get_params(context)):
        each.help = _words(each, translator)
    if translator.language == "en":
        return False
    command.format_usage(context, formatter)
    formatter.write("\n" + "".join(f"  {line}\n" for line in wrap(command.help or "", formatter.width - 2)))
    for heading, rows in _sections(command, context, translator):
        formatter.write(f"\n{heading}:\n")
        for line in _columns(rows, formatter.width):
            formatter.write(f"{line}\n")
    return True


def _words(owner: Any, translator: Translator) -> str | None:
    """The help text of a command or a parameter."""
    help: str | None = owner.help if isinstance(owner, TyperCommand) else OWN.get(owner.name, owner.help)
    return translator(help) if help and help.startswith("help.") else help


def _sections(command: Any, context: Any, translator: Translator) -> Iterator[tuple[str, list[Any]]]:
    """Arguments, options and commands, each with a row for every one."""
    for kind, heading in (("argument", "help.arguments"), ("option", "help.options")):
        params = [each for each in command.get_params(context) if each.param_type_name == kind]
        rows = [_row(each, context, translator) for each in params if not each.hidden]
        if rows:
            yield translator(heading), rows
    if isinstance(command, TranslatedGroup):
        yield from command.command_sections(translator)


def _row(param: Any, context: Any, translator: Translator) -> tuple[str, str]:
    """Names and meaning of a parameter, with the library's remarks about it: `[default: 20; required]`."""
    names, text = param.get_help_record(context) or (param.name, "")
    remarks = text.removeprefix(param.help or "").strip().removeprefix("[").removesuffix("]")
    said = [_remark(each, translator) for each in remarks.split("; ") if each]
    return names, f"{param.help or ''}［{'、'.join(said)}］" if said else param.help or ""


def _remark(remark: str, translator: Translator) -> str:
    label, _, value = remark.partition(": ")
    if remark == "required":
        return translator("help.required")
    return translator(REMARKS[label], value=value) if label in REMARKS else remark


def _columns(rows: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    rows = list(rows)
    first = min(WIDEST_NAME, max(cell_len(name) for name, _ in rows))
    for name, text in rows:
        lines = wrap(text, max(20, width - first - 4)) or [""]
        if cell_len(name) > first:
            yield f"  {name}"
        else:
            yield f"  {name}{' ' * (first - cell_len(name))}  {lines.pop(0)}".rstrip()
        yield from (" " * (first + 4) + line for line in lines)


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most so many columns: Latin words stay whole, a Japanese text may break anywhere but before
    a closing sign."""
    lines, line = [], ""
    for piece in re.findall(r"[!-~]+|.", text):
        if line and cell_len(line + piece) > width and piece not in NOT_AT_THE_START:
            lines.append(line.rstrip())
            line = ""
        line += piece if line else piece.lstrip()
    return [*lines, line.rstrip()] if line.strip() else lines


# ── complaints ───────────────────────────────────────────────────────────────────────────────────


def fail(context: Any, notice: Notice) -> None:
    """Refuse what was typed; the message goes with the library's own exception."""
    try:
        context.fail(str(notice))
    except Exception as error:
        error.notice = notice  # type: ignore[attr-defined]
        raise


def with_context(context: Any, parse: Callable[[], list[str]]) -> list[str]:
    """Parse; a complaint that does not know which command it is about is told."""
    try:
        return parse()
    except Exception as error:
        if getattr(error, "ctx", context) is None:
            error.ctx = context  # type: ignore[attr-defined]
        raise


def complain(error: Any, translator: Translator) -> str | None:
    """How the command is used, then what is wrong; None for what is no complaint of the parser."""
    notice = complaint(error)
    if notice is None:
        return None
    lines, context = [], getattr(error, "ctx", None)
    if context is not None:
        lines.append(context.get_usage())
        option = context.help_option_names[-1]
        lines.append(translator("parser.see_help", command=context.command_path, option=option) + "\n")
    return "\n".join([*lines, f"nagori: {translator.say(notice)}"])


NEAR = 0.6  # alike enough that an option may have been meant


def complaint(error: Any) -> Notice | None:
    """What the parser complains about, by the class of its exception."""
    own = getattr(error, "notice", None)
    if isinstance(own, Notice):
        return own
    known = (COMPLAINTS.get(kind.__name__) for kind in type(error).__mro__)
    read = next((read for read in known if read is not None), None)
    return read(error) if read else None


def _no_such_option(error: Any) -> Notice:
    possible = {each.lstrip("-"): each for each in error.possibilities or ()}
    # The parser compares the dashes, too, so that every short name is near every other.
    alike = get_close_matches(str(error.option_name).lstrip("-"), possible, cutoff=NEAR)
    near = ", ".join(possible[each] for each in alike)
    id = "parser.no_such_option_near" if near else "parser.no_such_option"
    return Notice(id, name=error.option_name, near=near)


def _missing(error: Any) -> Notice:
    if choices := _choices(error.param):
        return Notice("parser.missing_choice", name=_name(error), choices=choices)
    return Notice("parser.missing_parameter", name=_name(error))


def _option_usage(error: Any) -> Notice:
    params = error.ctx.command.params if error.ctx else ()
    flag = any(error.option_name in each.opts and getattr(each, "is_flag", False) for each in params)
    return Notice(f"parser.option_{'takes_no' if flag else 'needs'}_value", name=error.option_name)


def _bad_value(error: Any) -> Notice:
    return Notice("parser.parameter", name=_name(error), problem=_value_fault(error))


def _value_fault(error: Any) -> Notice:
    """What is wrong with a value, by what its check says."""
    found = getattr(error.__cause__, "errors", None)
    first = found()[0] if callable(found) else {}
    kind, bounds = str(first.get("type", "")), first.get("ctx") or {}
    if kind in VALUES:
        return Notice(VALUES[kind])
    if "le" in bounds:
        return Notice("parser.at_most", bound=bounds["le"])
    if "ge" in bounds:
        return Notice("parser.at_least", bound=bounds["ge"])
    if choices := _choices(error.param):
        return Notice("parser.not_choice", value=first.get("input"), choices=choices)
    return Notice("parser.other", text=error.message)


def _other(error: Any) -> Notice:
    """The program without a command is the one complaint of a group that has no class of its own."""
    if error.ctx is not None and isinstance(error.ctx.command, TranslatedGroup):
        return Notice("parser.missing_command")
    return Notice("parser.other", text=error.format_message())


COMPLAINTS: dict[str, Callable[[Any], Notice | None]] = {
    "NoArgsIsHelpError": lambda error: None,
    "NoSuchOption": _no_such_option,
    "MissingParameter": _missing,
    "BadParameter": _bad_value,
    "BadOptionUsage": _option_usage,
    "UsageError": _other,
}
VALUES = {
    "int_parsing": "parser.not_whole",
    "int_type": "parser.not_whole",
    "int_from_float": "parser.not_whole",
    "float_parsing": "parser.not_number",
    "float_type": "parser.not_number",
    "bool_parsing": "parser.not_bool",
}


def _name(error: Any) -> str:
    """The parameter as it is typed."""
    hint = error.param_hint or (error.param.get_error_hint() if error.param is not None else "?")
    return (hint if isinstance(hint, str) else " / ".join(hint)).replace("'", "")


def _choices(param: Any) -> str:
    """What a parameter can be, where that is a list."""
    described = getattr(param, "type_descriptor", None) or getattr(param, "type", None)
    return ", ".join(str(getattr(each, "value", each)) for each in getattr(described, "choices", None) or ())
