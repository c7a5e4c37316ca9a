// The view of resident memory against what lives: where the two part, freed memory is held by the allocator.

function memoryView() {
  const samples = data.resident;
  if (!samples) return make('p', { class: 'note' }, 'Resident memory was not sampled in this recording.');
  const knowsHeap = samples.whole_heap && samples.heap.every((value) => value >= 0);
  const last = samples.time_ns.length - 1;
  const end = Math.max(data.head.end_ns, samples.time_ns[last]);
  const living = samples.whole_heap ? samples.living_footprint : samples.living_bytes;
  const series = [{ className: 'third', times: samples.time_ns, values: samples.resident }];
  if (knowsHeap) series.push({ className: 'second', times: samples.time_ns, values: samples.heap });
  series.push({ className: 'first', times: samples.time_ns, values: living, area: true });
  const say = (at) => `at ${moment(samples.time_ns[at])}: resident ${bytes(samples.resident[at])}, `
    + (knowsHeap ? `the heap's pages ${bytes(samples.heap[at])}, ` : '') + `living ${bytes(samples.living_bytes[at])} in ${things(samples.living_count[at], 'block')}`;
  const key = (className, words) => make('span', { class: `key ${className}` }, words);
  return make('div', {},
    make('dl', { class: 'figures' },
      figure('Resident', bytes(samples.resident[last]), 'with the recorder’s own memory'),
      knowsHeap ? figure('The heap’s pages', bytes(samples.heap[last]), 'in which blocks have lain') : null,
      figure('Living', bytes(samples.living_bytes[last]), things(samples.living_count[last], 'recorded block')),
      knowsHeap ? figure('Held, free', bytes(Math.max(0, samples.heap[last] - samples.living_footprint[last])), 'by the allocator') : null),
    ...samples.text.map((sentence) => make('p', { class: 'warning' }, sentence)),
    samples.text.length === 0 && samples.whole_heap ? make('p', { class: 'note' }, 'Nothing to warn of: the heap’s pages hold less than 32 MiB free, or a small part of them.') : null,
    samples.whole_heap ? null : make('p', { class: 'note' }, 'Not all blocks were recorded: what lives is a part of the heap and not to be compared with the rest.'),
    make('p', { class: 'keys' }, key('third', 'resident'), knowsHeap ? key('second', 'the heap’s pages') : null,
      key('first', samples.whole_heap ? 'living, as the allocator hands it out' : 'living')),
    makeChart({
      label: 'Resident memory and what lives', height: 320, end, series, format: bytes, isBytes: true, say,
      marks: indices(generations.count - 1).map((at) => ({ time: data.generations.time_ns[at], name: generations.name(at) })),
    }),
    make('p', { class: 'note' }, `${things(samples.time_ns.length, 'sample')}.`));
}
