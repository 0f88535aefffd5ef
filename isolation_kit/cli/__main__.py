"""`python -m isolation_kit.cli`."""

import sys

from isolation_kit.cli import main

sys.exit(main())
