"""What the parameters inherit from doubts of the sensors' settings and of the stops.

A doubt of size t changes the equations by t d(W X - Y)/dt. What it moves the parameters by is
asked of a fit like theirs: in its bands, with its weights. (Settings are looked for below 6 Hz. A
fit that ends there hardly knows the masses at the wheels, which take up whatever is left.)
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag

from veh_identification.systems.car.configuration import Sensor
from veh_identification.systems.car.estimation.calibration import (
    Calibration,
    SettingsModel,
    thinned,
)
from veh_identification.systems.car.estimation.weighted import (
    CarProblem,
    Selection,
    estimate,
    solve,
    without_influence,
)
from veh_identification.systems.car.model import CarModel
from veh_identification.systems.car.processing.cutoffs import Cutoffs
from veh_identification.systems.car.processing.spectral import gather
from veh_identification.systems.car.recording.samples import CarSamples
from veh_identification.systems.car.suspension.stops import UNSURE
from veh_identification.systems.car.suspension.uneven import bent_corners
from veh_identification.types import Array


def inherited_spread(
    model: CarModel,
    piece: CarSamples,
    imu: Sensor,
    cutoffs: Cutoffs,
    calibration: Calibration | None,
) -> Array | float:
    """Covariance of the parameters that are told, by a stretch of measured motion.

    Without a calibration the chassis may not be told by the stretch: stops are then asked of the
    suspensions alone.
    """
    if calibration is None and not model.stops:
        return 0.0
    top = max(cutoffs.hertz.values())
    piece = thinned(piece, top)
    information = gather(model, [piece], top + 1.0)
    bands = cutoffs.bands(information.frequency)
    if calibration is None:
        bands[:6] = False
    model = model.with_bends(bent_corners(model, information, bands))
    problem = CarProblem(model, information)
    chosen = ~without_influence(problem, bands)
    fit = estimate(problem, Selection(bands, chosen))
    unknown = () if calibration is None else calibration.settings
    wide = SettingsModel(model, unknown, imu, fit.value, stops=True)
    left, _ = CarProblem(wide, gather(wide, [piece], top + 1.0)).normal(fit.weights)
    count = len(model.names)
    response = solve(problem, fit.weights, chosen)[1] @ left[:count, count:]
    response = response[: len(model.told)]
    doubt = np.zeros((0, 0)) if calibration is None else calibration.doubt
    doubt = block_diag(doubt, UNSURE**2 * np.eye(len(wide.stops)))
    return np.asarray(response @ doubt @ response.T)
