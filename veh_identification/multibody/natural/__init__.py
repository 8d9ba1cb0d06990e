"""Multibody models in natural coordinates: points, unit vectors, relative angles, distances."""

from veh_identification.multibody.natural import joints
from veh_identification.multibody.natural.builder import NaturalBuilder
from veh_identification.multibody.natural.forms import Form
from veh_identification.multibody.natural.model import NaturalModel
from veh_identification.multibody.natural.model_state import Loads, Solver, State
from veh_identification.multibody.natural.records import Body

__all__ = ['Body', 'Form', 'Loads', 'NaturalBuilder', 'NaturalModel', 'Solver', 'State', 'joints']
