"""Files of results: what each of them holds."""

from __future__ import annotations

#: What lies beside a report, by its name.
FILES = {
    'parameters.json': 'verdict, values with deviations, residuals, settings',
    'parameters.csv': 'the values as a table',
    'covariance.npz': 'covariance of all values (NumPy)',
    'metrics.json': 'verdict, errors, consistency, sensors, settings',
    'identified.urdf': 'the robot with the identified inertias',
    'identified.yaml': 'the description with the identified values',
    'engineers_sheet.csv': 'quantities that follow from the values',
    'suspension_curves.csv': 'force of springs and dampers over travel and speed',
    'tyres.csv': 'tyres of each axle with deviations',
    'tyre_front.tir': 'front tyre for simulation programs',
    'tyre_rear.tir': 'rear tyre for simulation programs',
    'result': 'recording (mcap) of parameters and of both sides of the equations',
    'observed': 'recording (mcap) of the observed topics',
}
