"""The command `encrypt`: turn encryption at rest on and off, change, save and load its keys."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nagori.app import Nagori
from nagori.edges.cli.context import CommandSession, Json, print_json, progress
from nagori.encryption import KeySource
from nagori.errors import InvalidInput, Notice
from nagori.services.encrypt import EncryptionReport


class EncryptAction(StrEnum):
    STATUS = "status"
    ON = "on"
    OFF = "off"
    ROTATE = "rotate"
    SAVE_KEYS = "save-keys"
    LOAD_KEYS = "load-keys"


def encrypt(
    context: typer.Context,
    action: Annotated[EncryptAction, typer.Argument(help="help.encrypt.action")] = EncryptAction.STATUS,
    path: Annotated[Path | None, typer.Argument(help="help.encrypt.path")] = None,
    key_file: Annotated[Path | None, typer.Option(help="help.encrypt.key_file")] = None,
    keyring: Annotated[bool, typer.Option("--keyring", help="help.encrypt.keyring")] = False,
    key_command: Annotated[str, typer.Option(help="help.encrypt.key_command")] = "",
    as_json: Json = False,
) -> None:
    """Encrypt everything on the disk, with a key for each user."""
    session = CommandSession.of(context)
    saving = action in (EncryptAction.SAVE_KEYS, EncryptAction.LOAD_KEYS)
    if saving != (path is not None):
        raise InvalidInput("path", "error.encrypt_path")
    if action is EncryptAction.LOAD_KEYS:
        assert path is not None
        Nagori.load_keys(path, session.folder)
        session.say("cli.keys_loaded")
        return
    with session.memory() as memory, progress(session) as bar:
        if action is EncryptAction.SAVE_KEYS:
            assert path is not None
            memory.save_keys(path)
            session.say("cli.keys_saved", path=path)
            return
        if action is EncryptAction.ON:
            source = KeySource(str(key_file or ""), keyring, tuple(shlex.split(key_command)))
            report = memory.encrypt(source, bar)
        elif action is EncryptAction.OFF:
            report = memory.decrypt(bar)
        elif action is EncryptAction.ROTATE:
            report = memory.rotate_keys(bar)
        else:
            report = memory.encryption()
    _tell(session, report, as_json)


def _tell(session: CommandSession, report: EncryptionReport, as_json: bool) -> None:
    if as_json:
        said = {"on": report.on, "source": report.source, "owners": report.owners}
        print_json({**said, "plain": list(report.plain)})
        return
    if not report.on:
        session.say("cli.encryption_off")
    else:
        session.say("cli.encryption_on", source=Notice(f"key_source.{report.source}"), n=report.owners)
    if report.plain:
        session.say("cli.encryption_plain")
        for name in report.plain:
            session.out.print(f"  {name}", markup=False, highlight=False, soft_wrap=True)
