"""Fixed-lag merge: samples of many sensors in the order of their stamps, whatever the arrival.

Every sample waits in a heap until the watermark has passed its stamp. The watermark follows the
newest stamp of any sensor at a distance of `lag`; so the order in which samples are handed on
depends on stamps alone as long as no sample arrives more than `lag` (in stamps) behind the newest.
What comes later still is counted and dropped. No clock is read.

A sample whose stamp lies further than `max_step` from the rest does not move the watermark: it
waits in a `Cluster` of its own. If the sensors that agree on the new time outnumber those that
still deliver the old one, the whole merge moves there (a clock jump or a pause of all); otherwise
the odd sensor stays out and its samples count as invalid.

Smaller steps of single sensors: `fusion.clock_steps`.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

from veh_identification.fusion.clock_steps import StepWatch
from veh_identification.fusion.merge_records import (
    NANOSECONDS,
    Cluster,
    Item,
    MergeOptions,
    StreamCounters,
)

__all__ = ['EPOCH', 'LONG_AGO', 'NANOSECONDS', 'FixedLagMerge', 'MergeOptions', 'StreamCounters']

#: Stream key of the marker that the merge moved to another time.
EPOCH = ''
#: Before every stamp.
LONG_AGO = -(2**63)


class FixedLagMerge:
    """Merges streams by stamp; see the module's description."""

    def __init__(self, options: MergeOptions) -> None:
        self.options = options
        self._lag, self._max_step = options.lag, options.max_step
        self._in_order = options.in_order
        self.counters: dict[str, StreamCounters] = {}
        self.epochs = 0
        self.watch = StepWatch(options, self.counters, self._accept)
        #: A watermark that someone waits for, and how many samples may wait until then.
        self.due = LONG_AGO
        self.most_waiting = 64
        self.reset()

    def reset(self) -> None:
        """Forget all samples and the present time; counters stay."""
        #: Samples that `drain` has not handed on.
        self.heap: list[Item] = []
        #: What `drain` hands on before them, after a move to another time.
        self.ready: deque[Item] = deque()
        self._clusters: list[Cluster] = []
        self.watch.doubt = None
        self._look_closely()
        self.newest: int | None = None
        self.watermark: int | None = None
        for counters in self.counters.values():
            counters.start_anew()

    def _look_closely(self) -> None:
        """Samples take the short way through `push` unless something is under observation."""
        observing = bool(self._clusters) or self.watch.doubt is not None or self._in_order
        self._direct_step = 0 if observing else min(self._lag, self._max_step)

    def add_stream(self, key: str) -> StreamCounters:
        """Make a stream known before its first sample, so that the merge waits for it."""
        return self.counters.setdefault(key, StreamCounters())

    def push(self, key: str, stamp: int, payload: tuple[Any, ...]) -> bool:
        """Take one sample; returns whether it is time to `drain` (see `due` and `most_waiting`).

        `payload` must be comparable: it decides between equal stamps.
        """
        counters = self.counters.get(key) or self.add_stream(key)
        newest = self.newest
        # The usual sample, the newest of all, without the detours.
        if (
            newest is not None
            and 0 < stamp - newest <= self._direct_step
            and not counters.late_run
        ):
            counters.newest = self.newest = stamp
            heap = self.heap
            heapq.heappush(heap, (stamp, key, payload))
            self.watermark = watermark = stamp - self._lag
            return watermark >= self.due or len(heap) > self.most_waiting
        if newest is not None and abs(stamp - newest) > self._max_step:
            self._set_aside(key, stamp, payload, counters)
            return True
        if self._clusters:
            self._oppose(key)
        if newest is not None and (stamp - newest > self._lag or self.watch.doubt is not None):
            held = self.watch.holds(key, stamp, payload, newest)
            self._look_closely()
            if held:
                return True
        self._accept(key, stamp, payload, counters)
        return True

    def _accept(
        self, key: str, stamp: int, payload: tuple[Any, ...], counters: StreamCounters
    ) -> None:
        watermark = self.watermark
        if watermark is not None and stamp <= watermark:
            if stamp == counters.last_stamp:
                counters.duplicate += 1
                return
            assert self.newest is not None
            step = counters.note_late(stamp, self.newest)
            if step is not None:
                self.watch.note(key, step)
            return
        if counters.late_run and self.newest is not None:
            back = self.watch.common_step_back(key, self.newest)
            counters.on_time()
            if back is not None:
                self.begin_anew((stamp, EPOCH, (back,)))
                watermark = None
        if counters.newest is None or stamp > counters.newest:
            counters.newest = stamp
        elif stamp < counters.newest:
            counters.reordered += 1
        heapq.heappush(self.heap, (stamp, key, payload))
        if self.newest is None or stamp > self.newest:
            self.newest = stamp
            if not self._in_order:
                reached = stamp - self._lag
                if watermark is None or reached > watermark:
                    self.watermark = reached
        if self._in_order:
            self._move_watermark()

    def _move_watermark(self) -> None:
        """Nothing older can come from a sensor that keeps its order: when all of them have passed
        a stamp there is no need to wait for the lag.
        """
        assert self.newest is not None
        reached = self.newest - self._lag
        oldest = self.newest
        for counters in self.counters.values():
            if counters.newest is None:
                oldest = reached
                break
            oldest = min(oldest, counters.newest)
        # One below: equal stamps of another sensor may still be on their way.
        reached = max(reached, oldest - 1)
        if self.watermark is None or reached > self.watermark:
            self.watermark = reached

    def drain(self) -> Iterator[Item]:
        """All samples up to the watermark in order (stamp, key, payload).

        An item with the key EPOCH says that the samples after it belong to another time; its
        stamp is the first of them and its payload tells by how much the time moved.
        """
        while self.ready:
            yield self.ready.popleft()
        heap = self.heap
        watermark = self.watermark
        pop, all_counters = heapq.heappop, self.counters
        while heap and watermark is not None and heap[0][0] <= watermark:
            item = pop(heap)
            counters = all_counters[item[1]]
            if item[0] == counters.last_stamp:
                counters.duplicate += 1
                continue
            if counters.began is None:
                counters.began, counters.before = item[0], counters.delivered
            counters.last_stamp = item[0]
            counters.delivered += 1
            yield item

    def takes(self, key: str, stamp: int) -> bool:
        """Whether the last sample of a stream was one of the present time, not kept out."""
        if self.newest is None or abs(stamp - self.newest) > self._max_step:
            return False
        doubt = self.watch.doubt
        return doubt is None or key not in doubt.members

    def waiting(self) -> Counter[str]:
        """Samples by stream that are neither handed on nor counted as anything else yet."""
        held = [*self.heap, *self.ready]
        for cluster in self._clusters:
            held += cluster.samples
        if self.watch.doubt is not None:
            held += self.watch.doubt.samples
        return Counter(key for _, key, _ in held if key in self.counters)  # no markers

    def offset_of(self, key: str) -> float | None:
        """How far (seconds) a stream that is set aside is off the others; None if it is not."""
        for cluster in self._clusters:
            if key in cluster.members and self.newest is not None:
                return (cluster.newest - self.newest) / NANOSECONDS
        return None

    # Clock jumps --------------------------------------------------------------------------------

    def _set_aside(
        self, key: str, stamp: int, payload: tuple[Any, ...], counters: StreamCounters
    ) -> None:
        cluster = self._cluster_of(key, stamp, counters)
        cluster.samples.append((stamp, key, payload))
        cluster.members.add(key)
        cluster.newest = max(cluster.newest, stamp)
        for other in self._clusters:
            if other is not cluster:
                other.members.discard(key)
        oldest_kept = cluster.newest - 2 * self.options.confirm
        while cluster.samples[0][0] < oldest_kept:
            self.counters[cluster.samples.popleft()[1]].invalid += 1
        if cluster.newest - cluster.samples[0][0] >= self.options.confirm:
            against = sum(
                1 for at in cluster.opposed.values() if cluster.newest - at < self.options.confirm
            )
            if len(cluster.members) > against:
                self._move_to(cluster)

    def _cluster_of(self, key: str, stamp: int, counters: StreamCounters) -> Cluster:
        for cluster in self._clusters:
            if abs(stamp - cluster.newest) <= self.options.max_step:
                if key not in cluster.members:
                    self._count_jump(stamp, counters)
                return cluster
        self._count_jump(stamp, counters)
        if len(self._clusters) >= self.options.max_clusters:
            self._dissolve(self._clusters.pop(0))
        cluster = Cluster(newest=stamp)
        self._clusters.append(cluster)
        self._look_closely()
        return cluster

    def _count_jump(self, stamp: int, counters: StreamCounters) -> None:
        """A step forward of less than `max_pause` may as well be a pause: it is not counted."""
        assert self.newest is not None
        step = stamp - self.newest
        if step < 0 or step > self.options.max_pause:
            counters.clock_jumps += 1

    def _oppose(self, key: str) -> None:
        """A sample at the present time speaks against every other time."""
        for cluster in list(self._clusters):
            if key in cluster.members:
                cluster.members.discard(key)
                if not cluster.members:
                    # All its sensors have come back: it was a glitch.
                    self._clusters.remove(cluster)
                    self._dissolve(cluster)
                    self._look_closely()
                    continue
            cluster.opposed[key] = cluster.newest

    def _dissolve(self, cluster: Cluster) -> None:
        for _, key, _ in cluster.samples:
            self.counters[key].invalid += 1

    def _move_to(self, cluster: Cluster) -> None:
        """Hand on everything of the old time, then start anew at the cluster's."""
        assert self.newest is not None
        first = min(item[0] for item in cluster.samples)
        step = first - self.newest
        self._clusters.remove(cluster)
        self.begin_anew((first, EPOCH, (step,)))
        for stamp, key, payload in sorted(cluster.samples):
            self._accept(key, stamp, payload, self.counters[key])

    def begin_anew(self, marker: Item) -> None:
        """Hand on everything that waits, then a marker; the next sample says what time it is."""
        self.watermark = self.newest
        self.ready.extend(list(self.drain()))
        self.ready.append(marker)
        # Clusters are measured against the time they oppose, which is gone.
        for other in self._clusters:
            self._dissolve(other)
        self._clusters.clear()
        self.watch.end(release=False)
        self._look_closely()
        self.newest = self.watermark = None
        self.epochs += 1
        for counters in self.counters.values():
            counters.start_anew()
