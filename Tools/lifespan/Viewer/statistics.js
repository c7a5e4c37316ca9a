// The view of all types: filter by lifespan and name, sort, and down to the stacks that allocated one.

function statisticsView() {
  const table = data.statistics;
  let lifespan = 'living';
  let pattern = '';
  const state = make('span', { class: 'state', role: 'status' });
  const sums = make('p', { class: 'sums' });
  const details = make('section', { class: 'details', 'aria-label': 'the chosen type' },
    make('p', { class: 'note' }, 'Choose a type to see who allocated it.'));
  let chosen = null;

  const number = (key, title, value, format, hint) => ({ key, title, hint, width: '5.6rem', number: true, value: (row) => value(table, row), text: (row) => format(value(table, row)) });
  const grid = makeTable({
    label: 'Types', sort: { key: 'persistent_bytes', down: true },
    columns: [
      number('persistent_count', '# Persistent', tally.persistentCount, count, 'objects that live'),
      number('persistent_bytes', 'Persistent', tally.persistentBytes, bytes, 'bytes not yet freed'),
      number('transient_count', '# Transient', tally.transientCount, count, 'objects that were destroyed'),
      number('total_count', '# Total', tally.totalCount, count, 'all objects that were made'),
      number('total_bytes', 'Total bytes', tally.totalBytes, bytes, 'all bytes that were allocated'),
      { key: 'type', title: 'Type', name: true, value: (row) => types.name(table.type[row]), text: (row) => types.name(table.type[row]) },
    ],
    onSelect: (row) => { chosen = row; showType(row); },
  });

  function update() {
    const matches = searcher(pattern);
    const kept = indices(table.type.length).filter((row) => tally.keeps(table, row, lifespan));
    const rows = kept.filter((row) => matches(types.name(table.type[row])));
    grid.setRows(rows);
    const heap = rows.filter((row) => types.isOnHeap(table.type[row]));
    const sum = (value) => heap.reduce((all, row) => all + value(table, row), 0);
    state.textContent = rows.length === kept.length ? things(rows.length, 'type') : `${count(rows.length)} of ${things(kept.length, 'type')}`;
    const all = table.total;
    sums.textContent = pattern.trim() === ''
      ? `all heap: ${things(tally.persistentCount(all, 0), 'object')} living, ${bytes(tally.persistentBytes(all, 0))}; `
        + `${things(tally.transientCount(all, 0), 'object')} destroyed; ${bytes(tally.totalBytes(all, 0))} allocated in all`
      : `these: ${things(sum(tally.persistentCount), 'object')} living, ${bytes(sum(tally.persistentBytes))}; `
        + `${things(sum(tally.transientCount), 'object')} destroyed; ${bytes(sum(tally.totalBytes))} allocated in all`;
    if (chosen != null) showType(chosen);
  }

  function showType(row) {
    const type = table.type[row];
    const kept = tally.keptCount(table, row);
    const rows = indices(data.sites.type.length).filter((site) => data.sites.type[site] === type);
    details.replaceChildren(
      make('h3', {}, given(types.name(type))),
      make('p', { class: 'note' }, [types.kind(type), types.module(type) ? `module ${types.module(type)}` : ''].filter(Boolean).join(', '),
        kept > 0 ? `; ${things(kept, 'deinited object')} still hold ${bytes(tally.keptBytes(table, row))} (unowned references)` : ''),
      make('h4', {}, `Allocated by (${lifespans.find(([value]) => value === lifespan)[1].toLowerCase()})`),
      stackList(rows, lifespan));
  }

  const view = make('div', { class: 'fill' },
    make('div', { class: 'bar' },
      segments('Lifespan', lifespans, lifespan, (value) => { lifespan = value; update(); }),
      searchField('Search types', (value) => { pattern = value; update(); }), state),
    sums, make('div', { class: 'split' }, grid.element, details));
  update();
  return view;
}
