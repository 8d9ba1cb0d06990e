"""Scenarios of `veh-id simulate`: each writes sensor messages and its truth into a bag."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from veh_identification._version import __version__
from veh_identification.errors import UsageError
from veh_identification.runtime.bags import BagWriter
from veh_identification.simulation.drive import Drive
from veh_identification.simulation.sensors import DriveSensors, simulate_drive
from veh_identification.types import Progress

#: Called with the seconds done and the seconds in all.


@dataclass(frozen=True)
class Scenario:
    """A simulation that can be asked for by name.

    `write` names a function `module:function` that is called with the writer, the duration, the
    seed, the factor on the noise and the progress, and returns the truth; it is imported when it
    is needed.
    """

    name: str
    summary: str
    duration: float | None  # seconds when nothing else is asked for; None: the file says it
    write: str
    takes_faults: bool = False  # `write` also takes names of faults
    takes_config: bool = False  # and needs the file of a machine

    def run(
        self,
        writer: BagWriter,
        duration: float | None,
        seed: int,
        noise: float,
        progress: Progress,
        faults: Sequence[str] = (),
        config: Any = None,
    ) -> dict[str, Any]:
        """Simulate into `writer`; returns the truth."""
        module, _, name = self.write.partition(':')
        function = getattr(importlib.import_module(module), name)
        further: dict[str, Any] = {'faults': faults} if self.takes_faults else {}
        if self.takes_config:
            further['config'] = config
        truth: dict[str, Any] = function(writer, duration, seed, noise, progress, **further)
        return truth


def write_drive(
    writer: BagWriter, duration: float, seed: int, noise: float, progress: Progress
) -> dict[str, Any]:
    """A car body on a known path with IMU, GNSS, optical speed sensor and encoders."""
    sensors = DriveSensors().scaled(noise)
    start: int | None = None
    spoken = -1
    for reading in simulate_drive(Drive.example(seed), sensors, duration, seed):
        writer.write_message(reading.topic, reading.message, reading.log_ns)
        start = reading.log_ns if start is None else start
        second = (reading.log_ns - start) // 1_000_000_000
        if second > spoken:
            spoken = second
            progress(second, round(duration))
    return {'sensors': asdict(sensors)}


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            'drive',
            'car body on a known path, for the sensor fusion',
            60.0,
            f'{__name__}:write_drive',
        ),
        Scenario(
            'car-sine-steer',
            'sine steering at 90, 110, 130 or 160 km/h (by the seed)',
            60.0,
            'veh_identification.simulation.car.scenarios:write_sine_steer',
            takes_faults=True,
        ),
        Scenario(
            'car-ramp-steer',
            'ramp to the left at 90 or to the right at 110 km/h (by the seed)',
            30.0,
            'veh_identification.simulation.car.scenarios:write_ramp_steer',
            takes_faults=True,
        ),
        Scenario(
            'car-braking',
            'standstill, acceleration, straight braking, standstill',
            30.0,
            'veh_identification.simulation.car.scenarios:write_braking',
            takes_faults=True,
        ),
        Scenario(
            'car-exact',
            'car on a prescribed motion that the 20-dof model fits exactly',
            60.0,
            'veh_identification.simulation.car.exact.bag:write_exact',
        ),
        Scenario(
            'humanoid-walk',
            'small humanoid walking on a force plate',
            10.0,
            'veh_identification.simulation.humanoid.scenarios:write_walk',
        ),
        Scenario(
            'humanoid-bend',
            'small humanoid bending its trunk about three axes',
            12.0,
            'veh_identification.simulation.humanoid.scenarios:write_bend',
        ),
        Scenario(
            'humanoid-jump',
            'small humanoid jumping on both legs: flights, impacts, a compliant ground',
            8.0,
            'veh_identification.simulation.humanoid.scenarios:write_jump',
        ),
        Scenario(
            'humanoid-run',
            'small humanoid running on the spot, from one leg to the other',
            8.0,
            'veh_identification.simulation.humanoid.scenarios:write_run',
        ),
        Scenario(
            'four-bar',
            'four-bar linkage with the errors of Table 1 of Sinigaglia 2016',
            10.0,
            'veh_identification.simulation.four_bar:write',
        ),
        Scenario(
            'mechanism',
            'planar mechanism of a file (--config FILE), with what its truth says',
            None,
            'veh_identification.simulation.mechanism.bag:write',
            takes_config=True,
        ),
        Scenario(
            'buggy-straight',
            'buggy that rolls straight',
            20.0,
            'veh_identification.simulation.vehicle.bag:write_straight',
        ),
        Scenario(
            'buggy-circle',
            'buggy on a circle',
            20.0,
            'veh_identification.simulation.vehicle.bag:write_circle',
        ),
        Scenario(
            'buggy-parking',
            'buggy with three turns on uneven ground (observe with config buggy_parking)',
            60.0,
            'veh_identification.simulation.vehicle.bag:write_parking',
        ),
        Scenario(
            'buggy-noisy-parking',
            'the same with 1 m of white noise on the fixes (Table 8 of Sinigaglia 2016)',
            60.0,
            'veh_identification.simulation.vehicle.bag:write_noisy_parking',
        ),
        Scenario(
            'road-drive',
            'road car in town and country with equations of its own (config road_drive)',
            180.0,
            'veh_identification.simulation.road_car.drive:write',
            takes_faults=True,
        ),
        Scenario(
            'road-handling',
            'the same cars in a handling test: steering steps, drive torque, a coast-down',
            100.0,
            'veh_identification.simulation.road_car.handling:write',
            takes_faults=True,
        ),
        Scenario(
            'road-tyres',
            'the same cars with wheel force sensors, steered and braked up to the limit',
            100.0,
            'veh_identification.simulation.road_car.handling:write_tyres',
            takes_faults=True,
        ),
        Scenario(
            'hexapod-periodic',
            'hexapod on its D-optimal excitation',
            25.0,
            'veh_identification.simulation.parallel.scenarios:write_periodic',
        ),
        Scenario(
            'hexapod-circle',
            'hexapod on the benchmark circle',
            10.0,
            'veh_identification.simulation.parallel.scenarios:write_circle',
        ),
        Scenario(
            'hexapod-closed-loop',
            'hexapod under PID: equations of its own, stiction, ripple, late efforts',
            25.0,
            'veh_identification.simulation.parallel.controlled:write_closed_loop',
        ),
        Scenario(
            'arm-free',
            'six-axis arm under its controller, without a load',
            40.0,
            'veh_identification.simulation.robot.scenarios:write_free',
        ),
        Scenario(
            'arm-payload',
            'the same arm with a load at its flange (by the seed)',
            40.0,
            'veh_identification.simulation.robot.scenarios:write_payload',
        ),
        Scenario(
            'arm-closed-loop',
            'seven-axis arm with stiction, torque ripple, coarse encoders and late efforts',
            60.0,
            'veh_identification.simulation.robot.scenarios:write_closed_loop',
        ),
        Scenario(
            'arm-on-plate',
            'six-axis arm on a force plate, efforts are currents of unknown gains',
            60.0,
            'veh_identification.simulation.robot.scenarios:write_on_plate',
        ),
    )
}


def find_scenario(name: str) -> Scenario:
    """The scenario of a name."""
    try:
        return SCENARIOS[name]
    except KeyError:
        raise UsageError(
            f'there is no scenario {name!r}; there are: {", ".join(sorted(SCENARIOS))}'
        ) from None


#: Seconds of the longest recording that is simulated, all of which is in memory at once.
LONGEST = 7200.0


def simulate(
    name: str,
    out: str | Path,
    *,
    duration: float | None = None,
    seed: int = 0,
    noise: float = 1.0,
    storage: str = 'mcap',
    overwrite: bool = False,
    faults: Sequence[str] = (),
    config: Any = None,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Write the bag of a scenario with its truth.json; returns the truth."""
    scenario = find_scenario(name)
    seconds = scenario.duration if duration is None else duration
    if seconds is not None and not seconds > 0:
        raise UsageError(f'a simulation needs a positive duration, got {seconds:g} s')
    if seconds is not None and seconds > LONGEST:
        raise UsageError(
            f'a simulation of {seconds:g} s does not fit into memory: expected at most '
            f'{LONGEST:g} s; several seeds make several recordings'
        )
    if seed < 0:
        raise UsageError(f'a seed is a whole number from zero on, found {seed}')
    if not noise >= 0:
        raise UsageError(f'the noise factor must not be negative, got {noise:g}')
    if faults and not scenario.takes_faults:
        able = [one.name for one in SCENARIOS.values() if one.takes_faults]
        raise UsageError(f'{name} takes no faults; these do: {", ".join(able)}')
    if config is not None and not scenario.takes_config:
        able = [one.name for one in SCENARIOS.values() if one.takes_config]
        raise UsageError(f'{name} takes no configuration; these do: {", ".join(able)}')
    with BagWriter(out, storage=storage, overwrite=overwrite) as writer:
        truth = {
            'scenario': name,
            'seed': seed,
            'duration': seconds,
            'noise': noise,
            'version': __version__,
            **scenario.run(writer, seconds, seed, noise, progress, faults, config),
        }
        writer.add_file('truth.json', json.dumps(truth, indent=2) + '\n')
    return truth
