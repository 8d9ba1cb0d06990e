"""Small arithmetic expressions of model tables: numbers, `pi`, constants, linear in variables."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from veh_identification.configuration.faults import shown
from veh_identification.errors import ModelError

_FUNCTIONS = {'sin': math.sin, 'cos': math.cos, 'tan': math.tan, 'sqrt': math.sqrt}


@dataclass(frozen=True)
class Linear:
    """constant + sum of coefficient * variable."""

    constant: float = 0.0
    coefficients: Mapping[str, float] = field(default_factory=dict)

    def scaled(self, factor: float) -> Linear:
        """The expression times a number."""
        return Linear(
            self.constant * factor,
            {name: value * factor for name, value in self.coefficients.items()},
        )

    def plus(self, other: Linear) -> Linear:
        """Sum of two expressions."""
        names = dict.fromkeys([*self.coefficients, *other.coefficients])
        total = {
            name: self.coefficients.get(name, 0.0) + other.coefficients.get(name, 0.0)
            for name in names
        }
        return Linear(
            self.constant + other.constant,
            {name: value for name, value in total.items() if value != 0.0},
        )


def parse_linear(entry: object, constants: Mapping[str, float], where: str) -> Linear:
    """A table entry (number or text) as a linear expression; `where` names it in errors.

    All its numbers are finite: a NaN would only show in the results, far from its source.
    """
    result = _parsed(entry, constants, where)
    if not all(math.isfinite(value) for value in (result.constant, *result.coefficients.values())):
        raise ModelError(f'{where}: expected a finite number, found {_short(entry)}')
    return result


def _short(entry: object) -> str:
    """The entry for a sentence; YAML integers may have thousands of digits."""
    text = str(entry) if not isinstance(entry, int) or abs(entry) < 10**30 else 'a huge integer'
    return text if len(text) <= 60 else f'{text[:57]}...'


def _parsed(entry: object, constants: Mapping[str, float], where: str) -> Linear:
    if isinstance(entry, bool) or not isinstance(entry, (int, float, str)):
        raise ModelError(f'{where}: expected a number or an expression, found {shown(entry)}')
    if not isinstance(entry, str):
        return Linear(_real(entry))
    try:
        tree = ast.parse(entry.strip(), mode='eval').body
        return _evaluate(tree, constants, f'{where}: "{_short(entry)}"')
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ModelError(f'{where}: "{_short(entry)}" is not an expression with a value') from None


def _real(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _evaluate(node: ast.expr, constants: Mapping[str, float], where: str) -> Linear:
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
    ):
        return Linear(_real(node.value))
    if isinstance(node, ast.Name):
        if node.id == 'pi':
            return Linear(math.pi)
        if node.id in constants:
            return Linear(float(constants[node.id]))
        if node.id.lower() in ('nan', 'inf', 'infinity'):
            # YAML's own spelling is .nan; without the dot it must not become a joint variable.
            return Linear(float(node.id))
        return Linear(0.0, {node.id: 1.0})
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        sign = -1.0 if isinstance(node.op, ast.USub) else 1.0
        return _evaluate(node.operand, constants, where).scaled(sign)
    if isinstance(node, ast.BinOp):
        return _binary(
            node.op,
            _evaluate(node.left, constants, where),
            _evaluate(node.right, constants, where),
            where,
        )
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _FUNCTIONS
        and len(node.args) == 1
    ):
        argument = _evaluate(node.args[0], constants, where)
        if not argument.coefficients:
            return Linear(_FUNCTIONS[node.func.id](argument.constant))
    raise ModelError(f'{where} is not linear in the joint variable or uses something unknown')


def _binary(operator: ast.operator, left: Linear, right: Linear, where: str) -> Linear:
    if isinstance(operator, ast.Add):
        return left.plus(right)
    if isinstance(operator, ast.Sub):
        return left.plus(right.scaled(-1.0))
    if isinstance(operator, ast.Mult) and not left.coefficients:
        return right.scaled(left.constant)
    if isinstance(operator, ast.Mult) and not right.coefficients:
        return left.scaled(right.constant)
    if isinstance(operator, ast.Div) and not right.coefficients and right.constant != 0.0:
        return left.scaled(1.0 / right.constant)
    raise ModelError(f'{where} is not linear in the joint variable or divides by zero')
