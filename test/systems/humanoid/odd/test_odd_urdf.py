"""URDFs as real robots and skeletons have them."""

import numpy as np
import pytest
from humanoid_runs import by_code, identified, urdf_of
from lxml import etree
from people import CAD, moving, record

from veh_identification.multibody.inertia import consistency_violation
from veh_identification.systems.humanoid.robot import parse_robot


@pytest.fixture(name='odd_cad')
def _odd_cad(tmp_path):
    """A URDF as real ones are: a point mass without inertia, a link that cannot exist, meshes."""
    tree = etree.parse(str(CAD))
    root = tree.getroot()
    sensor = etree.SubElement(root, 'link', name='camera')
    inertial = etree.SubElement(sensor, 'inertial')
    etree.SubElement(inertial, 'mass', value='0.01')
    joint = etree.SubElement(root, 'joint', name='camera_joint', type='fixed')
    etree.SubElement(joint, 'parent', link='base_link')
    etree.SubElement(joint, 'child', link='camera')
    etree.SubElement(joint, 'origin', xyz='0.05 0 0.2', rpy='0 0 0')
    for link in root.findall('link'):
        if link.get('name') in ('l_foot', 'r_foot'):
            link.find('inertial/inertia').set('izz', '0.01')
        for geometry in link.iter('geometry'):
            geometry.clear()
            etree.SubElement(geometry, 'mesh', filename='package://person/part.dae')
    path = tmp_path / 'odd.urdf'
    tree.write(str(path))
    return path


def test_urdf_with_point_masses_and_links_that_cannot_exist(tmp_path, odd_cad) -> None:
    outcome = identified([record(tmp_path / 'bag')], odd_cad, cutoff_hz=5.0)
    odd = by_code(outcome.findings, 'link_inertia_odd')
    assert {one.text.split('"')[1] for one in odd} == {'camera', 'l_foot', 'r_foot'}
    assert all((one.level, one.where) == ('warn', str(odd_cad)) for one in odd)
    total = outcome.result.extra['total_mass']
    assert abs(total['value'] - moving().mass) < 3.5 * total['std']
    text = urdf_of(outcome)
    robot = parse_robot(text, 'identified.urdf')
    assert 'camera' in robot.parameters
    for name, values in robot.parameters.items():
        assert not consistency_violation(np.asarray(values)), name
    assert text.count(b'package://person/part.dae') > 10
