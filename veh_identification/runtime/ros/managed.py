"""The life of a node under ROS: a managed node with the standard transitions.

Unconfigured, it has no more than its lifecycle services. `configure` reads its parameters, makes
it (kernels compile now) and subscribes; `activate` lets samples in and timers run, which is the
state that others may wait for; `deactivate` uses and publishes what still waits, keeps the state
and lets nothing in; `cleanup` undoes `configure`, so that parameters may be set anew; `shutdown`
ends the process. With the parameter `autostart` (the default) the first two happen by themselves.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import rclpy.lifecycle
from lifecycle_msgs.srv import ChangeState
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

from veh_identification.errors import VehIdError
from veh_identification.runtime.graph import NodeDescription, finish_graph
from veh_identification.runtime.ros.node import RosNode
from veh_identification.runtime.silence import Silence
from veh_identification.runtime.stopping import StopRequest

AUTOSTART = 'autostart'
SUCCESS = TransitionCallbackReturn.SUCCESS


class Managed(rclpy.lifecycle.LifecycleNode):
    """rclpy's managed node; its life carries the transitions out."""

    def __init__(self, name: str, life: Life) -> None:
        self._life = life
        super().__init__(name)
        for service in self.services:
            if service.srv_type is ChangeState:
                service.callback = self._contained(service.callback)

    def _contained(self, change: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def serve(request: Any, response: Any) -> Any:
            try:
                return change(request, response)
            except Exception as error:  # rclpy raises where the transition is not possible now
                wanted = request.transition.label or request.transition.id
                self.get_logger().error(f'transition {wanted} is refused: {error}')
                response.success = False
                return response

        return serve

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make the node."""
        return self._life.step(self._life.configure)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let samples in."""
        return self._life.step(self._life.activate)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Use what waits and let nothing in."""
        return self._life.step(self._life.deactivate)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Undo the making."""
        return self._life.step(self._life.clean_up)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End."""
        return self._life.step(self._life.shut_down)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """After a failure that nobody foresaw: unconfigured again."""
        return self._life.step(self._life.clean_up)


class Life:
    """One node from its making to its end."""

    def __init__(self, description: NodeDescription, stop: StopRequest) -> None:
        self._description, self._stop = description, stop
        self._instance: Any = None
        self._silence: Silence | None = None
        self._failure: Exception | None = None
        self.ended = False
        self.managed = Managed(description.name, self)
        self.node = RosNode(self.managed, managed=True)
        self.node.inbox.open = False

    @property
    def active(self) -> bool:
        """Whether samples are taken."""
        return self._silence is not None

    def start(self) -> None:
        """Configure and activate unless somebody else wants to; raises what went wrong."""
        if not self.managed.declare_parameter(AUTOSTART, True).value:
            self.node.get_logger().info(
                'unconfigured: waits for `configure` and `activate` of a lifecycle manager '
                '(ros2 lifecycle set)'
            )
            return
        for transition in (self.managed.trigger_configure, self.managed.trigger_activate):
            if transition() != SUCCESS:
                assert self._failure is not None
                raise self._failure

    def heard(self, messages: int) -> None:
        """So many messages came since the last call."""
        if self._silence is not None:
            self._silence.heard(messages)

    def end(self) -> None:
        """The process is asked to end: the last transition, which tells who is interested."""
        if not self.ended:
            self.managed.trigger_shutdown()

    # The transitions ----------------------------------------------------------------------------

    def step(self, transition: Callable[[], None]) -> TransitionCallbackReturn:
        """Carry out a transition; what goes wrong is said here, for rclpy swallows it."""
        try:
            transition()
        except VehIdError as error:
            self._failure = error
            self.node.get_logger().fatal(str(error))
            return TransitionCallbackReturn.FAILURE
        except Exception as error:
            self._failure = error
            # An interrupt while kernels are being compiled may come out as anything.
            if not self._stop.asked:
                self.node.get_logger().fatal(traceback.format_exc())
            return TransitionCallbackReturn.ERROR
        return SUCCESS

    def configure(self) -> None:
        """Read the parameters, make the node, subscribe."""
        self.node.clear()
        try:
            with self._stop.interrupting():
                self._instance = self._description.create(self.node)
        except BaseException:
            self.node.clear()
            raise
        self.node.configured = True

    def activate(self) -> None:
        """Take samples and run timers from now on."""
        instance = self._instance
        self._silence = Silence(lambda: finish_graph([instance]))
        self.node.let_in(True)
        # A launch file waits for this line before it plays a bag; a logger could be silenced.
        print(self._description.ready_line, flush=True)

    def deactivate(self) -> None:
        """Use, publish and keep what still waits; let nothing in."""
        self.node.let_in(False)
        self._silence = None
        finish_graph([self._instance])

    def clean_up(self) -> None:
        """Take away everything that was made; parameters may be set now."""
        self._silence = self._instance = None
        self.node.clear()

    def shut_down(self) -> None:
        """The end, from any state."""
        if self.active:
            self.deactivate()
        self.ended = True
