"""The primary dies under writes and its synchronous standby is promoted: nothing acknowledged is lost."""

from bench.nodes import promote_standby
from tests.postgres import Server


def test_a_promoted_standby_has_everything_that_was_acknowledged(capsys) -> None:
    primary = Server()
    try:
        assert promote_standby(primary, 40)
    finally:
        primary.remove()
    assert "lost 0" in capsys.readouterr().out
