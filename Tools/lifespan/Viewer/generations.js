// The view of generations: what is left of each, down to its types and to the stacks that allocated them.

function generationsView() {
  const all = data.generations;
  let lifespan = 'living';
  let chosen = null;
  let type = null;

  const number = (key, title, value, format, hint) => ({ key, title, hint, width: '5.6rem', number: true, value: (row) => value(all, row), text: (row) => format(value(all, row)) });
  const list = makeTable({
    label: 'Generations',
    columns: [
      { key: 'time_ns', title: 'Mark set', width: '6.4rem', number: true, down: false, value: (row) => generations.isOpen(row) ? Infinity : all.time_ns[row], text: (row) => generations.isOpen(row) ? '–' : moment(all.time_ns[row]) },
      number('growth_bytes', 'Growth', tally.persistentBytes, bytes, 'bytes of its objects that are not freed at the end'),
      number('persistent_count', '# Persistent', tally.persistentCount, count, 'its objects that live at the end'),
      number('transient_count', '# Transient', tally.transientCount, count, 'its objects that were destroyed'),
      number('transient_bytes', 'Transient', tally.transientBytes, bytes),
      { key: 'name', title: 'Generation', name: true, value: generations.name, text: generations.title },
    ],
    onSelect: (row) => { chosen = row; type = null; showGeneration(); },
  });
  const below = make('section', { class: 'below', 'aria-label': 'the chosen generation' });
  const details = make('section', { class: 'details', 'aria-label': 'the chosen type of the generation' });
  const title = make('h3', {});
  const hint = make('p', { class: 'note' }, 'Choose a generation to see its types, then a type to see who allocated it.');
  let rows = [];
  const one = (key, head, value, format) => ({ key, title: head, width: '5.6rem', number: true, value: (row) => value(all.rows[chosen], row), text: (row) => format(value(all.rows[chosen], row)) });
  const typeName = (row) => types.name(all.rows[chosen].type[row]);
  const table = makeTable({
    label: 'Types of the generation', sort: { key: 'growth_bytes', down: true }, empty: 'nothing of this generation passes the filter',
    columns: [
      one('persistent_count', '# Persistent', tally.persistentCount, count), one('growth_bytes', 'Growth', tally.persistentBytes, bytes),
      one('transient_count', '# Transient', tally.transientCount, count),
      { key: 'kind', title: 'Kind', width: '5rem', value: (row) => types.kind(all.rows[chosen].type[row]), text: (row) => types.kind(all.rows[chosen].type[row]) },
      { key: 'type', title: 'Type', name: true, value: typeName, text: typeName },
    ],
    onSelect: (row) => { type = all.rows[chosen].type[row]; showType(); },
  });

  function showGeneration() {
    hint.hidden = true;
    const of = all.rows[chosen];
    rows = indices(of.type.length).filter((row) => tally.keeps(of, row, lifespan));
    title.replaceChildren(generations.isOpen(chosen) ? 'After the last mark' : 'Generation ', generations.isOpen(chosen) ? '' : given(generations.name(chosen)),
      `: ${things(tally.persistentCount(all, chosen), 'object')} left, ${bytes(tally.persistentBytes(all, chosen))}`);
    table.setRows(rows);
    if (!below.firstChild) below.append(title, make('div', { class: 'split' }, table.element, details));
    if (type != null && rows.some((row) => of.type[row] === type)) showType();
    else details.replaceChildren(make('p', { class: 'note' }, 'Choose a type to see who allocated it.'));
  }

  function showType() {
    const sites = indices(data.sites.type.length).filter((site) => data.sites.type[site] === type && data.sites.generation[site] === chosen);
    details.replaceChildren(make('h3', {}, given(types.name(type))), make('h4', {}, `Allocated in this generation by (${lifespan})`), stackList(sites, lifespan));
  }

  list.setRows(indices(generations.count));
  list.element.classList.add('short');
  const view = make('div', { class: 'fill' },
    make('div', { class: 'bar' },
      segments('Lifespan', lifespans, lifespan, (value) => { lifespan = value; if (chosen != null) showGeneration(); }),
      make('span', { class: 'state' }, `${things(generations.count - 1, 'mark')}; what each generation still holds at the end`)),
    list.element, hint, below);
  return view;
}
