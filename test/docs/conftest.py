"""Makes the helper modules of this folder and of bench/ importable (importlib mode does not)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / 'bench'))
sys.path.insert(0, str(Path(__file__).parent))
