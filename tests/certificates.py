"""Certificates for servers on loopback, valid for two days, made by the program openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path


def make_certificates(openssl: str, folder: Path) -> None:
    """An authority (ca.pem), a server that it vouches for (server.pem, server.key), and another authority."""

    def run(*words: str) -> None:
        subprocess.run([openssl, *words], cwd=folder, check=True, capture_output=True)

    def request(name: str, subject: str) -> list[str]:
        new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        return [*new, "-subj", f"/CN={subject}", "-keyout", f"{name}.key", "-out", f"{name}.pem"]

    run(*request("ca", "tests"), "-x509", "-days", "2")
    run(*request("other", "others"), "-x509", "-days", "2")
    extensions = ("subjectAltName=DNS:localhost,IP:127.0.0.1", "basicConstraints=critical,CA:FALSE")
    added = [word for each in extensions for word in ("-addext", each)]
    run(*request("server", "localhost"), "-x509", "-days", "2", "-CA", "ca.pem", "-CAkey", "ca.key", *added)
