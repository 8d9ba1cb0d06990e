"""From recordings of a car to Gram matrices: flat in their length, one recording at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veh_identification.errors import EstimationError
from veh_identification.findings import Finding
from veh_identification.systems.car.checks.calibrated import calibration_findings
from veh_identification.systems.car.checks.explanations import Stretch, short_stretch
from veh_identification.systems.car.checks.sensors import check_before_fit, lost_equations
from veh_identification.systems.car.checks.static_mass import StaticLoads, static_loads
from veh_identification.systems.car.configuration import CarDescription, Sensor
from veh_identification.systems.car.estimation import bias
from veh_identification.systems.car.estimation.calibration import (
    Calibration,
    applied_to,
    as_calibrated,
    calibrate,
    calibrated,
    without_noise,
)
from veh_identification.systems.car.estimation.doubts import inherited_spread
from veh_identification.systems.car.estimation.sticking import (
    Sticking,
    chosen_surfaces,
    tried_surfaces,
)
from veh_identification.systems.car.model import CarModel
from veh_identification.systems.car.origins import Origin, recording_origins
from veh_identification.systems.car.parameters import NAMES
from veh_identification.systems.car.processing.cutoffs import (
    Cutoffs,
    choose_cutoffs,
    fixed_cutoffs,
    widest,
)
from veh_identification.systems.car.processing.driveline import Modes, driveline_modes
from veh_identification.systems.car.processing.first_look import (
    LOOK_SECONDS,
    Bands,
    extension_of,
    first_look,
    limited,
    stretch,
)
from veh_identification.systems.car.processing.friction import RIGID, NearRest
from veh_identification.systems.car.processing.signals import Prepared, Processing, prepare
from veh_identification.systems.car.processing.spectral import SpectralInformation, gather
from veh_identification.systems.car.recording.extra_joints import knows_axles, without_axles
from veh_identification.systems.car.recording.reader import CarRecording, CarRecordingError
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.systems.car.suspension.stops import Stops, found_stops
from veh_identification.systems.car.suspension.uneven import bent_corners
from veh_identification.types import Array

#: Noise biases alike throughout a recording: this much of it shows by how much.
BIAS_SECONDS = 120.0
#: So much shows whether the suspensions stick.
FRICTION_SECONDS = 30.0


@dataclass(frozen=True)
class CarMethod:
    """How to identify; the defaults are for any recording of the contract's format."""

    dof: int | None = None  # 20 or 38; by default 38 where its extra dofs are known
    names: tuple[str, ...] = NAMES
    processing: Processing = field(default_factory=Processing)
    chassis_cutoff_hz: float | None = None
    suspension_cutoff_hz: float | None = None
    gauss_markov: bool = False
    spectral_weights: bool = True
    bias_correction: bool = True
    beyond_band: bool = True  # motion beyond the sensors' bands from the wheel forces
    check: bool = True  # look for swapped, turned and wrongly signed sensors
    calibrate: bool = True  # poses, delays and camber that the recording itself tells
    calibrate_camber: bool = True  # no: the hubs of the 20-dof model stand upright
    sticking: Sticking | None = None  # of the suspensions; None: by evidence
    #: What noise and doubts of the sensors' settings make of the parameters is measured on each
    #: recording; off for one of many of the same car.
    closely: bool = True


@dataclass
class Gathered:
    """What remains of recordings after reading: flat in their length."""

    model: CarModel
    information: SpectralInformation
    #: A stretch as recorded and twice with added noise, for the bias; empty without noise.
    mirrored: list[SpectralInformation]
    cutoffs: Cutoffs
    first: CarSamples  # a lively stretch of measured motion
    usable: NDArray[np.bool_]
    has_speed: bool
    findings: list[Finding]
    static: StaticLoads | None
    details: dict[str, Any]
    signs: list[Finding] = field(default_factory=list)  # what gravity and steering contradict
    stretches: tuple[Stretch, ...] = ()  # of every recording, to try hypotheses on
    origins: tuple[Origin, ...] = ()  # where poses came from, of every recording
    calibrations: tuple[Calibration, ...] = ()  # of every recording that could be calibrated
    rivalled: bool = False  # another cause explains a recording better than its calibration
    #: Covariance that doubts of the sensors' settings and of the friction near rest add to the
    #: parameters that are told, times seconds; zero where they are known.
    settings_spread: Array | float = 0.0
    configuration: CarDescription | None = None  # as calibrated, of the newest recording
    #: The constant column of every recording's Gram matrices, and its samples.
    constants: tuple[tuple[Array, int], ...] = ()
    sticking: Sticking | None = None  # of the first recording
    processing: Processing = field(default_factory=Processing)  # of the first recording
    closely: bool = True  # as in `CarMethod`: else `mirrored` and `settings_spread` tell nothing


def gather_recordings(
    recordings: Iterable[CarRecording], configuration: CarDescription, method: CarMethod
) -> Gathered:
    """Read recordings one by one (never two at a time) and keep their Gram matrices."""
    total: Gathered | None = None
    cutoffs: list[Cutoffs] = []
    for seed, recording in enumerate(recordings):
        one = _gather_one(recording, configuration, method, seed)
        cutoffs.append(one.cutoffs)
        total = one if total is None else _joined(total, one)
    if total is None:
        raise EstimationError('no recording was given')
    total.cutoffs = widest(cutoffs)
    total.model = model_asked_for(total)
    return total


def model_asked_for(gathered: Gathered) -> CarModel:
    """The model with two slopes for those dampers that all that was gathered asks it for."""
    plain, information = gathered.model.with_bends(()), gathered.information
    if not gathered.usable[6:].all() or gathered.processing.paper_rule:
        return plain
    bands = gathered.cutoffs.bands(information.frequency)
    return plain.with_bends(bent_corners(plain, information, bands))


def as_gathered(
    recording: CarRecording,
    configuration: CarDescription,
    method: CarMethod,
    calibrations: Sequence[Calibration],
) -> tuple[CarRecording, CarDescription]:
    """Another recording of the same car, as the model knows it and as it was calibrated."""
    if method.dof == 20:
        recording, configuration = without_axles(recording, configuration)
    return as_calibrated(recording, configuration, calibrations)


def _gather_one(
    recording: CarRecording, configuration: CarDescription, method: CarMethod, seed: int
) -> Gathered:
    left_out = list[Finding]()
    if method.dof == 20:
        left_out = _left_out(recording, configuration)
        recording, configuration = without_axles(recording, configuration)
    modes = driveline_modes(recording)
    if not configuration.disturbances:  # else the description knows better
        configuration = replace(configuration, disturbances=modes.bands)
    noise = bias.sensor_noise(recording, configuration)
    processing = replace(method.processing, travel_noise=bias.travel_noise(noise))
    short, looked = _looked(recording, configuration, processing)
    usable, lost = lost_equations(looked.missing_wrenches, looked.missing_travels, recording.label)
    model = CarModel(configuration, _dof(method, looked, configuration), method.names)
    first = max(looked.pieces, key=len)
    stops = Stops()
    if usable[6:].all() and not processing.paper_rule:
        stops = found_stops(model, first)
        model = model.with_stops(stops.stops)
    signs = (
        check_before_fit(recording, configuration, looked.poses['imu'][0], first)
        if method.check
        else []
    )
    calibration, told = None, list[Finding]()
    if method.calibrate and usable.all() and not any(one.level == 'bad' for one in signs):
        calibration = _calibration(
            model, first, looked.poses['imu'][0], configuration, modes, method.calibrate_camber
        )
    if calibration is not None and calibration.applied.any():
        calibration = _told_by_noise(
            calibration,
            model,
            _noisy(short, configuration, processing, noise, seed, looked),
            configuration,
            method.calibrate_camber,
        )
    if calibration is not None and calibration.applied.any():
        told = calibration_findings(calibration, *looked.poses['imu'], recording.label)
        recording, configuration = applied_to(recording, configuration, calibration)
        short, looked = _looked(recording, configuration, processing)
        first = max(looked.pieces, key=len)
    cutoffs = _cutoffs(looked, recording, noise, configuration, method)
    bands: Bands | None = None
    if method.beyond_band and usable.all() and not processing.paper_rule:
        look = first_look(model, looked, cutoffs)
        bands = look.bands
        if not _fixed(method):
            cutoffs = limited(cutoffs, bands)
        extension = extension_of(look, cutoffs, recording, configuration, looked.rate)
        processing = replace(processing, extension=extension)
    sticks = _sticking(processing, short, configuration, model, cutoffs, method, usable)
    processing = replace(processing, surfaces=sticks.surfaces)
    prepared = looked
    if short is not recording or processing.extension is not None or sticks.surfaces != RIGID:
        prepared = prepare(recording, configuration, processing)
    static = (
        static_loads([*prepared.pieces, *prepared.stands], configuration)
        if usable[:6].all()
        else None
    )
    _require_motion(recording, prepared, static)
    information = gather(model, prepared.pieces, prepared.cutoff_hz)
    mirrored: list[SpectralInformation] = []
    noisy = any(np.any(sigma > 0.0) for sigma in noise.values())
    if method.bias_correction and method.closely and noisy:
        mirrored = _mirrored(
            model, recording, configuration, processing, noise, seed, (prepared, information)
        )
    inherited: Array | float = 0.0
    if method.closely:
        imu = looked.poses['imu'][0]
        inherited = inherited_spread(model, first, imu, cutoffs, calibration)
    stretch_to_test = short_stretch(
        recording.label, first, looked.poses['imu'][0], np.inf if bands is None else bands.imu
    )
    return Gathered(
        model,
        information,
        mirrored,
        cutoffs,
        first,
        usable,
        prepared.has_speed,
        [
            *left_out,
            *lost,
            *prepared.findings,
            *_repairs(recording),
            *told,
            *stops.findings(recording.label),
        ],
        static,
        {
            **_details(recording, prepared, model, noise, bands),
            'friction': sticks.as_dict(),
            'stops': stops.as_dict(),
            'driveline_hz': {name: list(lines) for name, lines in modes.sensors.items()},
        },
        signs,
        (stretch_to_test,) if method.check else (),
        recording_origins(
            recording.label, prepared.poses, prepared.measured_extra, configuration, model.dof
        ),
        () if calibration is None else (calibration,),
        calibration is not None and calibration.rivalled,
        information.seconds * (sticks.spread + inherited),
        configuration,
        ((information.grams[:, :, model.constant_column].copy(), information.samples),),
        sticks,
        processing,
        method.closely,
    )


def _sticking(
    processing: Processing,
    short: CarRecording,
    configuration: CarDescription,
    model: CarModel,
    cutoffs: Cutoffs,
    method: CarMethod,
    usable: NDArray[np.bool_],
) -> Sticking:
    """The friction near rest that the suspension equations ask for."""
    if method.sticking is not None:
        return method.sticking
    if processing.paper_rule or not usable[6:].all():
        return Sticking()
    short = stretch(short, FRICTION_SECONDS, 1.0)
    rigid = prepare(short, configuration, processing)

    def prepared(surfaces: NearRest) -> Prepared:
        if surfaces == RIGID:
            return rigid
        return prepare(short, configuration, replace(processing, surfaces=surfaces), rigid)

    return chosen_surfaces(tried_surfaces(model, cutoffs, prepared))


def _calibration(
    model: CarModel,
    piece: CarSamples,
    imu: Sensor,
    configuration: CarDescription,
    modes: Modes,
    camber: bool,
) -> Calibration | None:
    """A calibration that does not hang on the bands that the driveline was found in.

    A driveline can pass for a late or misplaced sensor; without its bands a calm drive has little
    else to tell one by. What both say is believed.
    """
    found = calibrated(model, piece, imu, configuration.disturbances, camber)
    if found is None or not found.applied.any() or configuration.disturbances != modes.bands:
        return found
    whole = calibrated(model, piece, imu, (), camber)
    if whole is not None and (found.applied & whole.applied).any():
        return found
    return found.withdrawn()


def _told_by_noise(
    found: Calibration,
    model: CarModel,
    louder: Iterable[Prepared],
    configuration: CarDescription,
    camber: bool,
) -> Calibration:
    """A calibration without what the noise of the sensors makes of it."""
    noisy = [
        calibrate(
            model,
            max(one.pieces, key=len),
            one.poses['imu'][0],
            configuration.disturbances,
            camber,
        )
        for one in louder
    ]
    known = [one for one in noisy if one is not None]
    return without_noise(found, known) if known else found


def _left_out(recording: CarRecording, configuration: CarDescription) -> list[Finding]:
    if not knows_axles(recording, configuration):
        return []
    text = (
        'the 20-dof model was asked for: half track, wheelbase, camber and kingpin that are '
        'measured or tabled are left out of the equations. Camber turns the wheel forces: a '
        'model without it puts the mass off by a per cent or two'
    )
    return [Finding('warn', 'axle_joints_left_out', text, f'{recording.label}, --dof 20')]


def _repairs(recording: CarRecording) -> list[Finding]:
    """Samples that were dropped or sorted in while reading, and gaps."""
    return [
        replace(one, where=f'{recording.label} {one.where}')
        for report in recording.reports
        for one in report.findings()
    ]


def _details(
    recording: CarRecording,
    prepared: Prepared,
    model: CarModel,
    noise: bias.Noise,
    bands: Bands | None,
) -> dict[str, Any]:
    """For the entry `input` of parameters.json."""
    details = {
        'recordings': [recording.label],
        **prepared.details,
        'dof': model.dof,
        'noise': {name: sigma.tolist() for name, sigma in noise.items()},
    }
    if bands is not None:
        details['sensor_band_hz'] = {'imu': bands.imu, 'travel': bands.travel}
    return details


def _looked(
    recording: CarRecording, configuration: CarDescription, processing: Processing
) -> tuple[CarRecording, Prepared]:
    """A lively stretch of a long recording for the first look, or the whole of a short one."""
    short = stretch(recording, LOOK_SECONDS, 1.0)
    if short is not recording:
        try:
            return short, prepare(short, configuration, processing)
        except CarRecordingError:  # gaps: another stretch may do
            pass
    return recording, prepare(recording, configuration, processing)


def _mirrored(
    model: CarModel,
    recording: CarRecording,
    configuration: CarDescription,
    processing: Processing,
    noise: bias.Noise,
    seed: int,
    whole: tuple[Prepared, SpectralInformation],
) -> list[SpectralInformation]:
    """Gram matrices of a typical stretch as recorded and with noise added, plus and minus."""
    short = stretch(recording, BIAS_SECONDS, 0.5)
    plain, information = whole
    top_hz = plain.cutoff_hz
    if short is not recording:
        plain = prepare(short, configuration, processing)
        information = gather(model, plain.pieces, top_hz)
    noisy = _noisy(short, configuration, processing, noise, seed, plain)
    return [information, *(gather(model, one.pieces, top_hz) for one in noisy)]


def _noisy(
    recording: CarRecording,
    configuration: CarDescription,
    processing: Processing,
    noise: bias.Noise,
    seed: int,
    plain: Prepared,
) -> Iterator[Prepared]:
    """A recording with as much noise again, as drawn and mirrored; `plain`: without it."""
    louder = replace(
        processing,
        travel_noise=bias.travel_noise(
            {name: np.sqrt(2.0) * sigma for name, sigma in noise.items()}
        ),
    )
    for sign in (1.0, -1.0):
        drawn = bias.perturbed(recording, noise, sign, seed)
        yield prepare(drawn, configuration, louder, plain)


def _fixed(method: CarMethod) -> bool:
    return method.chassis_cutoff_hz is not None or method.suspension_cutoff_hz is not None


def _cutoffs(
    prepared: Prepared,
    recording: CarRecording,
    noise: bias.Noise,
    configuration: CarDescription,
    method: CarMethod,
) -> Cutoffs:
    """Cut-offs that the user asks for, or those that the spectra allow."""
    if not _fixed(method):
        return choose_cutoffs(prepared, recording, noise, configuration)
    top = 0.75 * prepared.cutoff_hz
    return fixed_cutoffs(
        method.chassis_cutoff_hz or top,
        method.suspension_cutoff_hz or top,
        configuration.disturbances,
    )


def _joined(a: Gathered, b: Gathered) -> Gathered:
    """Two recordings of one car; equations count only where both have them."""
    mirrored = (
        [x + y for x, y in zip(a.mirrored, b.mirrored, strict=True)]
        if a.mirrored and b.mirrored
        else []
    )
    details = {**a.details, 'recordings': a.details['recordings'] + b.details['recordings']}
    return Gathered(
        a.model,
        a.information + b.information,
        mirrored,
        a.cutoffs,
        a.first,
        a.usable & b.usable,
        a.has_speed and b.has_speed,
        a.findings + b.findings,
        a.static or b.static,
        details,
        a.signs + b.signs,
        a.stretches + b.stretches,
        a.origins + b.origins,
        a.calibrations + b.calibrations,
        a.rivalled or b.rivalled,
        a.settings_spread + b.settings_spread,
        b.configuration,
        a.constants + b.constants,
        a.sticking,
        a.processing,
    )


def _dof(method: CarMethod, prepared: Prepared, configuration: CarDescription) -> int:
    if method.dof is not None:
        if method.dof not in (20, 38):
            raise EstimationError(f'there are models with 20 and 38 dof, not {method.dof}')
        return method.dof
    return 38 if prepared.measured_extra or configuration.axle_tables else 20


class CarStandsError(EstimationError):
    """Nothing but a car that stands is recorded."""


def _require_motion(
    recording: CarRecording, prepared: Prepared, static: StaticLoads | None
) -> None:
    """Refuse a recording in which nothing moves, with the little that it says."""
    turning = max(float(piece.angular_velocity.std(axis=0).max()) for piece in prepared.pieces)
    travel = max(
        float(piece.joints['suspension'].position.std(axis=0).max()) for piece in prepared.pieces
    )
    speed = max(float(np.sqrt(piece.air_speed_squared).max()) for piece in prepared.pieces)
    if turning < 0.005 and travel < 0.001 and (speed < 0.5 or not prepared.has_speed):
        mass = (
            ''
            if static is None
            else f'; the wheel loads say {static.mass:.1f} kg for chassis and M1 to M4 together'
        )
        raise CarStandsError(
            f'{recording.label}: the car stands still in the whole recording (turning below '
            f'{max(turning, 1e-4):.2g} rad/s, travel below {max(1e3 * travel, 0.01):.2g} mm): no '
            f'parameter of its dynamics can be identified{mass}'
        )
