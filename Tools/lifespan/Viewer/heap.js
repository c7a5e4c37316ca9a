// The view of a picture of the heap: what is leaked, what is abandoned, and who holds the types that live.

function heapView() {
  const heap = data.heap;
  const own = heap.leaks.filter((leak) => !leak.toolchain);
  const toolchain = heap.leaks.filter((leak) => leak.toolchain);
  const heads = heap.abandoned.filter((type) => type.role === 'head');
  const others = heap.abandoned.filter((type) => type.role !== 'head');
  const sum = (leaks) => `${things(leaks.reduce((all, leak) => all + leak.instances, 0), 'leak')}: `
    + `${things(leaks.reduce((all, leak) => all + leak.count, 0), 'object or block', 'objects and blocks')}, ${bytes(leaks.reduce((all, leak) => all + leak.bytes, 0))}`;
  const pieces = [make('p', { class: 'sums' }, heap.picture), ...heap.notes.map((note) => make('p', { class: 'warning' }, note))];

  pieces.push(make('h2', {}, 'Leaked'));
  if (heap.leaks_withheld) pieces.push(make('p', { class: 'warning' }, `No leaks can be told: ${heap.leaks_withheld}`));
  else pieces.push(make('p', { class: 'sums leaked' }, own.length > 0 ? sum(own) : 'no leaks'));
  pieces.push(make('div', { class: 'stacks' }, ...own.map(leakItem)));
  if (toolchain.length > 0) pieces.push(make('p', { class: 'sums' }, `${sum(toolchain)} of the toolchain’s own libraries`), make('div', { class: 'stacks' }, ...toolchain.map(leakItem)));

  pieces.push(make('h2', {}, 'Abandoned'));
  if (heap.abandoned_withheld) pieces.push(make('p', { class: 'note' }, `Nothing is called abandoned: ${heap.abandoned_withheld}`));
  else pieces.push(make('p', { class: 'sums abandoned' }, heads.length > 0
    ? `${things(heads.reduce((all, type) => all + type.count, 0), 'object')}, which grow in every generation` : 'nothing is abandoned'));
  pieces.push(make('div', { class: 'stacks' }, ...heads.map(abandonedItem)));
  if (others.length > 0) {
    pieces.push(make('p', { class: 'sums' }, 'Below them, held by nothing else, or growing along:'), make('ul', { class: 'plain-list' },
      ...others.slice(0, 20).map((type) => make('li', {}, `${count(type.count)} × `, given(types.name(type.type)), `, ${bytes(type.bytes)}`)),
      others.length > 20 ? make('li', {}, `… ${things(others.length - 20, 'more type')}`) : null));
  }

  pieces.push(make('h2', {}, 'Holders'));
  pieces.push(make('p', { class: 'note' }, heap.holders.length > 0
    ? `Who holds the program’s types that have the most living bytes (${things(heap.holders.length, 'type')}); lifespan holders tells of any other.`
    : 'Nothing of the program’s own types lived in the picture.'));
  pieces.push(make('div', { class: 'stacks' }, ...heap.holders.map(holdersItem)));
  return make('div', { class: 'heap' }, ...pieces);
}

function lazily(summary, body) {
  const item = make('details', {}, make('summary', {}, ...summary));
  item.addEventListener('toggle', () => { if (item.open && item.children.length === 1) item.append(...body()); });
  return item;
}

/** A way from a root, a line a step. */
function pathList(lines) { return make('ol', { class: 'frames path' }, ...lines.map((line) => make('li', {}, given(line)))); }

function leakItem(leak) {
  return lazily([given(leak.title), make('span', { class: 'amount' }, ` ${things(leak.count, 'object')}, ${bytes(leak.bytes)}`)], () => [
    make('p', { class: 'note' }, `fingerprint ${leak.fingerprint}; ${leak.examples.join(' ')}`, leak.reason ? `; ${leak.reason}` : ''),
    ...(leak.cycle.length > 0 ? [make('h4', {}, `Cycle of ${things(leak.cycle_length, 'object')}`), pathList(leak.cycle)] : []),
    ...(leak.row_type.length > 1 ? [make('h4', {}, 'All of it'), make('ul', { class: 'plain-list' }, ...leak.row_type.map((type, at) =>
      make('li', {}, `${count(leak.row_count[at])} × `, given(types.name(type)), `, ${bytes(leak.row_bytes[at])}`)))] : []),
    make('h4', {}, 'Allocated by'), frameList(leak.stack)]);
}

function abandonedItem(type) {
  const grown = type.per_generation.slice(0, -1).map(count).join(' ');
  return lazily([`${count(type.count)} × `, given(types.name(type.type)), make('span', { class: 'amount' }, ` ${bytes(type.bytes)}, retaining ${bytes(type.retained)}`)], () => [
    make('p', { class: 'note' }, `living by generation: ${grown}; ${count(type.per_generation[type.per_generation.length - 1])} since the last mark`),
    make('h4', {}, 'Held by'), pathList(type.path), make('h4', {}, 'The newest was allocated by'), frameList(type.stack)]);
}

function holdersItem(one) {
  const direct = one.direct.map((holder) => make('li', {}, `${count(holder.count)} × `, given(holder.text), holder.holds ? '' : ' (does not keep it alive)'));
  if (one.direct_count > one.direct.length) direct.push(make('li', {}, `… ${things(one.direct_count - one.direct.length, 'more holder')}`));
  return lazily([`${count(one.count)} × `, given(types.name(one.type)), make('span', { class: 'amount' }, ` ${bytes(one.bytes)}, retaining ${bytes(one.retained)}`)], () => [
    one.unreachable > 0 ? make('p', { class: 'note' }, `${count(one.unreachable)} of them no root reaches: leaked`) : '',
    one.maybe_only > 0 ? make('p', { class: 'note' }, `${count(one.maybe_only)} of them only a word of a stack or a register reaches, which may be a left-over`) : '',
    make('h4', {}, 'Held directly by'), make('ul', { class: 'plain-list' }, ...direct, ...one.roots.map((root) => make('li', {}, given(root))),
      direct.length + one.roots.length === 0 ? make('li', {}, 'nothing') : null),
    make('h4', {}, 'Path from a root'), one.path.length > 0 ? pathList(one.path) : make('p', { class: 'note' }, 'none')]);
}
