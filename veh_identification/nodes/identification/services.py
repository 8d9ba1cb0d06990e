"""Services of the live identification nodes: ~/reset, ~/enable, ~/save and ~/load."""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np

from veh_identification.atomic import atomic_file
from veh_identification.errors import EstimationError, InputError, ParameterError, VehIdError
from veh_identification.identification.live import Solution
from veh_identification.runtime.interface import Node
from veh_identification.runtime.messages import service_class


class LiveServices:
    """What a user can ask of a live identification node."""

    enabled: bool
    live: Any  # LiveIdentification, or what offers the same
    solution: Solution | None
    buffer: Any  # has interrupt()
    file: str

    def create_services(self, node: Node) -> None:
        """Offer the services."""
        trigger = service_class('std_srvs/srv/Trigger')
        node.create_service(trigger, '~/reset', self._on_reset)
        node.create_service(trigger, '~/save', self._on_save)
        node.create_service(trigger, '~/load', self._on_load)
        node.create_service(service_class('std_srvs/srv/SetBool'), '~/enable', self._on_enable)

    def restart(self) -> None:
        """Forget all rows."""
        raise NotImplementedError

    def extra_state(self) -> dict[str, Any]:
        """What ~/save must keep beside the estimator's state."""
        return {}

    def prepare_load(self, state: dict[str, Any]) -> None:
        """Make the model that a stored estimate belongs to."""

    def _on_reset(self, _request: Any, response: Any) -> Any:
        self.buffer.interrupt()
        self.restart()
        response.success, response.message = True, 'all rows are forgotten'
        return response

    def _on_enable(self, request: Any, response: Any) -> Any:
        self.buffer.interrupt()
        self.enabled = bool(request.data)
        response.success = True
        response.message = 'enabled' if self.enabled else 'disabled'
        return response

    def _on_save(self, _request: Any, response: Any) -> Any:
        response.success = False
        try:
            if self.live is None or self.live.samples == 0:
                raise EstimationError('nothing is identified yet')
            path = self._path()
            with atomic_file(path) as partial, partial.open('wb') as file:
                np.savez(file, **self.live.state(), **self.extra_state())
            response.success, response.message = True, path
        except VehIdError as error:
            response.message = str(error)
        return response

    def _on_load(self, _request: Any, response: Any) -> Any:
        """Take a stored estimate as the long-term one: later rows add to it or contradict it."""
        response.success = False
        try:
            state = read_state(self._path())
            self.buffer.interrupt()
            self.prepare_load(state)
            self.live.restore(state)
            self.solution = self.live.reference
            response.success = True
            response.message = f'{self.live.samples} rows of {len(self.live.names)} parameters'
        except VehIdError as error:
            response.message = str(error)
        return response

    def _path(self) -> str:
        if not self.file:
            raise ParameterError('the parameter file is empty')
        return self.file


def read_state(path: str) -> dict[str, Any]:
    """The arrays of a stored estimate."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except OSError as error:
        raise InputError(f'{path}: cannot be read ({error.strerror or error})') from None
    except (ValueError, zipfile.BadZipFile, EOFError) as error:
        raise InputError(f'{path}: not a stored estimate ({error})') from None
