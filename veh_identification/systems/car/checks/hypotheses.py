"""What may be wrong with a car's recording, each with the change that would put it right.

Signs, exchanged and turned sensors are yes or no; the scale of a sensor and the zero of a wheel
force have a size, which is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.checks.explanation import Family, Hypothesis
from veh_identification.checks.ranges import DEGREES
from veh_identification.systems.car.configuration import Sensor
from veh_identification.systems.car.parameters import CORNERS
from veh_identification.systems.car.recording.samples import (
    CarSamples,
    JointMotion,
    carried_acceleration,
)
from veh_identification.types import Array

Change = Callable[[CarSamples], CarSamples]
#: Scales that are tried, away from one: gains set wrongly, other ranges of an amplifier.
SCALES = (
    (1.05, 1.1, 1.2, 1.3, 1.4, 1.55, 1.75, 2.0),
    (0.95, 0.9, 0.82, 0.75, 0.68, 0.6, 0.5),
)
#: Zeros of a wheel force [N] that are tried.
ZEROS = ((150.0, 300.0, 450.0, 700.0, 1000.0, 1500.0), (-150.0, -300.0, -450.0, -700.0, -1000.0))


def hypotheses(imu: Sensor) -> Iterator[Hypothesis[CarSamples]]:
    """What may be wrong, each with the change that would put the signals right."""
    yield from _swapped()
    for j in range(len(CORNERS)):
        yield from _signs_of_a_corner(j)
        yield from _axes_of_a_wheel(j)
    yield from _common_signs()
    yield from _turned_units(imu)
    yield from _signs_of_axes(imu)
    yield from _axes_of_a_unit(imu)
    yield from _units_of_a_gyroscope(imu)


def _units_of_a_gyroscope(imu: Sensor) -> Iterator[Hypothesis[CarSamples]]:
    """A whole recording in deg/s is told before any fit, but not one that changes its unit."""
    for axes in ('xyz', *'xyz'):
        factors = np.where([axis in axes for axis in 'xyz'], 1.0 / DEGREES, 1.0)
        where = 'imu/data angular_velocity' + ('' if len(axes) > 1 else f'.{axes}')
        yield Hypothesis(
            'unit',
            f'{where} seems to be in deg/s, it must be in rad/s',
            _turn_imu(imu, np.diag(factors), np.eye(3)),
            where,
        )


def families(imu: Sensor) -> Iterator[Family[CarSamples]]:
    """What may be wrong by some amount."""
    for j, corner in enumerate(CORNERS):
        wheel, travel = f'wheel_{corner}/wrench', f'suspension_{corner}'
        yield Family('wrench_scale', _times(wheel), _scaled_wrench(j), SCALES, wheel)
        yield Family(
            'wrench_offset',
            _off_zero(wheel),
            _shifted_load(j),
            ZEROS,
            f'{wheel} force.z',
        )
        yield Family(
            'wrench_scale',
            _times(f'{wheel} force.z'),
            _scaled_load(j),
            SCALES,
            f'{wheel} force.z',
        )
        yield Family('travel_scale', _times(travel), _scaled_travel(j), SCALES, travel)
    yield Family(
        'wrench_scale',
        _times('force.y of all wheels'),
        lambda size: _scaled_component(1, 1.0 / size),
        SCALES,
        'wheel_*/wrench force.y',
    )
    yield Family(
        'wrench_frame',
        lambda _: (
            'the wrenches of steered wheels seem to be in the axes of the car (they must be '
            'in those of the hub, which turn with the steering)'
        ),
        _into_hubs,
        ((1.0,),),
        'wheel_*/wrench',
    )
    yield Family(
        'camber_sign',
        lambda _: (
            'all camber angles seem to have the wrong sign (they must be turns about the x axis '
            'of the car: positive where the top of a wheel leans to the right)'
        ),
        _flip_camber,
        ((1.0,),),
        'camber_*',
    )
    yield Family(
        'gyro_scale',
        _times('imu/data angular_velocity'),
        lambda size: _turn_imu(imu, np.eye(3) / size, np.eye(3)),
        SCALES,
        'imu/data angular_velocity',
    )


def _times(name: str) -> Callable[[float], str]:
    return lambda size: f'{name} seems to be about {size:.3g} times what it should be'


def _off_zero(wheel: str) -> Callable[[float], str]:
    return lambda size: f'{wheel}: force.z seems to be about {size:+.3g} N off its zero (tare it)'


#: Corners that are exchanged: two of them, both axles, or both sides.
_EXCHANGES = (
    *((pair,) for pair in combinations(range(4), 2)),
    ((0, 2), (1, 3)),
    ((0, 1), (2, 3)),
)


def _swapped() -> Iterator[Hypothesis[CarSamples]]:
    for pairs in _EXCHANGES:
        order = _order(pairs)
        wheels, travels, corners = (
            ', '.join(' and '.join(name.format(CORNERS[one]) for one in pair) for pair in pairs)
            for name in ('wheel_{}/wrench', 'suspension_{}', '{}')
        )
        yield Hypothesis(
            'swapped_wrenches', f'{wheels} are swapped', _swap_wrenches(order), wheels
        )
        yield Hypothesis(
            'swapped_travels', f'{travels} are swapped', _swap_travels(order), travels
        )
        yield Hypothesis(
            'swapped_corners',
            f'everything of the corners {corners} is swapped: wheel wrenches and travels',
            _swap_both(order),
            f'wheel_*/wrench and suspension_* of {corners}',
        )


def _order(pairs: Sequence[tuple[int, int]]) -> list[int]:
    order = list(range(4))
    for a, b in pairs:
        order[a], order[b] = b, a
    return order


def _axes_of_a_wheel(j: int) -> Iterator[Hypothesis[CarSamples]]:
    """Wires of two axes exchanged, or a sensor that is turned about the vertical."""
    wheel = f'wheel_{CORNERS[j]}/wrench'
    for a, b in combinations(range(3), 2):
        both = f'force.{"xyz"[a]} and force.{"xyz"[b]}'
        matrix = np.eye(3)
        matrix[[a, b]] = matrix[[b, a]]
        yield Hypothesis(
            'wrench_axes', f'{wheel}: {both} are exchanged', _turn_wrench(j, matrix, np.eye(3)),
            f'{wheel} {both}',
        )  # fmt: skip
    for angle in (90, -90, 180):
        turn = Rotation.from_euler('z', angle, degrees=True).as_matrix().round()
        yield Hypothesis(
            'wrench_turned',
            f'{wheel}: the sensor is turned by {angle} degrees about the vertical',
            _turn_wrench(j, turn.T, turn.T),
            wheel,
        )


def _signs_of_a_corner(j: int) -> Iterator[Hypothesis[CarSamples]]:
    wheel, travel = f'wheel_{CORNERS[j]}/wrench', f'suspension_{CORNERS[j]}'
    yield Hypothesis(
        'wrench_sign',
        f'{wheel} has the wrong sign (it must be what the wheel exerts on the hub carrier)',
        _flip_wrench(slice(j, j + 1), slice(0, 6)),
        wheel,
    )
    yield Hypothesis(
        'travel_sign',
        f'{travel} has the wrong sign (positive in compression)',
        scaled_travel(j, -1.0),
        travel,
    )
    for axis, letter in enumerate('xyz'):
        yield Hypothesis(
            'wrench_axis_sign',
            f'{wheel}: force.{letter} has the wrong sign',
            _flip_wrench(slice(j, j + 1), slice(axis, axis + 1)),
            f'{wheel} force.{letter}',
        )


def _common_signs() -> Iterator[Hypothesis[CarSamples]]:
    yield Hypothesis(
        'wrench_sign',
        'all wheel wrenches have the wrong sign (they must be what the wheels '
        'exert on the hub carriers)',
        _flip_wrench(slice(0, 4), slice(0, 6)),
        'wheel_*/wrench',
    )
    for axis in range(6):
        field = f'{"force" if axis < 3 else "torque"}.{"xyz"[axis % 3]}'
        yield Hypothesis(
            'wrench_axis_sign',
            f'{field} of all wheels has the wrong sign',
            _flip_wrench(slice(0, 4), slice(axis, axis + 1)),
            f'wheel_*/wrench {field}',
        )
    yield Hypothesis(
        'travel_sign',
        'all suspension travels have the wrong sign (positive in compression)',
        _flip_all_travels(),
        'suspension_*',
    )
    yield Hypothesis(
        'steering_sign',
        'all steering angles have the wrong sign (positive to the left)',
        _flip_steering(),
        'steering_*',
    )


def _turned_units(imu: Sensor) -> Iterator[Hypothesis[CarSamples]]:
    """All ways in which a box can be screwed down along the car's axes."""
    for turn in Rotation.create_group('O').as_matrix().round():
        if np.allclose(turn, np.eye(3)):
            continue
        axis = Rotation.from_matrix(turn).as_rotvec(degrees=True)
        angle = np.linalg.norm(axis)
        about = ' '.join(f'{one + 0.0:.2g}' for one in axis / angle)
        flipped = 'upside down, ' if turn[2, 2] < -0.5 else ''
        yield Hypothesis(
            'imu_turned',
            f'the inertial unit (imu/data) is mounted {flipped}turned by {angle:.0f} degrees '
            f'about the axis [{about}] against the pose given',
            _turn_imu(imu, turn, turn),
            'imu/data',
        )


def _signs_of_axes(imu: Sensor) -> Iterator[Hypothesis[CarSamples]]:
    same = np.eye(3)
    for axis, letter in enumerate('xyz'):
        sign = np.diag([-1.0 if k == axis else 1.0 for k in range(3)])
        yield Hypothesis(
            'gyro_sign',
            f'imu/data: angular_velocity.{letter} has the wrong sign',
            _turn_imu(imu, sign, same),
            f'imu/data angular_velocity.{letter}',
        )
        yield Hypothesis(
            'accelerometer_sign',
            f'imu/data: linear_acceleration.{letter} has the wrong sign',
            _turn_imu(imu, same, sign),
            f'imu/data linear_acceleration.{letter}',
        )
    yield Hypothesis(
        'accelerometer_sign',
        'imu/data: linear_acceleration has the wrong sign (it must show '
        '+9.81 m/s^2 upwards at rest)',
        _turn_imu(imu, same, -same),
        'imu/data linear_acceleration',
    )


def _axes_of_a_unit(imu: Sensor) -> Iterator[Hypothesis[CarSamples]]:
    """Two axes of one of the unit's sensors exchanged, by wires or by a driver."""
    same = np.eye(3)
    for a, b in combinations(range(3), 2):
        order = list(range(3))
        order[a], order[b] = b, a
        both = f'{"xyz"[a]} and {"xyz"[b]}'
        for code, field, turns in (
            ('gyro_axes', 'angular_velocity', (same[order], same)),
            ('accelerometer_axes', 'linear_acceleration', (same, same[order])),
        ):
            yield Hypothesis(
                code,
                f'imu/data: {both} of {field} are exchanged',
                _turn_imu(imu, *turns),
                f'imu/data {field}',
            )


def _swap_wrenches(order: list[int]) -> Change:
    return lambda s: replace(s, wrench=s.wrench[:, order])


def _turn_wrench(j: int, force: Array, moment: Array) -> Change:
    """Force and moment of one wheel through matrices."""

    def change(s: CarSamples) -> CarSamples:
        wrench = s.wrench.copy()
        wrench[:, j, :3] = wrench[:, j, :3] @ force.T
        wrench[:, j, 3:] = wrench[:, j, 3:] @ moment.T
        return replace(s, wrench=wrench)

    return change


def _scaled_wrench(j: int) -> Callable[[float], Change]:
    """The wrench of one wheel, which was recorded so many times too large."""

    def of(size: float) -> Change:
        return _turn_wrench(j, np.eye(3) / size, np.eye(3) / size)

    return of


def _scaled_load(j: int) -> Callable[[float], Change]:
    """The vertical force of one wheel alone, which was recorded so many times too large."""

    def of(size: float) -> Change:
        return _turn_wrench(j, np.diag([1.0, 1.0, 1.0 / size]), np.eye(3))

    return of


def _into_hubs(share: float) -> Change:
    """Wrenches in the axes of the car, brought into those of hubs that are steered."""

    def change(s: CarSamples) -> CarSamples:
        angle = share * s.joints['steering'].position
        cosine, sine = np.cos(angle), np.sin(angle)
        wrench = s.wrench.copy()
        for first in (0, 3):
            x, y = s.wrench[..., first], s.wrench[..., first + 1]
            wrench[..., first] = cosine * x + sine * y
            wrench[..., first + 1] = cosine * y - sine * x
        return replace(s, wrench=wrench)

    return change


def _scaled_component(axis: int, factor: float) -> Change:
    """One component of the wrenches of all wheels times a factor."""

    def change(s: CarSamples) -> CarSamples:
        wrench = s.wrench.copy()
        wrench[:, :, axis] *= factor
        return replace(s, wrench=wrench)

    return change


def _shifted_load(j: int) -> Callable[[float], Change]:
    """The vertical force of one wheel, which was recorded so much too large."""

    def of(size: float) -> Change:
        def change(s: CarSamples) -> CarSamples:
            wrench = s.wrench.copy()
            wrench[:, j, 2] -= size
            return replace(s, wrench=wrench)

        return change

    return of


def _swap_travels(order: list[int]) -> Change:
    def change(s: CarSamples) -> CarSamples:
        joint = s.joints['suspension']
        moved = JointMotion(
            joint.position[:, order], joint.velocity[:, order], joint.acceleration[:, order]
        )
        return replace(
            s, joints={**s.joints, 'suspension': moved}, friction_sign=s.friction_sign[:, order]
        )

    return change


def _swap_both(order: list[int]) -> Change:
    wrenches, travels = _swap_wrenches(order), _swap_travels(order)
    return lambda s: travels(wrenches(s))


def _flip_wrench(wheels: slice, components: slice) -> Change:
    def change(s: CarSamples) -> CarSamples:
        wrench = s.wrench.copy()
        wrench[:, wheels, components] *= -1.0
        return replace(s, wrench=wrench)

    return change


def _scaled(joint: JointMotion, sign: Array) -> JointMotion:
    return JointMotion(joint.position * sign, joint.velocity * sign, joint.acceleration * sign)


def scaled_travel(j: int, factor: float) -> Change:
    """The travel of one wheel times a factor."""
    factors = np.ones(4)
    factors[j] = factor
    return lambda s: replace(
        s,
        joints={**s.joints, 'suspension': _scaled(s.joints['suspension'], factors)},
        friction_sign=s.friction_sign * np.sign(factors),
    )


def _scaled_travel(j: int) -> Callable[[float], Change]:
    """The travel of one wheel, which was recorded so many times too large."""
    return lambda size: scaled_travel(j, 1.0 / size)


def _flip_all_travels() -> Change:
    return lambda s: replace(
        s,
        joints={**s.joints, 'suspension': _scaled(s.joints['suspension'], -np.ones(4))},
        friction_sign=-s.friction_sign,
    )


def _flip_steering() -> Change:
    return lambda s: replace(
        s, joints={**s.joints, 'steering': _scaled(s.joints['steering'], -np.ones(4))}
    )


def _flip_camber(share: float) -> Change:
    signs = np.full(4, 1.0 - 2.0 * share)
    return lambda s: replace(s, joints={**s.joints, 'camber': _scaled(s.joints['camber'], signs)})


def _turn_imu(imu: Sensor, gyro: Array, accelerometer: Array) -> Change:
    """Turns or signs of the inertial unit's own axes, applied where the unit sits."""
    position, turn = np.array(imu.position), imu.matrix
    turn_gyro, turn_felt = (turn @ one.T @ turn.T for one in (gyro, accelerometer))

    def change(s: CarSamples) -> CarSamples:
        omega, alpha = s.angular_velocity, s.angular_acceleration
        felt = s.specific_force + carried_acceleration(omega, alpha, position)
        omega, alpha = omega @ turn_gyro, alpha @ turn_gyro
        moved = felt @ turn_felt - carried_acceleration(omega, alpha, position)
        return replace(s, angular_velocity=omega, angular_acceleration=alpha, specific_force=moved)

    return change
