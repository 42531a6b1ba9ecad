"""`python -m examples.demo`, from the root of the project."""

import sys

from examples.demo import main

sys.exit(main())
