"""The observer of the four-bar linkage (Sinigaglia 2016, chapter 3)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from veh_identification._version import __version__
from veh_identification.errors import BagError
from veh_identification.findings import Finding
from veh_identification.observation import Innovation, ObserverAnalysis
from veh_identification.observation.streaming import Item, OnlineOptions, Session
from veh_identification.results.observation import ObserverRun, observation_outcome
from veh_identification.results.outcome import Outcome
from veh_identification.results.provenance import provenance
from veh_identification.runtime.bags import BagWriter
from veh_identification.systems.base import System, Task
from veh_identification.systems.four_bar.model import Setup, load
from veh_identification.systems.four_bar.online import RECORDED, FourBarSession, FourBarSystem
from veh_identification.systems.four_bar.recording import LinkageRecording, read
from veh_identification.systems.four_bar.results import (
    GLOSSARY,
    Run,
    error_tables,
    joints_message,
    judged,
    states_of,
    text_of,
)
from veh_identification.systems.observing.checks import unusable_messages
from veh_identification.systems.observing.figures import (
    adaptive_figures,
    sensor_counts,
    speed_figures,
    stream_counts,
)
from veh_identification.systems.observing.offline import Beside, OfflineRun, run_offline
from veh_identification.systems.observing.options import ObserveOptions
from veh_identification.systems.options import option
from veh_identification.types import Array, Progress

#: Progress is told every so many steps.
TELL = 500


@dataclass(frozen=True)
class FourBarOptions(ObserveOptions):
    """Options of `observe four-bar`."""

    step: float | None = option(
        None, 'longest time step instead of that of the configuration [s]', minimum=1e-4
    )
    settle: float = option(1.0, 'data that is looked at before the start [s]', minimum=0.0)
    force_estimation: bool = option(False, 'errorEKF-FE: estimate the unknown torque as well')

    def applied(self, setup: Setup) -> Setup:
        """The linkage with what was set for this run."""
        if self.step is not None:
            setup = replace(setup, step=self.step)
        if self.gate_probability is not None:
            gate = {'gate_probability': self.gate_probability}
            setup = replace(setup, observer={**setup.observer, **gate})
        return setup


class FourBar(System[Setup, LinkageRecording]):
    """The linkage of chapters 2 and 3, whose model is wrong on purpose (Table 1)."""

    name = 'four-bar'
    title = 'four-bar linkage'
    summary = 'the four-bar linkage (Sinigaglia 2016, chapter 3)'
    verbs: ClassVar[Mapping[str, type]] = {'observe': FourBarOptions}
    glossary = GLOSSARY
    node = 'error_ekf'
    template = 'four_bar.yaml'

    def configure(self, path: Path | None, options: FourBarOptions | None = None) -> Setup:
        """The linkage of a file, or the thesis'."""
        return load(path)

    def read(self, bag: Path, config: Setup, progress: Progress | None = None) -> LinkageRecording:
        """One recording: crank angles, torques and the truth."""
        return read(bag, progress)

    def checks(self, recording: LinkageRecording, config: Setup) -> list[Finding]:
        """What cannot be used, and sensors that no recording brings."""
        findings = unusable_messages({'joint_states': (recording.unusable, recording.messages)})
        absent = [name for name in config.observer['sensors'] if name not in RECORDED]
        if absent:
            text = f'{", ".join(absent)}: no topic brings it, so the observer does without'
            where = 'configuration, observer.sensors'
            findings.append(Finding('warn', 'sensor_not_recorded', text, where))
        return findings

    def live(self, config: Setup) -> FourBarSystem:
        """What the node drives; its `say` may be set before the start."""
        return FourBarSystem(config, say=lambda finding: None)

    def observe(self, task: Task[Setup]) -> Outcome[ObserverRun]:
        """States over one recording: the observer, and the model alone where there is a truth."""
        options: FourBarOptions = task.options
        setup = options.applied(task.config)
        recording = self.series(task.recordings[0], task)
        findings = self.checks(recording, setup)
        analysis = ObserverAnalysis(('crank',), options.observability, options.poles)
        spool = tempfile.TemporaryDirectory(prefix='veh-id-')
        observed_bag = Path(spool.name) / 'observed'
        system = FourBarSystem(
            setup,
            say=findings.append,
            force=options.force_estimation,
            adaptive=options.adaptive_settings(),
        )
        warm_up(setup)
        with BagWriter(observed_bag) as writer:
            run, offline = _run(
                system, recording, options, task.progress, _beside(writer, analysis)
            )
        if not run.stamps:
            raise BagError(
                f'{recording.source}: no step of the observer could be made of its messages'
            )
        findings = list(dict.fromkeys([*findings, *offline.observer.events]))
        truth = _truth(recording, run.stamps[0]) if offline.observer.starts == 1 else {}
        alone = None
        if truth and options.compare_model:
            bare = FourBarSystem(setup, sensors=(), say=lambda finding: None)
            alone = _run(bare, recording, options, task.progress)[0].levels
        metrics = _metrics(recording, run, offline, truth, alone, analysis)
        metrics['notes'] = [one.text for one in findings]
        settings = {name: value for name, value in metrics.items() if name != 'coordinates'}
        return observation_outcome(
            ObserverRun(
                states_of(run, truth, alone),
                {name: run.innovations.get(name, []) for name in metrics['sensors']},
                metrics,
                gate_probability=setup.observer.get('gate_probability'),
                details=run,
            ),
            system=self.name,
            title=self.title,
            bag=recording.source,
            findings=findings,
            provenance=provenance(
                'observe', self.name, task.arguments, settings, _inputs(setup, recording)
            ),
            body=text_of(metrics, analysis),
            files={'observed': observed_bag},
            spool=spool,
            inputs=task.inputs,
        )


def warm_up(setup: Setup) -> None:
    """Compile everything on a linkage of its own."""
    system = FourBarSystem(setup, say=lambda finding: None)
    step_ns = round(setup.step * 1e9)
    items = [Item((k + 1) * step_ns, 'crank', (setup.model.angle,)) for k in range(20)]
    run_offline(system, items, OnlineOptions(settle=0.01), lambda session, end_ns, found: None)


def _run(
    system: FourBarSystem,
    recording: LinkageRecording,
    options: FourBarOptions,
    progress: Progress | None,
    beside: Beside | None = None,
) -> tuple[Run, OfflineRun]:
    """All samples through the observer, or through the model alone."""
    run, count = Run(), len(recording.items)

    def keep(session: Session, end_ns: int, found: Sequence[Innovation]) -> None:
        assert isinstance(session, FourBarSession)
        run.store(session, end_ns, found)
        if progress is not None and len(run.stamps) % TELL == 0:
            progress(min(len(run.stamps), count), count)

    online = OnlineOptions(options.window, options.window, options.settle, options.bridge)
    return run, run_offline(system, recording.items, online, keep, beside)


def _beside(writer: BagWriter, analysis: ObserverAnalysis) -> Beside:
    """After every step: the observed topics, and a look at the filter."""
    looking = analysis.observability or analysis.poles

    def step(session: Session, end_ns: int) -> None:
        assert isinstance(session, FourBarSession)
        model = session.model
        message = joints_message(end_ns, model.q, model.qd)
        writer.write_message('joint_states/observed', message, end_ns)
        if looking:
            filter_ = session.filter
            before = session.observed.snapshot()
            dt = session.step_ns * 1e-9
            analysis.look(filter_, model, session.observed.columns, filter_.time, dt)
            session.observed.restore(before)

    return step


def _truth(recording: LinkageRecording, start_ns: int) -> Mapping[str, Array]:
    """The truth with its times since the first step."""
    if not recording.truth:
        return {}
    known = dict(recording.truth)
    return {'time': (known.pop('stamps') - start_ns) * 1e-9, **known}


def _metrics(
    recording: LinkageRecording,
    run: Run,
    offline: OfflineRun,
    truth: Mapping[str, Array],
    alone: tuple[Array, Array] | None,
    analysis: ObserverAnalysis,
) -> dict[str, Any]:
    """Everything of metrics.json but the notes."""
    session = offline.observer.session
    assert session is not None
    return {
        'system': FourBar.name,
        **(error_tables(run.times, truth, run.levels, alone) if truth else {}),
        **judged(run.innovations),
        'sensors': sensor_counts(session.filter),
        'streams': stream_counts(offline.observer),
        'unusable_messages': {'joint_states': recording.unusable} if recording.unusable else {},
        **adaptive_figures(session.filter, ('crank',)),
        **analysis.figures(),
        **speed_figures(float(run.times[-1]), offline),
        'bag': str(recording.source),
        'version': __version__,
    }


def _inputs(setup: Setup, recording: LinkageRecording) -> tuple[tuple[str, str, str], ...]:
    """What went in, and where it came from."""
    g, model = setup.geometry, setup.model
    torque = any(item.key == 'torque' for item in recording.items)
    return (
        *(
            (f'length of the {bar}', f'{getattr(g, bar):g} m', 'configuration')
            for bar in ('crank', 'rod', 'rocker', 'ground')
        ),
        ('masses of crank, rod, rocker', f'{model.masses} kg', 'configuration'),
        ('gravity', f'{model.gravity:g} m/s^2', 'configuration'),
        ('crank at the start', f'{model.angle:.6g} rad, {model.rate:g} rad/s', 'configuration'),
        (
            'torque on the crank',
            'measured' if torque else f'{model.torque:g} N m',
            'joint_states, field effort' if torque else 'configuration',
        ),
    )
