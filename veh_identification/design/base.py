"""The one shape of a design: options in, an outcome with the motion out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from veh_identification.results.outcome import Outcome
from veh_identification.types import Progress


class Design(ABC):
    """Searches a motion or a manoeuvre that excites what is to be identified."""

    name: ClassVar[str]
    options: ClassVar[type]  # see systems/options.py

    @abstractmethod
    def design(
        self, config: Path | None, options: Any, progress: Progress | None = None
    ) -> Outcome[Any]:
        """Search within the limits of the configuration."""
