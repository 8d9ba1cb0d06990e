"""Units: what they come to in SI, and what is said when they do not fit."""

from __future__ import annotations

import math

import pytest

from veh_identification.configuration import quantities as q
from veh_identification.configuration.quantities import Dimension, Quantity, QuantityError
from veh_identification.configuration.units import parse_unit


@pytest.mark.parametrize(
    ('dimension', 'text', 'value'),
    [
        (q.LENGTH, '2637 mm', 2.637),
        (q.LENGTH, '2637mm', 2.637),
        (q.LENGTH, ' 27 cm ', 0.27),
        (q.LENGTH, '10 in', 0.254),
        (q.LENGTH, '-1.5e1 µm', -1.5e-5),
        (q.ANGLE, '15 deg', math.radians(15)),
        (q.ANGLE, '15°', math.radians(15)),
        (q.ANGLE, '5 mrad', 0.005),
        (q.SPEED, '36 km/h', 10.0),
        (q.SPEED, '36 kmh', 10.0),
        (q.SPEED, '10 m s^-1', 10.0),
        (q.ANGULAR_SPEED, '60 rpm', 2 * math.pi),
        (q.ANGULAR_SPEED, '90 deg/s', math.pi / 2),
        (q.ACCELERATION, '0.5 g', 0.5 * 9.80665),
        (q.ACCELERATION, '3 mg', 0.003 * 9.80665),
        (q.ACCELERATION, '2 m/s²', 2.0),
        (q.ACCELERATION, '2 m/s/s', 2.0),
        (q.MASS, '500 g', 0.5),
        (q.MASS, '1.5 t', 1500.0),
        (q.INERTIA, '5 kg m^2', 5.0),
        (q.INERTIA, '5 kg*m²', 5.0),
        (q.FORCE, '1.2 kN', 1200.0),
        (q.FORCE, '3 kg m/s^2', 3.0),
        (q.MOMENT, '2 kNm', 2000.0),
        (q.MOMENT, '2 N m', 2.0),
        (q.TIME, '3 ms', 0.003),
        (q.TIME, '2 min', 120.0),
        (q.FREQUENCY, '20 Hz', 20.0),
        (q.FREQUENCY, '2 kHz', 2000.0),
        (q.FREQUENCY, '2 1/s', 2.0),
        (q.PRESSURE, '4.5 bar', 4.5e5),
        (q.PRESSURE, '1 psi', 6894.757293168361),
        (q.STIFFNESS, '21 N/mm', 21000.0),
        (q.DAMPING, '1.7 kN s/m', 1700.0),
        (q.DAMPING, '1.7 Ns/mm', 1700.0),
        (q.DRAG, '0.5 N s^2/m^2', 0.5),
        (q.NUMBER, '12 %', 0.12),
        (Dimension('a brake gain', 'N m/Pa'), '11 Nm/bar', 1.1e-4),
    ],
)
def test_units_come_to_si(dimension: Dimension, text: str, value: float) -> None:
    assert Quantity(dimension).read(text) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize('value', ['1e-4', '1E-4', '.0001', '+1.0e-4', 1e-4, '1_0e-5'])
def test_numbers_as_texts(value: object) -> None:
    assert Quantity(q.LENGTH).read(value) == pytest.approx(1e-4, rel=1e-14)


@pytest.mark.parametrize(
    'value',
    [
        *(True, None, [], {}, math.nan, math.inf, 10**400, 'abc', '', 'nan', 'inf', '.inf'),
        *('1e999', '1,5 m', '1 2', '--1', '1 m^99', '1 /m', '1 m/', '0x10', '1e', 'm', '1 m^m'),
    ],
)
def test_no_lengths(value: object) -> None:
    with pytest.raises(
        QuantityError, match=r"^expected a length such as 2\.7 or '2700 mm', found"
    ):
        Quantity(q.LENGTH).read(value)


def test_wrong_units_say_what_is_expected() -> None:
    with pytest.raises(QuantityError) as caught:
        Quantity(q.LENGTH, positive=True).read('12 kg')
    assert str(caught.value) == (
        "expected a positive length such as 2.7 or '2700 mm', found '12 kg' (the unit must be m "
        'or a multiple of it)'
    )
    with pytest.raises(QuantityError, match=r"'fathom' is no unit that is known"):
        Quantity(q.LENGTH).read('12 fathom')
    with pytest.raises(QuantityError, match='expected an angular speed'):
        Quantity(q.ANGULAR_SPEED).read('3 Hz')


@pytest.mark.parametrize(
    ('quantity', 'good', 'bad', 'expected'),
    [
        (Quantity(q.MASS, positive=True), 1e-9, 0, 'a positive mass'),
        (Quantity(q.TIME, 0.0), 0, '-1 ms', 'a time of at least 0'),
        (Quantity(q.NUMBER, 0.0, 1.0), '100 %', 1.01, 'a number from 0 to 1'),
        (Quantity(q.LENGTH, maximum=20.0), -30, '21000 mm', 'a length of at most 20'),
    ],
)
def test_bounds(quantity: Quantity, good: object, bad: object, expected: str) -> None:
    assert math.isfinite(quantity.read(good))
    with pytest.raises(QuantityError, match=f'^expected {expected}'):
        quantity.read(bad)


def test_every_declared_dimension_has_a_unit_and_an_example_that_fit() -> None:
    dimensions = [value for value in vars(q).values() if isinstance(value, Dimension)]
    assert len(dimensions) > 15
    for dimension in dimensions:
        unit = parse_unit(dimension.unit)
        assert unit is not None and unit.factor == 1.0, dimension
        for example in dimension.example.replace("'", '').split(' or '):
            assert not example or math.isfinite(Quantity(dimension).read(example)), dimension


def test_whole_numbers_texts_and_flags() -> None:
    whole = q.WholeNumber(1, 8)
    assert [whole.read(value) for value in (2, 2.0, '2')] == [2, 2, 2]
    for bad in (0, 9, 2.5, True, 'x', math.nan):
        with pytest.raises(QuantityError, match=r'^expected a whole number from 1 to 8, found'):
            whole.read(bad)
    assert q.PlainText().read(406) == '406'
    with pytest.raises(QuantityError, match=r'^expected a text, found True'):
        q.PlainText().read(True)
    with pytest.raises(QuantityError, match=r'^expected true or false, found 1'):
        q.TrueOrFalse().read(1)
