// The recording's data, as PageReport writes it: columns, and tables of what they refer to by number.

const data = JSON.parse(document.getElementById('data').textContent);

/** Columns that hold differences: summed up in place. */
function rise(column) {
  for (let at = 1; at < column.length; at++) column[at] += column[at - 1];
  return column;
}
rise(data.curve.time_ns);
if (data.resident) rise(data.resident.time_ns);

function text(number) { return number < 0 ? '' : data.texts[number]; }

const types = {
  name: (type) => text(data.types.name[type]),
  kind: (type) => text(data.types.kind[type]),
  module: (type) => text(data.types.module[type]),
  isOnHeap: (type) => data.types.heap[type] === 1,
};

const lifespans = [
  ['living', 'Living', 'Created & Still Living'],
  ['destroyed', 'Destroyed', 'Created & Destroyed'],
  ['all', 'All', 'All Objects Created'],
];

/** Objects and bytes of a row of a table of counts. */
const tally = {
  persistentCount: (table, at) => table.persistent_count[at],
  persistentBytes: (table, at) => table.persistent_bytes[at],
  transientCount: (table, at) => table.transient_count[at],
  transientBytes: (table, at) => table.transient_bytes[at],
  totalCount: (table, at) => table.persistent_count[at] + table.transient_count[at],
  totalBytes: (table, at) => table.persistent_bytes[at] + table.transient_bytes[at],
  keptCount: (table, at) => table.kept_count ? table.kept_count[at] : 0,
  keptBytes: (table, at) => table.kept_bytes ? table.kept_bytes[at] : 0,
  /** Whether a lifespan filter leaves the row: LifespanFilter.keeps. */
  keeps(table, at, lifespan) {
    if (lifespan === 'living') return table.persistent_count[at] > 0 || table.persistent_bytes[at] !== 0;
    if (lifespan === 'destroyed') return table.transient_count[at] > 0;
    return tally.totalCount(table, at) > 0 || tally.totalBytes(table, at) !== 0;
  },
  /** What a lifespan filter means: Tally.weight. */
  count(table, at, lifespan) {
    return lifespan === 'living' ? table.persistent_count[at] : lifespan === 'destroyed' ? table.transient_count[at] : tally.totalCount(table, at);
  },
  bytes(table, at, lifespan) {
    return lifespan === 'living' ? table.persistent_bytes[at] : lifespan === 'destroyed' ? table.transient_bytes[at] : tally.totalBytes(table, at);
  },
};

function indices(length) { return Array.from({ length }, (_, at) => at); }

const generations = {
  count: data.generations.name.length,
  isOpen: (at) => at === data.generations.name.length - 1,
  name: (at) => text(data.generations.name[at]),
  title: (at) => generations.isOpen(at) ? `${generations.name(at)} (open)` : generations.name(at),
};

const frames = {
  function: (frame) => text(data.frames.function[frame]),
  module: (frame) => text(data.frames.module[frame]),
  isOwn: (frame) => data.frames.own[frame] === 1,
  isInlined: (frame) => data.frames.inlined[frame] === 1,
  /** `File.swift:12`, or the offset in the function; empty where neither is known. */
  place(frame) {
    const file = data.frames.file[frame];
    if (file >= 0 && data.frames.line[frame] > 0) return `${text(file).split('/').pop()}:${data.frames.line[frame]}`;
    return data.frames.offset[frame] >= 0 ? `+ ${data.frames.offset[frame]}` : '';
  },
};

/** The frames of a stack, from the innermost. */
function framesOf(stack) {
  const found = [];
  for (let node = data.stacks.leaf[stack]; node >= 0; node = data.nodes.parent[node]) found.push(data.nodes.frame[node]);
  return found;
}

function endingOf(stack) { return text(data.stacks.ending[stack]); }
