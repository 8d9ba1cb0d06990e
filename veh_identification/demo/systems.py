"""Demo parts: a system simulated, replayed through its node, identified, beside its truth."""

from __future__ import annotations

import math
import shutil
from dataclasses import dataclass
from pathlib import Path

from veh_identification.demo.parts import Compared, Part
from veh_identification.identification import IdentificationResult
from veh_identification.results.outcome import Outcome
from veh_identification.runtime.bags import BagReader
from veh_identification.runtime.replay.bag import replay_graph
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.scenarios import simulate
from veh_identification.systems.driver import run as run_verb


@dataclass(frozen=True)
class Plan:
    """What to simulate and how to identify it."""

    system: str
    title: str
    what: str
    scenario: str
    seconds: float
    graph: str
    validate: tuple[str, float]  # scenario and seconds of the other recording
    config: str | None = None
    urdf: str | None = None


CAR = Plan(
    'car',
    'Car',
    'The 33 parameters of Venture 2006 from one sine-steer recording, judged '
    'on another one; the node identifies while the recording plays.',
    'car-sine-steer',
    60.0,
    'car_identification',
    ('car-sine-steer', 30.0),
    'car_peugeot_406',
)
HUMANOID = Plan(
    'humanoid',
    'Humanoid',
    'All base parameters of a walking humanoid from the force '
    'plate alone, without joint torques (Ayusawa 2008); the URDF given is wrong on '
    'purpose.',
    'humanoid-walk',
    10.0,
    'contact_identification',
    ('humanoid-bend', 12.0),
    None,
    'ut_mu2_like_cad.urdf',
)
HEXAPOD = Plan(
    'parallel',
    'Parallel robot',
    'The parameters of a hexapod and the cut-off by '
    'maximum likelihood (Abdellatif 2009), judged on a circle it was not made for.',
    'hexapod-periodic',
    25.0,
    'parallel_identification',
    ('hexapod-circle', 10.0),
)


def run(plan: Plan, out: Path, seed: int) -> Part:
    """Simulate two recordings, replay one through the node, identify it, validate on the other."""
    bag, other = out / f'{plan.scenario}_{seed}', out / f'{plan.validate[0]}_{seed + 1}'
    simulate(plan.scenario, bag, seed=seed, duration=plan.seconds, overwrite=True)
    simulate(plan.validate[0], other, seed=seed + 1, duration=plan.validate[1], overwrite=True)
    live, folder = out / f'{plan.system}_live', out / plan.system
    replay_graph([bag], plan.graph, live, overwrite=True, log_level='error')
    shutil.rmtree(folder, ignore_errors=True)
    models = share_directory() / 'config' / 'models'
    outcome = run_verb(
        'identify',
        plan.system,
        [bag],
        out=folder,
        validate=other,
        config=plan.config,
        options={'urdf': models / plan.urdf} if plan.urdf else {},
    )
    said, truth = live_values(live), true_parameters(outcome)
    rows = tuple(
        Compared(
            one.name,
            one.unit,
            truth[one.name],
            one.value,
            one.std,
            said.get(one.name, float('nan')),
        )
        for one in outcome.values.values()
        if one.name in truth and one.std > 0.0
    )
    report = folder / 'report.html'
    return Part(
        plan.system,
        plan.title,
        plan.what,
        commands(plan, bag, other, live, folder),
        rows,
        sentences=(*sentences(outcome), outcome.verdict.line),
        report=report if report.is_file() else None,
        folders=(bag, other, live, folder),
    )


def commands(plan: Plan, bag: Path, other: Path, live: Path, folder: Path) -> tuple[str, ...]:
    """The same by hand."""
    extra = f' --config {plan.config}' if plan.config else ''
    extra += f' --urdf config/models/{plan.urdf}' if plan.urdf else ''
    return (
        f'veh-id simulate {plan.scenario} --duration {plan.seconds:g} --out {bag}',
        f'veh-id replay {bag} --graph {plan.graph} --out {live}',
        f'veh-id identify {plan.system} {bag} --validate {other}{extra} --out {folder}',
    )


def live_values(bag: Path) -> dict[str, float]:
    """What the node published last."""
    with BagReader(bag) as reader:
        topic = next(name for name in reader.topics if name.endswith('/parameters'))
        last = None
        for item in reader.messages([topic]):
            last = item.message
    return (
        {}
        if last is None
        else {one.name: float(one.value) for one in last.parameters if one.excited}
    )


def true_parameters(outcome: Outcome[IdentificationResult]) -> dict[str, float]:
    """The truth of the simulated recording, as the report compares it."""
    rows = getattr(outcome.content, 'parameters', ())
    return {row.name: row.truth for row in rows if math.isfinite(row.truth)}


def sentences(outcome: Outcome[IdentificationResult]) -> tuple[str, ...]:
    """What the validation says, in the words of the report."""
    return tuple(
        f'{one.text[:1].lower()}{one.text[1:].rstrip(".")}'
        for one in outcome.findings
        if one.code == 'validation_fit'
    )
