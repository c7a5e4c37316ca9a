// The view of single objects: where each was made, what happened to it. Says how many there are of which not all are here.

/** The events of an object after its birth: their places in `data.histories`. */
const historyOf = (() => {
  let places = null;
  return (object) => {
    if (!places) {
      places = new Map();
      data.histories.object.forEach((one, at) => { if (places.has(one)) places.get(one).push(at); else places.set(one, [at]); });
    }
    return places.get(object) || [];
  };
})();

function objectsView() {
  const table = data.objects;
  if (!table) return make('p', { class: 'note' }, 'This page was made without single objects (lifespan report --objects 0).');
  rise(table.serial);
  rise(table.born_ns);
  let lifespan = 'living';
  let generation = -1;
  let pattern = '';
  const state = make('span', { class: 'state', role: 'status' });
  const details = make('section', { class: 'details', 'aria-label': 'the chosen object' }, make('p', { class: 'note' }, 'Choose an object to see its history.'));
  const typeName = (row) => types.name(table.type[row]);
  const isLiving = (row) => table.died_ns[row] < 0;
  const time = (key, title, width) => ({ key, title, width, number: true, down: false, value: (row) => table[key][row], text: (row) => table[key][row] < 0 ? '–' : moment(table[key][row]) });
  const grid = makeTable({
    label: 'Objects', empty: 'no object passes the filters',
    columns: [
      { key: 'serial', title: 'Serial', width: '4.8rem', number: true, down: false, value: (row) => table.serial[row], text: (row) => `@${table.serial[row]}` },
      { key: 'size', title: 'Size', width: '4.6rem', number: true, value: (row) => table.size[row], text: (row) => bytes(table.size[row]) },
      time('born_ns', 'Born', '5.6rem'), time('died_ns', 'Died', '5.6rem'),
      { ...time('age_ns', 'Age', '5.6rem'), down: true },
      { key: 'generation', title: 'Generation', width: '6rem', name: true, value: (row) => table.generation[row], text: (row) => generations.title(table.generation[row]) },
      { key: 'type', title: 'Type', name: true, value: typeName, text: typeName },
    ],
    onSelect: showObject,
  });

  function update() {
    const matches = searcher(pattern);
    // A name is looked at once, not once an object.
    const isWanted = data.types.name.map((_, type) => matches(types.name(type)));
    const rows = indices(table.serial.length).filter((row) => (lifespan === 'all' || (lifespan === 'living') === isLiving(row))
      && (generation < 0 || table.generation[row] === generation) && isWanted[table.type[row]]);
    grid.setRows(rows);
    state.textContent = things(rows.length, 'object');
  }

  function showObject(row) {
    const address = table.address[row];
    const facts = [text(table.state[row]), bytes(table.size[row]), address >= 0 ? `at 0x${address.toString(16)}` : '',
      `thread ${table.thread[row]}`, table.task[row] >= 0 ? `task ${table.task[row]}` : '',
      table.retain_count[row] >= 0 ? `strong count ${table.retain_count[row]}` : ''];
    const events = historyOf(row);
    details.replaceChildren(
      make('h3', {}, `@${table.serial[row]} `, given(typeName(row))),
      make('p', { class: 'note' }, facts.filter(Boolean).join(', '), `, generation `, given(generations.title(table.generation[row]))),
      make('h4', {}, 'History'));
    const list = make('div', { class: 'stacks history' });
    list.append(eventItem('birth', table.born_ns[row], table.thread[row], table.stack[row], '', true));
    for (const at of events) {
      const change = data.histories.change[at];
      const after = data.histories.count_after[at];
      const counted = [change === 0 ? '' : `${change > 0 ? '+' : ''}${change}`, after < 0 ? '' : `count ${after}`].filter(Boolean).join(', ');
      list.append(eventItem(text(data.histories.event[at]), data.histories.time_ns[at], data.histories.thread[at], data.histories.stack[at], counted, false));
    }
    const cut = data.histories.cut_object.indexOf(row);
    details.append(list);
    if (cut >= 0) details.append(make('p', { class: 'note' }, `… ${things(data.histories.cut_count[cut], 'more event')}: lifespan history @${table.serial[row]}`));
    if (!table.refcounts) details.append(make('p', { class: 'note' }, 'Retains and releases are here for types that were tracked (record --events refcounts: for all).'));
  }

  function eventItem(word, time, thread, stack, counted, isOpen) {
    const item = make('details', { open: isOpen }, make('summary', {}, make('strong', {}, word), make('span', { class: 'amount' }, ` ${moment(time)}, thread ${thread}${counted ? `, ${counted}` : ''}`)));
    const fillIn = () => { if (item.open && item.children.length === 1) item.append(frameList(stack)); };
    item.addEventListener('toggle', fillIn);
    fillIn();
    return item;
  }

  const shownLiving = table.died_ns.filter((time) => time < 0).length;
  const shownDestroyed = table.serial.length - shownLiving;
  const part = (shown, all, word, how) => shown === all ? `all ${things(all, `${word} object`)}` : `${count(shown)} of ${things(all, `${word} object`)}${how}`;
  const view = make('div', { class: 'fill' },
    make('div', { class: 'bar' },
      segments('Lifespan', lifespans, lifespan, (value) => { lifespan = value; update(); }),
      generations.count > 1 ? picker('Generation', [[-1, 'all'], ...indices(generations.count).map((at) => [at, generations.title(at)])], (value) => { generation = Number(value); update(); }) : null,
      searchField('Search types', (value) => { pattern = value; update(); }), state),
    make('p', { class: 'sums' }, `Here: ${part(shownLiving, table.living_count, 'living', table.newest_of_type == null ? '' : ` (of each type the newest ${count(table.newest_of_type)})`)}, `
      + `${part(shownDestroyed, table.destroyed_count, 'destroyed', ' (the first ones)')}.`,
      data.types.heap.includes(0) ? ' Threads, tokens and regions count as objects here.' : ''),
    make('div', { class: 'split' }, grid.element, details));
  update();
  return view;
}
