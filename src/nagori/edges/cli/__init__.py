"""The command line: the library's verbs, one command each. `--json` for machines, tables for people.

Exit codes: 0 done · 1 a check found faults · 2 bad input · 3 not found · 4 limit reached · 5 conflict ·
6 store · 7 journal · 8 model · 9 erased · 70 a bug of ours · 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from typer.main import get_command

from nagori import __version__
from nagori.config import load
from nagori.core.model import Scope
from nagori.edges.cli.context import CommandSession, print_json
from nagori.edges.cli.translated_help import TranslatedCommand, TranslatedGroup, complain
from nagori.edges.locale import Translator, language
from nagori.errors import InvalidInput, LimitReached, NagoriError
from nagori.messages import LANGUAGES

BUG, INTERRUPTED = 70, 130

# Every command by group, as `--help` lists them: its name and where its function is. The module is imported
# when the command is used, so that no command pays for another. A new one is a function and a line here.
COMMANDS: dict[str, dict[str, str]] = {
    "memories": {
        "remember": "remember:remember",
        "recall": "recall_list_why_status:recall",
        "associate": "associated_topics:associate",
        "know": "knowledge_base:know",
        "list": "recall_list_why_status:list_",
        "show": "recall_list_why_status:show",
        "why": "recall_list_why_status:why",
        "log": "recall_list_why_status:log",
        "view": "view:view",
    },
    "changes": {
        "edit": "edit_protect_link_forget_undo:edit",
        "feedback": "edit_protect_link_forget_undo:feedback",
        "protect": "edit_protect_link_forget_undo:protect",
        "unprotect": "edit_protect_link_forget_undo:unprotect",
        "link": "edit_protect_link_forget_undo:link",
        "unlink": "edit_protect_link_forget_undo:unlink",
        "archive": "cycle_and_archive:archive",
        "unarchive": "cycle_and_archive:unarchive",
        "forget": "edit_protect_link_forget_undo:forget",
        "undo": "edit_protect_link_forget_undo:undo",
    },
    "life": {
        "status": "recall_list_why_status:status",
        "cycle": "cycle_and_archive:cycle",
        "chart": "decay_and_level_charts:chart",
        "schedule": "schedule:schedule",
        "policy": "learned_settings:policy",
    },
    "agents": {
        "init": "setup:init",
        "uninstall": "setup:uninstall",
        "mcp": "mcp:mcp",
        "serve": "serve_and_api_keys:serve",
        "keys": "serve_and_api_keys:keys",
        "prune": "prune:prune",
        "sessions": "sessions_threads_profile_turn_logs:sessions",
        "threads": "sessions_threads_profile_turn_logs:threads",
        "profile": "sessions_threads_profile_turn_logs:profile",
        "hook": "hook_and_worker:hook",
        "process": "hook_and_worker:process",
        "worker": "hook_and_worker:worker",
    },
    "models": {
        "appraise": "appraise_and_spend:appraise",
        "reembed": "maintenance:reembed",
        "cost": "cost_estimate:cost",
        "spend": "appraise_and_spend:spend",
    },
    "data": {
        "doctor": "maintenance:doctor",
        "config": "maintenance:config",
        "export": "transfer:export",
        "import": "transfer:import_",
        "backup": "maintenance:backup",
        "restore": "maintenance:restore",
        "erase": "erase_and_audit:erase",
        "audit": "erase_and_audit:audit",
        "logs": "sessions_threads_profile_turn_logs:logs",
        "graph": "graph_mirror:graph",
        "encrypt": "encrypt:encrypt",
        "verify": "maintenance:verify",
        "rebuild": "maintenance:rebuild",
        "compact": "maintenance:compact",
    },
}
RENAMED = {"thumb": "feedback", "judge": "appraise", "work": "process"}


class Commands(TranslatedGroup):
    """The program's commands, each imported when it is used."""

    groups = COMMANDS
    renamed = RENAMED

    def load(self, name: str, place: str) -> Any:
        module, _, function = place.partition(":")
        own = typer.Typer(add_completion=False, rich_markup_mode=None)
        found = getattr(import_module(f"nagori.edges.cli.commands.{module}"), function)
        own.command(name, cls=TranslatedCommand, help=f"help.command.{name}")(found)
        return get_command(own)


app = typer.Typer(
    name="nagori",
    cls=Commands,
    help="help.program",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nagori {__version__}")
        raise typer.Exit


@app.callback()
def prepare(
    context: typer.Context,
    data_dir: Annotated[Path | None, typer.Option(help="help.main.data_dir")] = None,
    user: Annotated[str, typer.Option(envvar="NAGORI_USER", help="help.main.user")] = "me",
    tenant: Annotated[str, typer.Option(envvar="NAGORI_TENANT", help="help.main.tenant")] = "local",
    project: Annotated[str | None, typer.Option(envvar="NAGORI_PROJECT", help="help.main.project")] = None,
    agent: Annotated[str | None, typer.Option(envvar="NAGORI_AGENT", help="help.main.agent")] = None,
    role: Annotated[str | None, typer.Option(envvar="NAGORI_ROLE", help="help.main.role")] = None,
    task: Annotated[str | None, typer.Option(envvar="NAGORI_TASK", help="help.main.task")] = None,
    lang: Annotated[str | None, typer.Option(help="help.main.lang")] = None,
    config: Annotated[Path | None, typer.Option(help="help.main.config")] = None,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_tell_version, help="help.main.version")
    ] = False,
) -> None:
    translator = context.ensure_object(Translator)  # the one that `main` complains with
    if data_dir and str(data_dir).startswith(
        ("postgresql:", "postgres:")
    ):  # not repeated: it may hold a password
        raise InvalidInput("data_dir", "error.postgres_option", value=str(data_dir).partition(":")[0] + ":…")
    if lang and lang not in ("auto", *LANGUAGES):
        raise InvalidInput("--lang", "error.not_choice", value=lang, choices=", ".join(("auto", *LANGUAGES)))
    loaded = load(config, overrides={"general.language": lang} if lang else None)
    translator.language = language(loaded.config.general.language)
    context.obj = CommandSession(
        data_dir=data_dir,
        scope=Scope(user=user, tenant=tenant, project=project, agent=agent, role=role, task=task),
        loaded=loaded,
        translator=translator,
        out=Console(soft_wrap=False),
        err=Console(stderr=True),
    )


# ── the one error boundary ───────────────────────────────────────────────────────────────────────


def main() -> NoReturn:
    """Run what was typed; every error becomes a sentence and an exit code."""
    translator = Translator(_early_language())  # `prepare` corrects it as soon as the settings are read
    try:
        code = (
            app(standalone_mode=False, obj=translator) or 0
        )  # a command that stops early hands its code back
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except NagoriError as error:
        code = error.exit_code
        _complain(error, translator)
    except (BrokenPipeError, SystemExit):  # `nagori export | head`: typer makes an exit of it
        code = 0
    except Exception as error:
        code = _usage_error(error, translator) or _bug(error, translator)
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # a reader that has seen enough; Python would try again at exit, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _early_language() -> str:
    """The language of an error that comes before the settings are read."""
    before = sys.argv[:-1]
    option = sys.argv[before.index("--lang") + 1] if "--lang" in before else None
    return language(option or os.environ.get("NAGORI_LANG", "auto"))


def _complain(error: NagoriError, translator: Translator) -> None:
    if "--json" in sys.argv:
        field = getattr(error, "field", None)
        told = {"type": type(error).__name__, "id": error.message_id, "field": field, "message": str(error)}
        print_json({"error": told})
        return
    console = Console(stderr=True)
    console.print(f"nagori: {translator.say(error)}", style="red", markup=False, highlight=False)
    if isinstance(error, LimitReached):
        console.print("  --release " + " | --release ".join(error.candidates[:5]), markup=False)


def _usage_error(error: Exception, translator: Translator) -> int:
    """A wrong option or argument."""
    show = getattr(error, "show", None)
    if show is None:
        return 0
    told = complain(error, translator)
    if told is None:
        show()
    else:
        print(told, file=sys.stderr)
    return 2


def _bug(error: Exception, translator: Translator) -> int:
    import traceback

    traceback.print_exception(error)
    print(f"\nnagori {__version__}: {translator('cli.bug')}", file=sys.stderr)
    return BUG


if __name__ == "__main__":
    main()
