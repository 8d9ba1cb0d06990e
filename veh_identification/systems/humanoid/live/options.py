"""Options of the live identification of a humanoid: the parameters of its node."""

from __future__ import annotations

from dataclasses import dataclass

from veh_identification.runtime.parameters import parameter


@dataclass(frozen=True)
class ContactOptions:
    """Parameters of the node `contact_identification`."""

    topic: str = parameter('fused/state', 'generalized states (veh_identification/FusedState)')
    rate: float = parameter(
        0.0, 'rate of the states; 0: from their first stamps', unit='Hz', minimum=0.0
    )
    memory: float = parameter(
        3.0,
        'what counts as recent when a change is looked for',
        unit='s',
        minimum=1.0,
        maximum=3600.0,
    )
    significance: float = parameter(
        1e-5,
        'probability of a false alarm in one evaluation (once a second, two must agree)',
        minimum=1e-12,
        maximum=0.1,
    )
    publish_period: float = parameter(1.0, 'between estimates', unit='s', minimum=0.1, maximum=1.0)
    reconstruction: bool = parameter(True, 'publish measured and predicted sides of the rows')
    file: str = parameter(
        '', 'where ~/save writes and ~/load reads the estimate (.npz)', path=True
    )
    urdf: str = parameter('', 'robot description: a file, or a name in config/models', path=True)
    cutoff: float = parameter(
        6.0,
        'cut-off of the rows; filter.cutoff of sensor_fusion should be 2.5 times as high',
        unit='Hz',
        minimum=0.2,
        maximum=200.0,
    )
    link_sensors: list[str] = parameter(
        [''],
        'wrench names of 6-axis sensors on links (attached: link in sensor_fusion); empty: those '
        'that the states give in the frame of a link',
    )
    link_frames: list[str] = parameter([''], 'their links in the URDF, in the same order')
    plates: list[str] = parameter(
        [''], 'wrench names of force plates; empty: all wrenches but those of sensors on links'
    )
    offset_percent: float = parameter(
        0.4,
        'how large offsets of the wrench sensors may be, of the weight; 0: none',
        unit='%',
        minimum=0.0,
        maximum=100.0,
    )
    plate_centre: list[float] = parameter(
        [0.0],
        'place of the plate in world (the middle of several), to which its offsets belong: '
        'x, y, z; a single number: that of the frames in /tf_static with the names of the plates, '
        'if they are there (else offsets of moments are larger)',
        unit='m',
    )
    prior_percent: float = parameter(
        40.0,
        'how far from the truth the values of the URDF may be',
        unit='%',
        minimum=1.0,
        maximum=1000.0,
    )
    weighed_mass: float = parameter(
        0.0,
        'of the whole robot by a scale, with which the weight on the wrench sensors must agree; '
        '0: it was not weighed',
        unit='kg',
        minimum=0.0,
    )
    weighed_sigma: float = parameter(
        0.0, 'deviation of weighed_mass; 0: half a per cent of it', unit='kg', minimum=0.0
    )
    gravity: float = parameter(9.80665, 'for the scale of offsets', unit='m/s^2', minimum=0.1)
    start_seconds: float = parameter(
        2.5, 'of motion, after which resting joints are locked', unit='s', minimum=0.1
    )
    lock_below: float = parameter(
        0.01, 'travel that counts as rest (a tenth of it for sliding joints)', minimum=0.0
    )
    support_tolerance: float = parameter(
        0.3, 'share of the weight that may be missing on the sensors', minimum=0.01, maximum=1.0
    )
