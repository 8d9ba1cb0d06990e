"""Services that the nodes share: ~/reset, ~/enable, ~/save and ~/load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veh_identification.errors import VehIdError
from veh_identification.runtime.interface import Node
from veh_identification.runtime.messages import service_class


def create_trigger(node: Node, name: str, work: Callable[[], str]) -> None:
    """A service that does something and says what; a VehIdError is its refusal."""

    def answer(_request: Any, response: Any) -> Any:
        try:
            response.message, response.success = work(), True
        except VehIdError as error:
            response.message, response.success = str(error), False
        return response

    node.create_service(service_class('std_srvs/srv/Trigger'), name, answer)


def create_services(
    node: Node,
    *,
    reset: Callable[[], str],
    enable: Callable[[bool], None],
    save: Callable[[], str] | None = None,
    load: Callable[[], str] | None = None,
) -> None:
    """Offer what a user can ask of a node."""

    def switch(request: Any, response: Any) -> Any:
        enable(bool(request.data))
        response.success = True
        response.message = 'enabled' if request.data else 'disabled'
        return response

    create_trigger(node, '~/reset', reset)
    for name, work in (('~/save', save), ('~/load', load)):
        if work is not None:
            create_trigger(node, name, work)
    node.create_service(service_class('std_srvs/srv/SetBool'), '~/enable', switch)
