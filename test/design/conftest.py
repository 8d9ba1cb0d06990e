"""Makes the helper modules of the systems' tests importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / 'systems'))
