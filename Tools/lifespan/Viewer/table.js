// A table of any length: only the rows that can be seen are there. Sorted by its heads, walked with the arrow keys.

const rowHeight = 26;

/**
 * `columns`: { key, title, width (CSS; left out: what is left), number, value(row), text(row), name, down }.
 * Returns { element, setRows, select, rows }.
 */
function makeTable({ label, columns, sort, empty, onSelect }) {
  const id = uniqueID('table');
  let rows = [];
  let order = sort || null;
  let active = 0;
  let selected = null;
  let waiting = 0;

  const template = columns.map((column) => column.width || 'minmax(5rem, 1fr)').join(' ');
  const heads = columns.map((column) => make('span', { role: 'columnheader', class: column.number ? 'number' : '' },
    make('button', { type: 'button', tabindex: '-1', title: column.hint || `sort by ${column.title}`, onclick: () => sortBy(column.key) }, column.title)));
  const head = make('div', { role: 'row', class: 'head', 'aria-rowindex': '1' }, ...heads);
  const body = make('div', { role: 'rowgroup', class: 'body' });
  const nothing = make('p', { class: 'nothing', hidden: true }, empty || 'nothing passes the filters');
  const element = make('div', {
    class: 'table', role: 'grid', tabindex: '0', 'aria-label': label, 'aria-colcount': columns.length,
    onkeydown: keyPressed, onscroll: renderSoon,
  }, head, body, nothing);
  element.style.setProperty('--columns', template);
  body.style.position = 'relative';
  new ResizeObserver(renderSoon).observe(element);

  function setRows(next) {
    rows = next.slice();
    active = 0;
    arrange();
    element.scrollTop = 0;
    if (selected != null) active = Math.max(0, rows.indexOf(selected));
    render();
  }

  function arrange() {
    columns.forEach((column, at) => {
      const direction = order && order.key === column.key ? (order.down ? 'descending' : 'ascending') : 'none';
      heads[at].setAttribute('aria-sort', direction);
    });
    const column = order && columns.find((one) => one.key === order.key);
    if (column) {
      const value = column.value;
      const sign = order.down ? -1 : 1;
      rows.sort((one, other) => {
        const left = value(one);
        const right = value(other);
        return left < right ? -sign : left > right ? sign : one - other;
      });
    }
    element.setAttribute('aria-rowcount', rows.length + 1);
    body.style.height = `${rows.length * rowHeight}px`;
    nothing.hidden = rows.length > 0;
  }

  /** Numbers begin with the largest; a second time the other way round. */
  function sortBy(key) {
    const column = columns.find((one) => one.key === key);
    const first = column.down ?? !!column.number;
    order = { key, down: order && order.key === key ? !order.down : first };
    arrange();
    active = selected == null ? 0 : Math.max(0, rows.indexOf(selected));
    element.scrollTop = 0;
    render();
  }

  function renderSoon() {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(render);
  }

  function render() {
    const top = element.scrollTop;
    const height = element.clientHeight || 400;
    const first = Math.max(0, Math.floor(top / rowHeight) - 6);
    const end = Math.min(rows.length, Math.ceil((top + height) / rowHeight) + 6);
    const shown = [];
    for (let at = first; at < end; at++) shown.push(line(at));
    body.replaceChildren(...shown);
    if (active < rows.length) element.setAttribute('aria-activedescendant', `${id}-${active}`);
    else element.removeAttribute('aria-activedescendant');
  }

  function line(at) {
    const row = rows[at];
    const cells = columns.map((column) => make('span', { role: 'gridcell', class: column.number ? 'number' : '' },
      column.name ? given(column.text(row)) : column.text(row)));
    const made = make('div', {
      role: 'row', id: `${id}-${at}`, class: at % 2 ? 'row odd' : 'row', 'aria-rowindex': at + 2,
      'aria-selected': row === selected ? 'true' : 'false', onclick: () => { active = at; choose(row); },
    }, ...cells);
    if (at === active) made.classList.add('active');
    made.style.top = `${at * rowHeight}px`;
    return made;
  }

  function choose(row) {
    selected = row;
    render();
    if (onSelect) onSelect(row);
  }

  /** Chooses a row as a reader would, where it is in the table. */
  function select(row) {
    const at = rows.indexOf(row);
    if (at < 0) return false;
    walk(at);
    choose(row);
    return true;
  }

  function walk(to) {
    active = Math.min(Math.max(0, to), Math.max(0, rows.length - 1));
    const top = active * rowHeight;
    const room = element.clientHeight - head.offsetHeight - rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top > element.scrollTop + room) element.scrollTop = top - room;
    render();
  }

  function keyPressed(event) {
    const page = Math.max(1, Math.floor(element.clientHeight / rowHeight) - 2);
    const steps = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: rows.length - 1 };
    if (event.key in steps) walk(steps[event.key]);
    else if ((event.key === 'Enter' || event.key === ' ') && active < rows.length && event.target === element) choose(rows[active]);
    else if (event.key === 's' && !event.ctrlKey && !event.metaKey && !event.altKey) nextOrder();
    else return;
    event.preventDefault();
  }

  /** `s`: by the next column. */
  function nextOrder() {
    const at = columns.findIndex((column) => order && column.key === order.key);
    sortBy(columns[(at + 1) % columns.length].key);
  }

  return { element, setRows, select, rows: () => rows };
}
