// The view of call trees: a flame graph of what stacks allocated. Wider is more; a click or Enter zooms in.

const flameRow = 22;
/** Narrower boxes are drawn together, as nobody can read or hit them. */
const flameLeast = 0.0008;

/** A tree of functions, each with what was allocated below it: by bytes, or by objects. */
function flameTree(rows, weight, isInverted) {
  const root = { name: 'all', module: '', own: false, value: 0, parent: null, children: new Map(), depth: 0 };
  const add = (node, key, name, module, own, value) => {
    let next = node.children.get(key);
    if (!next) {
      next = { name, module, own, value: 0, parent: node, children: new Map(), depth: node.depth + 1 };
      node.children.set(key, next);
    }
    next.value += value;
    return next;
  };
  // Rows of one stack first: most stacks have several types.
  const sums = new Map();
  for (const row of rows) sums.set(data.sites.stack[row], (sums.get(data.sites.stack[row]) || 0) + weight(row));
  for (const [stack, value] of sums) {
    if (value <= 0) continue;
    root.value += value;
    let node = root;
    const found = framesOf(stack);
    if (!isInverted) found.reverse();
    for (const frame of found) {
      node = add(node, data.frames.function[frame] * data.texts.length + data.frames.module[frame], frames.function(frame),
        frames.module(frame), frames.isOwn(frame), value);
    }
    if (found.length === 0) add(node, -1 - data.stacks.ending[stack], `(${endingOf(stack) || 'no stack was recorded'})`, '', false, value);
  }
  return root;
}

function largest(node) { return [...node.children.values()].sort((one, other) => other.value - one.value || (one.name < other.name ? -1 : 1)); }

function flameView() {
  let lifespan = 'living';
  let by = 'bytes';
  let generation = -1;
  let isInverted = false;
  let pattern = '';
  let root = null;
  let top = null;
  let focused = null;
  const boxes = new Map();
  const graph = make('div', { class: 'flame', role: 'tree', 'aria-label': 'Flame graph', onkeydown: keyPressed });
  const place = make('p', { class: 'readout flame-place', role: 'status' });
  const format = (value) => by === 'bytes' ? bytes(value) : things(value, 'object');

  function build() {
    const rows = indices(data.sites.type.length).filter((row) => types.isOnHeap(data.sites.type[row]) && (generation < 0 || data.sites.generation[row] === generation));
    root = flameTree(rows, (row) => tally[by](data.sites, row, lifespan), isInverted);
    root.name = `${lifespan}${generation < 0 ? '' : ` in ${generations.title(generation)}`}`;
    top = root;
    focused = root;
    paint();
  }

  function paint() {
    const shown = [];
    const matches = pattern.trim() ? searcher(pattern) : null;
    boxes.clear();
    let deepest = 0;
    let found = 0;
    const isFound = (node) => matches && matches(`${node.name} ${node.module}`);
    // What is above the top stays, as wide as everything: the way back.
    const way = [];
    for (let node = top; node; node = node.parent) way.unshift(node);
    way.slice(0, -1).forEach((node, depth) => shown.push(box(node, depth, 0, 1, isFound(node), true)));
    const whole = top.value || 1;
    const pending = [[top, 0, way.length - 1, false]];
    while (pending.length > 0) {
      const [node, left, depth, isBelow] = pending.pop();
      const hit = isFound(node);
      // Below something that was found all is counted already.
      if (hit && !isBelow) found += node.value;
      shown.push(box(node, depth, left / whole, node.value / whole, hit, false));
      deepest = Math.max(deepest, depth);
      let at = left;
      let rest = 0;
      for (const child of largest(node)) {
        if (child.value / whole >= flameLeast) pending.push([child, at, depth + 1, isBelow || hit]);
        else {
          rest += child.value;
          if (matches && !isBelow && !hit) found += foundBelow(child, isFound);
        }
        at += child.value;
      }
      if (rest / whole >= flameLeast) {
        const small = make('div', { class: 'box rest', 'aria-hidden': 'true' });
        put(small, depth + 1, (at - rest) / whole, rest / whole);
        shown.push(small);
        deepest = Math.max(deepest, depth + 1);
      }
    }
    graph.replaceChildren(...shown);
    graph.style.height = `${(deepest + 1) * flameRow + 2}px`;
    graph.classList.toggle('searched', Boolean(matches));
    if (!boxes.has(focused)) focused = top;
    boxes.get(focused).tabIndex = 0;
    say(top, matches ? `; found ${format(found)}, ${percent(found, top.value)}` : '');
  }

  function foundBelow(node, isFound) {
    if (isFound(node)) return node.value;
    let sum = 0;
    for (const child of node.children.values()) sum += foundBelow(child, isFound);
    return sum;
  }

  function put(element, depth, left, width) {
    element.style.top = `${depth * flameRow}px`;
    element.style.left = `${left * 100}%`;
    element.style.width = `${width * 100}%`;
  }

  function box(node, depth, left, width, isFound, isAbove) {
    const kind = node === root ? 'root' : node.own ? 'own' : 'other';
    const words = `${node.name}${node.module ? ` [${node.module}]` : ''}: ${format(node.value)}, ${percent(node.value, root.value)}`;
    const element = make('div', {
      class: `box ${kind}${width > 0.012 ? ' named' : ''}${isFound ? ' found' : ''}${isAbove ? ' above' : ''}`, role: 'treeitem', tabindex: '-1', title: words,
      'aria-label': words, 'aria-level': depth + 1, 'aria-expanded': node === top || isAbove ? 'true' : 'false',
      onclick: () => zoom(node), onfocus: () => { focused = node; say(node, ''); }, onpointerenter: () => say(node, ''),
    }, width > 0.012 ? make('bdi', {}, node.name) : '');
    put(element, depth, left, width);
    boxes.set(node, element);
    return element;
  }

  function say(node, more) {
    place.replaceChildren(given(node.name), node.module ? ` [${node.module}]` : '', ` ${format(node.value)}, ${percent(node.value, root.value)} of all`, more);
  }

  function zoom(node) {
    top = node;
    focused = node;
    paint();
    boxes.get(node).focus();
  }

  function focusOn(node) {
    if (!node || !boxes.has(node)) return;
    boxes.get(focused).tabIndex = -1;
    boxes.get(node).tabIndex = 0;
    boxes.get(node).focus();
  }

  function keyPressed(event) {
    const siblings = focused.parent ? largest(focused.parent) : [focused];
    const at = siblings.indexOf(focused);
    const moves = {
      ArrowDown: () => focusOn(largest(focused)[0]), ArrowUp: () => focusOn(focused.parent), ArrowRight: () => focusOn(siblings[at + 1]),
      ArrowLeft: () => focusOn(siblings[at - 1]), Enter: () => zoom(focused), ' ': () => zoom(focused), Escape: () => zoom(root), Home: () => focusOn(top),
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    moves[event.key]();
  }

  const view = make('div', {},
    make('div', { class: 'bar' },
      segments('Lifespan', lifespans, lifespan, (value) => { lifespan = value; build(); }),
      segments('What counts', [['bytes', 'Bytes', 'bytes'], ['count', 'Objects', 'number of objects']], by, (value) => { by = value; build(); }),
      segments('Order', [['no', 'Top-down', 'from the outermost function'], ['yes', 'Inverted', 'from the function that allocated']], 'no', (value) => { isInverted = value === 'yes'; build(); }),
      generations.count > 1 ? picker('Generation', [[-1, 'all'], ...indices(generations.count).map((at) => [at, generations.title(at)])], (value) => { generation = Number(value); build(); }) : null,
      searchField('Search functions', (value) => { pattern = value; paint(); }),
      make('button', { type: 'button', class: 'plain', onclick: () => zoom(root) }, 'Reset zoom')),
    place, graph,
    make('p', { class: 'note' }, 'Orange boxes are the program’s own functions. Click or Enter zooms, Escape goes back, arrows walk. ',
      'Boxes too narrow to see are drawn together.', discardedNote()));
  build();
  return view;
}

/** What no stack is known of. */
function discardedNote() {
  const sum = (key) => data.sites[key].reduce((all, value, row) => all + (types.isOnHeap(data.sites.type[row]) ? value : 0), 0);
  const missing = tally.transientCount(data.statistics.total, 0) - sum('transient_count');
  return missing > 0 ? ` Not here: ${things(missing, 'object')} whose stacks were discarded while recording.` : '';
}
