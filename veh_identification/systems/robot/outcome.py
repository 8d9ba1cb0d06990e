"""From an estimate to the outcome: result, series, tables, payloads, identified.urdf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.findings import Finding
from veh_identification.findings.numbers import beside, number
from veh_identification.identification import (
    ArrayBlocks,
    IdentificationResult,
    Options,
    Validation,
    validate,
)
from veh_identification.identification.batch import solve as solve_blocks
from veh_identification.reporting.content import Card, ExtraTable, table
from veh_identification.results.identification import (
    Further,
    identification_outcome,
    simulated_truth,
)
from veh_identification.results.outcome import Outcome, Value
from veh_identification.results.provenance import provenance
from veh_identification.results.reconstruction import Reconstruction
from veh_identification.systems.base import Task, paths_of
from veh_identification.systems.humanoid.results.urdf import identified_urdf
from veh_identification.systems.parallel.estimation.effort_delay import SIGNIFICANT, EffortDelay
from veh_identification.systems.robot.checks.delays import delay_at_its_limit
from veh_identification.systems.robot.checks.fit import estimate_findings
from veh_identification.systems.robot.checks.untared import untared_findings
from veh_identification.systems.robot.estimation.estimate import PLAIN, Estimate
from veh_identification.systems.robot.estimation.payload import FoundLoad, found_loads
from veh_identification.systems.robot.estimation.possible import SMALL_DELAY, impossible_names
from veh_identification.systems.robot.estimation.unknowns import assemble, weighted_solution
from veh_identification.systems.robot.glossary import GLOSSARY
from veh_identification.systems.robot.options import Subject
from veh_identification.systems.robot.processing import LONGEST_DELAY
from veh_identification.types import Array

TOPIC = 'robot_identification/reconstruction'
#: Delay of the base wrench that is worth a word [s].
BASE_DELAY = 2e-3


def robot_outcome(
    found: Estimate,
    task: Task[Subject],
    recordings: Sequence[Any],
    unseen: Any,
    checks: Sequence[Finding],
) -> Outcome[IdentificationResult]:
    """The outcome; `recordings` and `unseen` as they were read."""
    setup, model = found.setup, found.setup.model
    delay, loads = effort_delay(found), found_loads(found)
    validated, compared = _validated(found)
    bags = paths_of(recordings)
    prior = np.concatenate(
        [model.a_priori(), np.full(len(found.names) - len(model.names), np.nan)]
    )
    result = found.solved.result(
        found.names,
        found.units,
        model.equations,
        prior,
        system='robot',
        validation=validated,
        impossible=impossible_names(
            model, found.names, found.value, np.sqrt(np.diag(found.covariance))
        ),
        input=_input(found, task),
        extra=_extra(found, delay, loads, compared),
    )
    topic = setup.model.configuration.joint_states
    # One that was given is nobody's limit.
    longest = LONGEST_DELAY / setup.cutoff_hz if found.state.delay_free else np.inf
    findings = [
        *checks,
        *setup.findings,
        *(delay_at_its_limit(delay.value, longest, topic) or delay.findings(topic)),
        *_base_delay(found),
        *(one for load in loads for one in load.findings()),
        *_row_findings(found),
        *_link_findings(found),
        *untared_findings(found.names, found.value, found.covariance, topic),
    ]
    if not any(one.level == 'bad' for one in checks):  # the cause stands alone
        findings += estimate_findings(found)
    return identification_outcome(
        result,
        title='robot',
        bags=bags,
        validate=next(iter(paths_of([] if unseen is None else [unseen])), None),
        findings=findings,
        series=_series(found),
        provenance=provenance(
            'identify',
            'robot',
            task.arguments,
            {'input': result.input, 'noise': result.noise},
            _origins(found, dict(task.arguments)),
        ),
        glossary=GLOSSARY,
        further=Further(
            lines=tuple(_lines(found, delay, loads, compared)),
            tables=_tables(result.extra),
            cards=tuple(_card(load) for load in loads),
            values=_values(found, delay, loads),
            truth=_truth(found, bags),
            band_hz=setup.cutoff_hz,
            seconds=sum(1e-9 * float(np.ptp(one.stamps_ns)) for one in setup.rows),
        ),
        files={'identified.urdf': identified_urdf(model.robot, found.fit.as_dict())},
        inputs=task.inputs,
    )


def effort_delay(found: Estimate) -> EffortDelay:
    """The delay in the words that the parallel robots use."""
    value, std = found.state.delay, found.unknown('delay')
    sure = bool(np.isfinite(std)) and abs(value) > max(SIGNIFICANT * std, SMALL_DELAY)
    return EffortDelay(value, std, True, sure, found.misfit_before, 1.0)


def _base_delay(found: Estimate) -> list[Finding]:
    """That the wrench below the base comes late, which is allowed for."""
    value, std = found.state.base_delay, found.unknown('base_delay')
    if not (np.isfinite(std) and abs(value) > max(SIGNIFICANT * std, BASE_DELAY)):
        return []
    text = (
        f'the wrench below the base comes {1e3 * value:.3g} +- {1e3 * std:.2g} ms later than the '
        'positions; that is corrected'
    )
    return [Finding('note', 'wrench_delay', text, 'base_sensors')]


def _validated(found: Estimate) -> tuple[Validation | None, list[dict[str, Any]]]:
    """Residuals of the held-out recording, by the estimate and by all estimators beside it."""
    setup, model = found.setup, found.setup.model
    if setup.validation is None or setup.validation_mask is None:
        return None, []
    unseen = assemble(model, [setup.validation], (), [setup.validation_mask], found.state)
    wide = np.zeros((*unseen.Y.shape, len(found.names)))
    wide[:, :, : len(model.names)] = unseen.W[:, :, : len(model.names)]
    blocks = ArrayBlocks(wide, _own_zeros(found, unseen.Y, wide @ found.value))
    prior = model.a_priori()
    padded = np.concatenate([prior, np.full(len(found.names) - len(prior), np.nan)])
    judged = validate(blocks, found.value, model.equations, padded)
    compared = []
    for name, value in _every_estimator(found).items():
        rms = validate(blocks, value, model.equations).rms
        compared.append(
            {'estimator': name, **dict(zip(model.equations, map(float, rms), strict=True))}
        )
    return judged, compared


def _own_zeros(found: Estimate, Y: Array, predicted: Array) -> Array:
    """Of a recording that was not used: its base wrench has a zero of its own."""
    first = len(found.setup.model.joints)
    made = Y.copy()
    if np.isfinite(made[:, first:]).any():
        made[:, first:] -= np.nanmean(made[:, first:] - predicted[:, first:], axis=0)
    return made


def _every_estimator(found: Estimate) -> dict[str, Array]:
    """Values of `names` by each estimator, from the same rows."""
    Y = found.system.Y - found.system.known
    blocks, equations = ArrayBlocks(found.system.W, Y), list(found.setup.model.equations)
    values: dict[str, Array] = {}
    for name in PLAIN:
        options = Options(estimator=name, noise='white')  # type: ignore[arg-type]
        values[name] = solve_blocks(blocks, found.names, equations, options).value
    values['instrumental-variable'] = weighted_solution(found.system)[0]
    values['consistent'] = found.fit.unknowns
    return values


def _series(found: Estimate) -> list[Reconstruction]:
    """Both sides over all rows, also those near rest that the fit left out."""
    setup, model = found.setup, found.setup.model
    told = np.flatnonzero(model.told)
    made = []
    sets = [('', False, setup.rows, setup.masks, setup.loads, found.value)]
    if setup.validation is not None and setup.validation_mask is not None:
        own = found.value[: len(model.names)]
        sets.append(('validation/', True, (setup.validation,), (setup.validation_mask,), (), own))
    for prefix, held_out, rows, masks, loads, value in sets:
        system = assemble(model, rows, loads, masks, found.state)
        stamps = np.concatenate([one.stamps_ns for one in rows])
        order = np.argsort(stamps, kind='stable')
        names = ', '.join(one.name for one in rows)
        title = f'Validation recording {names}' if held_out else f'Identification data: {names}'
        predicted = system.W @ value + system.known
        measured = _own_zeros(found, system.Y, predicted) if held_out else system.Y
        made.append(
            Reconstruction(
                f'{prefix}{TOPIC}',
                title,
                held_out,
                tuple(model.equations[j] for j in told),
                tuple(model.effort_units[j] for j in told),
                stamps[order],
                measured[order][:, told],
                predicted[order][:, told],
                np.full(len(told), np.nan) if held_out else found.solved.sigma[told],
            )
        )
    return made


def _input(found: Estimate, task: Task[Subject]) -> dict[str, Any]:
    setup, model = found.setup, found.setup.model
    c = model.configuration
    return {
        'bags': [one.label for one in setup.rows],
        'urdf': model.robot.path,
        'cutoff_hz': setup.cutoff_hz,
        'cutoff_reason': setup.cutoff_reason,
        'rate_hz': [one.rate for one in setup.signals],
        'gravity': list(c.gravity),
        'effort': c.effort,
        'locked_joints': dict(setup.locked),
        'measured_joints': [n for n, m in zip(model.joints, model.measured, strict=True) if m],
        'rows_in_use': {
            name: float(share)
            for name, share in zip(model.equations, found.slides.mean(axis=0), strict=True)
        },
        'payload_recordings': [one.recording for one in setup.loads],
        'base_wrench': model.base_wrench,
        'motor_inertia': bool(c.motor_inertia),
        'friction': {
            k: getattr(c.friction, k) for k in ('viscous', 'coulomb', 'offset', 'asymmetric')
        },
        'coupled': [[one.first, one.second, one.ratio] for one in c.coupled],
    }


def _extra(
    found: Estimate,
    delay: EffortDelay,
    loads: Sequence[FoundLoad],
    compared: list[dict[str, Any]],
) -> dict[str, Any]:
    model, state = found.setup.model, found.state
    gains = [
        {'joint': name, 'value': float(g), 'std': float(g * found.unknown('gain', j))}
        for j, (name, g) in enumerate(zip(model.joints, state.gains, strict=True))
        if model.configuration.effort == 'current'
    ]
    return {
        'base_relations': dict(zip(model.base.names, model.base.relations(), strict=True)),
        'effort_delay': delay.facts(),
        **_base_facts(found),
        'dry_friction': [
            {'joint': name, 'changes_over': one.kind, 'width': one.width}
            for name, one in zip(model.joints, state.shapes, strict=True)
        ],
        'gains': gains,
        'payloads': [one.as_dict() for one in loads],
        'estimators_on_validation': compared,
        'consistency': {
            'relative_cost': found.fit.relative_cost,
            'links_at_their_limit': list(found.fit.active),
            'status': found.fit.status,
        },
        'link_parameters': {name: v.tolist() for name, v in found.fit.as_dict().items()},
        'covariance': found.covariance.tolist(),
    }


def _base_facts(found: Estimate) -> dict[str, Any]:
    """What is found of the sensor below the base."""
    if not found.setup.model.base_wrench:
        return {}
    value, std = found.state.base_delay, found.unknown('base_delay')
    return {'base_wrench_delay': {'value': value, 'std': std, 'unit': 's'}}


def _lines(
    found: Estimate,
    delay: EffortDelay,
    loads: Sequence[FoundLoad],
    compared: Sequence[Mapping[str, Any]],
) -> list[str]:
    setup = found.setup
    lines = [load.line for load in loads]
    lines += [
        f'gain of {gain["joint"]} {gain["value"]:.4g} +- {gain["std"]:.2g} N m/A'
        for gain in _extra(found, delay, loads, [])['gains']
    ]
    lines += [
        f'cut-off {setup.cutoff_hz:g} Hz: {setup.cutoff_reason}',
        delay.line().replace(': not told from zero, not applied', ', not told from zero'),
    ]
    if compared:
        lines.append('held-out recording, rms of each joint by estimator:')
        for row in compared:
            values = '  '.join(f'{v:.4g}' for k, v in row.items() if k != 'estimator')
            lines.append(f'  {row["estimator"]:<22} {values}')
    return lines


def _tables(extra: Mapping[str, Any]) -> tuple[ExtraTable, ...]:
    rows = extra['estimators_on_validation']
    made = [
        table(
            'Estimators on the held-out recording',
            'rms of measured less predicted effort of each joint.',
            rows,
            {key: key for key in (rows[0] if rows else {})},
        ),
        table(
            'Drive gains',
            'Torque for each ampere, at the joint.',
            extra['gains'],
            {'joint': 'joint', 'value': 'N m/A', 'std': 'sigma'},
        ),
        table(
            'Dry friction',
            'How it changes its sign: over a speed (rad/s) or a way after a reversal (rad).',
            extra['dry_friction'],
            {'joint': 'joint', 'changes_over': 'over a', 'width': 'width'},
        ),
    ]
    return tuple(one for one in made if one is not None)


def _card(load: FoundLoad) -> Card:
    return Card(
        f'payload of {load.recording}',
        f'{beside(load.mass, load.mass_std)} kg',
        f'± {number(load.mass_std, 2)} kg at {load.link}',
    )


def _values(found: Estimate, delay: EffortDelay, loads: Sequence[FoundLoad]) -> dict[str, Value]:
    """Delay, gains and what follows from the payloads' parameters."""
    made = {'effort_delay': (delay.value, delay.std, 's', 'delay')}
    for j, name in enumerate(found.setup.model.joints):
        if found.setup.model.configuration.effort == 'current':
            gain = float(found.state.gains[j])
            made[f'{name}.gain'] = (gain, gain * found.unknown('gain', j), 'N m/A', 'gain')
    if found.setup.model.base_wrench:
        late = found.state.base_delay, found.unknown('base_delay')
        made['base_wrench_delay'] = (*late, 's', 'delay')
    for load in loads:
        made[f'{load.prefix}.mass'] = (load.mass, load.mass_std, 'kg', 'mass')
        for k, axis in enumerate('xyz'):
            spread = float(load.centre_std[k])
            made[f'{load.prefix}.centre_{axis}'] = (float(load.centre[k]), spread, 'm', 'centre')
        for k, entry in enumerate(('xx', 'xy', 'xz', 'yy', 'yz', 'zz')):
            made[f'{load.prefix}.inertia_{entry}'] = (
                float(load.inertia[k]),
                float(load.inertia_std[k]),
                'kg m^2',
                'inertia',
            )
    return {
        name: Value(
            name,
            value,
            std,
            unit,
            GLOSSARY[word],
            float('nan'),
            bool(np.isfinite(std) and abs(std) < 0.1 * abs(value)),
            word != 'mass' or value > -2.0 * std,
        )
        for name, (value, std, unit, word) in made.items()
    }


def _truth(found: Estimate, bags: Sequence[Path]) -> dict[str, float]:
    known = simulated_truth(bags[0]) if bags else {}
    if not known:
        return {}
    values = found.setup.model.values_of(known)
    names = found.setup.model.names
    return {n: float(v) for n, v in zip(names, values, strict=True) if np.isfinite(v)}


def _row_findings(found: Estimate) -> list[Finding]:
    """Joints that hardly ever slide: their friction model must carry the equation."""
    model = found.setup.model
    stuck = [
        n for j, n in enumerate(model.joints) if model.measured[j] and found.slides[:, j].all()
    ]
    if not stuck:
        return []
    text = (
        f'{", ".join(stuck)}: turns round so often that moments near rest cannot be left out; how '
        'dry friction changes its sign then matters'
    )
    return [Finding('warn', 'many_reversals', text, 'friction')]


def _link_findings(found: Estimate) -> list[Finding]:
    if found.fit.relative_cost < 1.5:
        return []
    text = (
        f'links that can exist fit {found.fit.relative_cost:.3g} times worse (sum of squares) '
        'than free parameters: identified.urdf is only near the data; the model or the recording '
        'has an error that no bodies explain'
    )
    return [Finding('warn', 'consistency_costs', text, 'identified.urdf')]


def _origins(found: Estimate, arguments: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    setup, c = found.setup, found.setup.model.configuration
    source = str(arguments.get('config', 'default'))
    told = 'the option gravity' if 'gravity' in arguments else source
    made = [
        ('robot description', setup.model.robot.path, 'the option urdf'),
        ('gravity', ' '.join(f'{v:g}' for v in c.gravity) + ' m/s^2', told),
        ('effort', c.effort, source),
        *(
            (f'position of {n}', f'{v:.5g}', 'recording' if n not in c.locked_joints else source)
            for n, v in setup.locked.items()
        ),
        *((f'gain of {n}', f'{v:g} N m/A', source) for n, v in c.gains.items()),
    ]
    for sensors in setup.sensors:
        for sensor in sensors:
            place = ' '.join(f'{v:g}' for v in sensor.pose.position)
            made.append((f'pose of {sensor.topic}', f'{place} m in the root link', sensor.origin))
    for one in setup.loads:
        what = 'to be found' if one.sought else f'known, {one.value[0]:g} kg'
        made.append((f'payload of {one.recording}', f'{what}, at {one.link}', source))
    return made
