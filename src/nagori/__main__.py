"""Entry point of `nagori` and `python -m nagori`. A hook runs without loading the command line."""

import sys


def main() -> None:
    """Run a hook directly, or else the command line."""
    if sys.argv[1:2] == ["hook"]:
        from nagori.edges.hooks import run

        run(sys.argv[2:])
    from nagori.edges.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
