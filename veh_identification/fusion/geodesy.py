"""WGS84: geodetic coordinates, earth-centred coordinates, and a local east-north-up frame."""

from __future__ import annotations

import math
from dataclasses import dataclass

from veh_identification.types import Vector

#: Defining constants of WGS84 (semi-major axis [m], flattening) and the squared eccentricity.
SEMI_MAJOR_AXIS = 6378137.0
FLATTENING = 1.0 / 298.257223563
ECCENTRICITY_SQUARED = FLATTENING * (2.0 - FLATTENING)
SEMI_MINOR_AXIS = SEMI_MAJOR_AXIS * (1.0 - FLATTENING)


def geodetic_to_ecef(latitude: float, longitude: float, altitude: float) -> Vector:
    """Earth-centred earth-fixed x, y, z [m] of degrees and metres above the ellipsoid."""
    lat, lon = math.radians(latitude), math.radians(longitude)
    sin_lat, cos_lat = math.sin(lat), math.cos(lat)
    prime_vertical = SEMI_MAJOR_AXIS / math.sqrt(1.0 - ECCENTRICITY_SQUARED * sin_lat * sin_lat)
    horizontal = (prime_vertical + altitude) * cos_lat
    return (
        horizontal * math.cos(lon),
        horizontal * math.sin(lon),
        (prime_vertical * (1.0 - ECCENTRICITY_SQUARED) + altitude) * sin_lat,
    )


def ecef_to_geodetic(x: float, y: float, z: float) -> Vector:
    """Degrees and metres above the ellipsoid of an earth-centred point.

    Fixed-point iteration on the latitude; it contracts by about the eccentricity squared (1/150)
    each turn, so ten turns reach rounding anywhere outside the earth's core.
    """
    horizontal = math.hypot(x, y)
    longitude = math.atan2(y, x)
    latitude = math.atan2(z, horizontal * (1.0 - ECCENTRICITY_SQUARED))
    for _ in range(10):
        sin_lat = math.sin(latitude)
        prime_vertical = SEMI_MAJOR_AXIS / math.sqrt(
            1.0 - ECCENTRICITY_SQUARED * sin_lat * sin_lat
        )
        latitude = math.atan2(z + ECCENTRICITY_SQUARED * prime_vertical * sin_lat, horizontal)
    sin_lat, cos_lat = math.sin(latitude), math.cos(latitude)
    # Distance along the normal by projection: well conditioned at the equator and at the poles.
    altitude = (
        horizontal * cos_lat
        + z * sin_lat
        - SEMI_MAJOR_AXIS * math.sqrt(1.0 - ECCENTRICITY_SQUARED * sin_lat * sin_lat)
    )
    return math.degrees(latitude), math.degrees(longitude), altitude


@dataclass(frozen=True)
class Datum:
    """Origin of the local frame: degrees, degrees, metres above the ellipsoid."""

    latitude: float
    longitude: float
    altitude: float


class LocalFrame:
    """East-north-up coordinates around a datum, through earth-centred coordinates (no plane
    approximation: a point 10 km away is as exact as one at the datum).
    """

    def __init__(self, datum: Datum) -> None:
        self.datum = datum
        self._origin = geodetic_to_ecef(datum.latitude, datum.longitude, datum.altitude)
        lat, lon = math.radians(datum.latitude), math.radians(datum.longitude)
        self._sin_lat, self._cos_lat = math.sin(lat), math.cos(lat)
        self._sin_lon, self._cos_lon = math.sin(lon), math.cos(lon)

    def from_geodetic(self, latitude: float, longitude: float, altitude: float) -> Vector:
        """East, north, up [m]."""
        x, y, z = geodetic_to_ecef(latitude, longitude, altitude)
        dx, dy, dz = x - self._origin[0], y - self._origin[1], z - self._origin[2]
        outward = self._cos_lon * dx + self._sin_lon * dy
        return (
            -self._sin_lon * dx + self._cos_lon * dy,
            -self._sin_lat * outward + self._cos_lat * dz,
            self._cos_lat * outward + self._sin_lat * dz,
        )

    def to_geodetic(self, east: float, north: float, up: float) -> Vector:
        """Degrees and metres of a local point."""
        outward = -self._sin_lat * north + self._cos_lat * up
        dz = self._cos_lat * north + self._sin_lat * up
        dx = -self._sin_lon * east + self._cos_lon * outward
        dy = self._cos_lon * east + self._sin_lon * outward
        return ecef_to_geodetic(self._origin[0] + dx, self._origin[1] + dy, self._origin[2] + dz)


#: Height at which nobody asks for a place any more [m].
HIGHEST = 1e6


def is_plausible_fix(latitude: float, longitude: float, altitude: float) -> bool:
    """Whether the numbers can be a place on earth; exact 0, 0 is what receivers send blind."""
    return (
        math.isfinite(latitude + longitude)
        and abs(altitude) <= HIGHEST
        and abs(latitude) <= 90.0
        and abs(longitude) <= 360.0
        and (latitude != 0.0 or longitude != 0.0)
    )
