"""`nagori` and `python -m nagori`. A hook is called at every prompt, so it does not wait for the rest."""

import sys


def main() -> None:
    """What was typed, through the shortest door."""
    if sys.argv[1:2] == ["hook"]:
        from nagori.edges.hooks import main as hook

        hook(sys.argv[2:])
        return
    from nagori.edges.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
