// The view of threads: when each was made, by whom, and what it runs.

function threadsView() {
  const table = data.threads;
  const name = (row) => text(table.name[row]) || '–';
  const details = make('section', { class: 'details', 'aria-label': 'the chosen thread' }, make('p', { class: 'note' }, 'Choose a thread to see where it was made.'));
  const time = (key, title) => ({ key, title, width: '6.4rem', number: true, down: false, value: (row) => table[key][row], text: (row) => table[key][row] < 0 ? '–' : moment(table[key][row]) });
  const words = (key, title) => ({ key, title, name: true, value: (row) => text(table[key][row]), text: (row) => text(table[key][row]) || '–' });
  const grid = makeTable({
    label: 'Threads', empty: 'no thread was seen',
    columns: [
      { key: 'thread', title: '#', width: '3rem', number: true, down: false, value: (row) => table.thread[row], text: (row) => count(table.thread[row]) },
      { key: 'name', title: 'Name', name: true, value: name, text: name },
      { key: 'state', title: 'State', width: '4rem', value: (row) => text(table.state[row]), text: (row) => text(table.state[row]) },
      time('born_ns', 'Born'), time('ended_ns', 'Ended'),
      { key: 'events', title: '# Events', width: '5rem', number: true, value: (row) => table.events[row], text: (row) => count(table.events[row]) },
      words('start', 'Runs'),
    ],
    onSelect: (row) => details.replaceChildren(
      make('h3', {}, `Thread ${table.thread[row]} `, given(name(row))),
      make('p', { class: 'note' }, `age ${moment(table.age_ns[row])}`, table.stack_bytes[row] >= 0 ? `, ${bytes(table.stack_bytes[row])} of address space for its stack` : '',
        table.tid[row] ? `, tid ${table.tid[row]}` : ''),
      make('h4', {}, table.creator[row] > 0 ? `Made by thread ${table.creator[row]}` : 'Who made it is not known'),
      table.stack[row] >= 0 ? frameList(table.stack[row]) : ''),
  });
  grid.setRows(indices(table.thread.length));
  const living = indices(table.thread.length).filter((row) => text(table.state[row]) === 'living').length;
  return make('div', { class: 'fill' },
    make('p', { class: 'sums' }, `${things(table.thread.length, 'thread')}: ${count(living)} living, ${count(table.thread.length - living)} ended at the end`),
    ...table.remarks.map((remark) => make('p', { class: 'note' }, remark)), make('div', { class: 'split' }, grid.element, details));
}
