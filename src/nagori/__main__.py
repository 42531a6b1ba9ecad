"""`python -m nagori`."""

from nagori.edges.cli import main

main()
