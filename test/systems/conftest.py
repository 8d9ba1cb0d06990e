"""Makes the helpers of each system's folder importable (pytest's importlib mode does not)."""

import sys
from pathlib import Path

for folder in sorted(Path(__file__).parent.glob('*/')):
    sys.path.insert(0, str(folder))
