"""What the parameters of an arm are."""

from collections.abc import Mapping

GLOSSARY: Mapping[str, str] = {
    'M': 'mass of the link or payload, with those masses of others that act alike',
    **{f'MS{a}': f'mass times {a} of the centre of mass, in the link frame' for a in 'xyz'},
    **{
        f'J{a}{a}': f'moment of inertia about {a} at the origin of the link, in its frame'
        for a in 'xyz'
    },
    **{
        f'J{ab}': f'product of inertia {ab} at the origin of the link, in its frame'
        for ab in ('xy', 'xz', 'yz')
    },
    'Ia': 'inertia of the motor and gear, at the joint',
    'h': 'viscous friction',
    'ha': 'viscous friction that depends on the direction',
    'fs': 'dry (Coulomb) friction',
    'off': 'constant effort: offset of the sensor, asymmetry of the dry friction',
    'gain': 'torque of the drive for each ampere, at the joint',
    'width': 'over which dry friction changes its sign: a speed, or a way after a reversal',
    'delay': 'how much later than the positions the efforts come',
    'mass': 'mass of the payload',
    'centre': 'centre of mass of the payload in the frame of its link',
    'inertia': 'inertia of the payload about its centre of mass',
}
