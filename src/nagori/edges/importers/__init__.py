"""Importers: conversations of agent hosts, notes, and exports of other memory programs."""
