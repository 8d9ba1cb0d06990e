"""Symbolic sparse Cholesky: a fill-reducing order and the fronts in which it is eliminated.

Done once per model. The matrices of a natural-coordinate model (mass plus penalised constraints,
and the normal equations of the kinematic problems) all share one pattern, since every constraint
only couples the few coordinates of the bodies it joins.

A front is a small dense matrix: the coordinates that are eliminated in it (its pivots) and those
that they are coupled with by then (its border), whose part is handed on to the front of the first
of them. The four corners of a car become a few fronts each, and its chassis the last one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from veh_identification.types import IntArray

#: What takes how long in `cholesky` [ns], roughly: fronts are joined where that is quicker.
PRODUCT, ROW, HANDED_ON, FRONT = 0.3, 6.0, 1.5, 60.0
SOLUTIONS = 8  # with one factor


@dataclass(frozen=True)
class Pattern:
    """Order of elimination and where the fronts stand.

    `fronts` (k, 5): place of a front in the matrix, pivots, size, place of its border in the two
    lists, the front that it hands on to (-1: none). `border`: the coordinates by their place in
    the order; `handed`: their places in that front.
    """

    permutation: IntArray  # place in the order -> coordinate
    fronts: IntArray
    border: IntArray
    handed: IntArray
    entries: int  # of all fronts
    slots: dict[tuple[int, int], int]  # (coordinate, coordinate) -> place in the matrix

    def slot(self, first: int, second: int) -> int:
        """Place of an entry of the symmetric matrix, by coordinate numbers."""
        return self.slots[(first, second) if (first, second) in self.slots else (second, first)]


def adjacency(size: int, cliques: Iterable[Iterable[int]]) -> list[set[int]]:
    """Neighbours of each coordinate when every clique couples all its members."""
    neighbours: list[set[int]] = [set() for _ in range(size)]
    for clique in cliques:
        members = set(clique)
        for member in members:
            neighbours[member] |= members
    for index, others in enumerate(neighbours):
        others.discard(index)
    return neighbours


def minimum_degree(neighbours: list[set[int]]) -> tuple[list[int], list[set[int]]]:
    """Elimination order by least fill, and the later neighbours of each at its elimination."""
    graph = [set(others) for others in neighbours]
    left = set(range(len(graph)))
    order: list[int] = []
    later: list[set[int]] = []
    while left:
        chosen = min(left, key=lambda node: (len(graph[node]), node))
        others = graph[chosen]
        for node in others:
            graph[node] |= others
            graph[node] -= {node, chosen}
        order.append(chosen)
        later.append(set(others))
        left.discard(chosen)
    return order, later


@dataclass
class _Front:
    """Coordinates of a front while fronts are joined; the tree is that of the elimination."""

    pivots: list[int]
    border: set[int]
    parent: _Front | None = None
    children: list[_Front] = field(default_factory=list)


@lru_cache(maxsize=4096)
def _duration(pivots: int, border: int) -> float:
    """Of one factor and its solutions with a front of this size [ns]."""
    size = pivots + border
    products = sum(min(i, pivots) * (size - i) for i in range(size))
    rows = sum(1 + min(i, pivots) // 4 for i in range(size))
    solution = pivots * (size - 0.5 * pivots) + 2.0 * ROW * pivots + 3.0 * HANDED_ON * border
    handed = 0.5 * HANDED_ON * border * border
    return FRONT + PRODUCT * products + ROW * rows + handed + SOLUTIONS * (FRONT / 4.0 + solution)


def _gain(child: _Front) -> float:
    """Time that joining a front with its parent saves [ns]."""
    parent = child.parent
    assert parent is not None
    own, others, border = len(child.pivots), len(parent.pivots), len(parent.border)
    apart = _duration(own, len(child.border)) + _duration(others, border)
    return apart - _duration(own + others, border)


def _join(child: _Front) -> None:
    parent = child.parent
    assert parent is not None
    parent.pivots = child.pivots + parent.pivots
    parent.children.remove(child)
    for one in child.children:
        one.parent = parent
    parent.children += child.children


def _tree(order: list[int], later: list[set[int]]) -> list[_Front]:
    """Joined fronts, children before their parents."""
    place = {node: k for k, node in enumerate(order)}
    fronts = [_Front([node], border) for node, border in zip(order, later, strict=True)]
    for front in fronts:
        if front.border:
            front.parent = fronts[min(place[node] for node in front.border)]
            front.parent.children.append(front)
    while True:
        joinable = [front for front in fronts if front.parent is not None]
        best = max(joinable, key=_gain, default=None)
        if best is None or _gain(best) <= 0.0:
            break
        _join(best)
        fronts.remove(best)
    listed: list[_Front] = []

    def visit(front: _Front) -> None:
        for child in front.children:
            visit(child)
        listed.append(front)

    for front in fronts:
        if front.parent is None:
            visit(front)
    return listed


def analyse(size: int, cliques: Iterable[Iterable[int]]) -> Pattern:
    """Order and fronts for all matrices made of these cliques."""
    listed = _tree(*minimum_degree(adjacency(size, cliques)))
    order = [node for front in listed for node in front.pivots]
    place = {node: k for k, node in enumerate(order)}
    members = [front.pivots + sorted(front.border, key=place.__getitem__) for front in listed]
    number = {id(front): k for k, front in enumerate(listed)}
    table: list[list[int]] = []
    border: list[int] = []
    handed: list[int] = []
    slots: dict[tuple[int, int], int] = {}
    start = 0
    for front, nodes in zip(listed, members, strict=True):
        pivots, width = len(front.pivots), len(nodes)
        parent = -1 if front.parent is None else number[id(front.parent)]
        table.append([start, pivots, width, len(border), parent])
        border += [place[node] for node in nodes[pivots:]]
        if parent >= 0:
            places = {node: k for k, node in enumerate(members[parent])}
            handed += [places[node] for node in nodes[pivots:]]
        for i in range(pivots):
            for j in range(i, width):
                slots[(nodes[i], nodes[j])] = start + i * width + j
        start += width * width
    return Pattern(
        np.array(order, dtype=np.int64),
        np.array(table, dtype=np.int64).reshape(-1, 5),
        np.array(border, dtype=np.int64),
        np.array(handed, dtype=np.int64),
        start,
        slots,
    )
