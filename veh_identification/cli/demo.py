"""`veh-id demo`: the main job end to end on a machine without ROS."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any


def add_parser(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        'demo',
        help='the main job end to end: simulate, replay through the nodes, compare with the truth',
        description='Simulates a recording of each system, runs the real nodes and estimators '
        'over it and prints the result next to the truth.',
    )
    parser.add_argument('--out', metavar='DIR', default='out/demo', help='folder for the bags')
    parser.add_argument('--seed', type=int, default=0)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run all steps."""
    from veh_identification.demo import fusion, systems, tree

    out = Path(options.out)
    begin = time.perf_counter()
    _title('Sensor fusion: 60 s drive with IMU, GNSS, optical speed sensor, encoders')
    print(fusion.text(fusion.run(out, seed=options.seed)))
    _title('Humanoid: all base parameters from six contact-force rows, no joint torques')
    print(tree.text(tree.run(seed=options.seed)))
    _title('Car: 33 parameters from two simulated sine-steer runs (document 000)')
    car = [('car-sine-steer', options.seed, 40.0), ('car-sine-steer', options.seed + 1, 40.0)]
    print(systems.text(systems.run(out, 'car', car, 'car_peugeot_406')))
    _title('Hexapod: 24 parameters by maximum likelihood (document 002)')
    print(systems.text(systems.run(out, 'parallel', [('hexapod-periodic', options.seed, 25.0)])))
    _title(f'Done in {time.perf_counter() - begin:.0f} s')
    print(f'The recordings and results are in {out}; look at them with:')
    print(f'  veh-id info {out / "drive_fused"}')
    print(f'  less {out / "car" / "parameters.csv"}')
    print('Try your own recording with:')
    print('  veh-id identify car --bag BAG --config config/car_template.yaml --out DIR')
    print('  veh-id replay BAG --graph sensor_fusion --config FILE --out BAG2')
    return 0


def _title(text: str) -> None:
    print(f'\n{text}\n{"=" * len(text)}', flush=True)
