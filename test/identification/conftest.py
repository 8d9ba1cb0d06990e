"""Makes the helper module of this folder importable (pytest's importlib mode does not)."""

import os
import sys
from pathlib import Path

# Small matrices on a busy machine: threads of OpenBLAS that wait for each other cost up to thirty
# times the work itself. Has an effect only before numpy is first imported.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

sys.path.insert(0, str(Path(__file__).parent))
