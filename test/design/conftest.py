"""Makes the helper modules of the systems' tests importable."""

import sys
from pathlib import Path

for folder in sorted((Path(__file__).parents[1] / 'systems').glob('*/')):
    sys.path.insert(0, str(folder))
