// The view of the recording as a whole: what lived over time, and its sums.

function timelineView() {
  const curve = data.curve;
  const total = data.statistics.total;
  const marks = indices(generations.count - 1).map((at) => ({ time: data.generations.time_ns[at], name: generations.name(at) }));
  const end = Math.max(data.head.end_ns, curve.time_ns[curve.time_ns.length - 1] || 0);
  const say = (at) => `from ${moment(curve.time_ns[at])}: ${bytes(curve.bytes[at])} in ${things(curve.count[at], 'object')}, `
    + `at most ${bytes(curve.most_bytes[at])}, ${things(curve.most_count[at], 'object')}`;
  const shared = { end, marks, say };
  return make('div', {},
    make('dl', { class: 'figures' },
      figure('Living', bytes(tally.persistentBytes(total, 0)), things(tally.persistentCount(total, 0), 'object')),
      figure(curve.note ? 'Peak of what was kept' : 'Peak', bytes(curve.peak.bytes), `${things(curve.peak.count, 'object')} at ${seconds(curve.peak.time_ns)}`),
      figure('Destroyed', bytes(tally.transientBytes(total, 0)), things(tally.transientCount(total, 0), 'object')),
      figure('Total', bytes(tally.totalBytes(total, 0)), things(tally.totalCount(total, 0), 'object')),
      figure('Events', count(data.head.events), `${count(data.head.lost)} lost`)),
    make('p', { class: 'note' }, curve.time_ns.length === 0 ? 'Nothing was recorded.' : `Each step is ${moment(curve.width_ns)}: the line is what lived at its end, the shade the most within it.`,
      curve.note ? ` Note: ${curve.note}.` : ''),
    makeChart({
      ...shared, label: 'Living bytes', height: 260, format: bytes, isBytes: true,
      series: [{ className: 'first', times: curve.time_ns, values: curve.bytes, ceiling: curve.most_bytes, step: curve.width_ns, area: true }],
    }),
    makeChart({
      ...shared, label: 'Living objects', height: 180, format: count,
      series: [{ className: 'second', times: curve.time_ns, values: curve.count, ceiling: curve.most_count, step: curve.width_ns, area: true }],
    }));
}
