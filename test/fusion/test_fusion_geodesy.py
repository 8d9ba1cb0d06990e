import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veh_identification.fusion.geodesy import (
    SEMI_MAJOR_AXIS,
    SEMI_MINOR_AXIS,
    Datum,
    LocalFrame,
    ecef_to_geodetic,
    geodetic_to_ecef,
    is_plausible_fix,
)

latitudes = st.floats(-90.0, 90.0)
longitudes = st.floats(-180.0, 180.0)
altitudes = st.floats(-5e3, 5e4)


def test_axes_of_the_ellipsoid() -> None:
    assert geodetic_to_ecef(0.0, 0.0, 0.0) == pytest.approx((SEMI_MAJOR_AXIS, 0, 0), abs=1e-9)
    assert geodetic_to_ecef(90.0, 0.0, 10.0)[2] == pytest.approx(SEMI_MINOR_AXIS + 10, abs=1e-9)
    # NIMA TR8350.2 gives the semi-minor axis as 6356752.3142 m.
    assert pytest.approx(6356752.3142, abs=1e-4) == SEMI_MINOR_AXIS


@given(latitudes, longitudes, altitudes)
def test_round_trip_in_metres(lat: float, lon: float, alt: float) -> None:
    x, y, z = geodetic_to_ecef(lat, lon, alt)
    back = geodetic_to_ecef(*ecef_to_geodetic(x, y, z))
    # One unit in the last place of a coordinate of 6.4e6 m is 9e-10 m.
    assert math.dist((x, y, z), back) < 6e-9


@given(latitudes, longitudes, st.tuples(*[st.floats(-2e4, 2e4)] * 3))
def test_local_round_trip(lat: float, lon: float, enu: tuple[float, float, float]) -> None:
    frame = LocalFrame(Datum(lat, lon, 100.0))
    assert math.dist(frame.from_geodetic(*frame.to_geodetic(*enu)), enu) < 1e-8


@pytest.mark.parametrize('lat', [-60.0, 0.5, 42.3758, 80.0])
def test_local_frame_against_curvature_radii(lat: float) -> None:
    """Independent formula: radii of curvature in the meridian (M) and prime vertical (N)."""
    e2 = 1.0 - (SEMI_MINOR_AXIS / SEMI_MAJOR_AXIS) ** 2
    s = math.sin(math.radians(lat))
    N = SEMI_MAJOR_AXIS / math.sqrt(1 - e2 * s * s)
    M = N * (1 - e2) / (1 - e2 * s * s)
    frame = LocalFrame(Datum(lat, -71.0, 0.0))
    step = 1e-5
    east, _, _ = frame.from_geodetic(lat, -71.0 + step, 0.0)
    _, north, _ = frame.from_geodetic(lat + step, -71.0, 0.0)
    assert east == pytest.approx(N * math.cos(math.radians(lat)) * math.radians(step), rel=1e-6)
    assert north == pytest.approx(M * math.radians(step), rel=1e-6)
    assert frame.from_geodetic(lat, -71.0, 12.5) == pytest.approx((0, 0, 12.5), abs=1e-8)


def test_local_axes_are_derivatives_of_the_earth_fixed_position() -> None:
    """East, north and up unit vectors found by differentiating the position numerically."""
    lat, lon, alt, h = 42.0, -71.0, 30.0, 1e-4

    def unit(plus: tuple[float, ...], minus: tuple[float, ...]) -> np.ndarray:
        d = np.subtract(geodetic_to_ecef(*plus), geodetic_to_ecef(*minus))
        return d / np.linalg.norm(d)

    axes = np.array(
        [
            unit((lat, lon + h, alt), (lat, lon - h, alt)),
            unit((lat + h, lon, alt), (lat - h, lon, alt)),
            unit((lat, lon, alt + 10), (lat, lon, alt - 10)),
        ]
    )
    target = (42.05, -70.9, 400.0)
    difference = np.subtract(geodetic_to_ecef(*target), geodetic_to_ecef(lat, lon, alt))
    local = LocalFrame(Datum(lat, lon, alt)).from_geodetic(*target)
    assert np.allclose(axes @ difference, local, atol=1e-4)


def test_plausible_fixes() -> None:
    assert is_plausible_fix(42.0, -71.0, 5.0)
    assert not is_plausible_fix(math.nan, -71.0, 5.0)
    assert not is_plausible_fix(91.0, 0.0, 5.0)
    assert not is_plausible_fix(0.0, 0.0, 0.0)
    assert not is_plausible_fix(42.0, -71.0, 1e308)
    assert not is_plausible_fix(42.0, -71.0, math.nan)
