// Stacks that allocated something, the largest first; each opens to its frames. Part of several views.

/** The frames of a stack as a list, the program's own ones marked. */
function frameList(stack) {
  const list = make('ol', { class: 'frames' }, ...framesOf(stack).map((frame) => make('li', { class: frames.isOwn(frame) ? 'own' : '' },
    given(frames.function(frame)), ' ',
    make('span', { class: 'place' }, frames.place(frame), frames.isInlined(frame) ? ' (inlined)' : ''), ' ',
    make('span', { class: 'module' }, `[${frames.module(frame)}]`))));
  const ending = endingOf(stack);
  if (ending) list.append(make('li', { class: 'ending' }, data.stacks.leaf[stack] < 0 ? ending : `not whole: ${ending}`));
  return list;
}

/** What a closed stack is called: the program's own function that is responsible, and the one that called it. */
function stackTitle(stack) {
  const all = framesOf(stack);
  if (all.length === 0) return `(${endingOf(stack) || 'no stack'})`;
  const own = all.filter((frame) => frames.isOwn(frame));
  const first = own[0] ?? all[0];
  const caller = own.find((frame) => frames.function(frame) !== frames.function(first));
  return [first, caller].filter((frame) => frame != null).map((frame) => `${frames.function(frame)} ${frames.place(frame)}`.trim()).join(' ← ');
}

const stacksShown = 50;

/** What these rows of `data.sites` allocated, by stack. */
function stackList(rows, lifespan) {
  const sums = new Map();
  for (const row of rows) {
    const sum = sums.get(data.sites.stack[row]) || { count: 0, bytes: 0 };
    sum.count += tally.count(data.sites, row, lifespan);
    sum.bytes += tally.bytes(data.sites, row, lifespan);
    sums.set(data.sites.stack[row], sum);
  }
  const all = [...sums].filter(([, sum]) => sum.count !== 0 || sum.bytes !== 0)
    .sort(([a, one], [b, other]) => other.bytes - one.bytes || other.count - one.count || a - b);
  const list = make('div', { class: 'stacks' });
  all.slice(0, stacksShown).forEach(([stack, sum], at) => {
    const details = make('details', { open: at === 0 }, make('summary', {},
      make('span', { class: 'amount' }, count(sum.count), ' × ', bytes(sum.bytes)), ' ', given(stackTitle(stack))));
    const fill = () => { if (details.open && details.children.length === 1) details.append(frameList(stack)); };
    details.addEventListener('toggle', fill);
    fill();
    list.append(details);
  });
  if (all.length > stacksShown) {
    const rest = all.slice(stacksShown).reduce((sum, [, one]) => ({ count: sum.count + one.count, bytes: sum.bytes + one.bytes }), { count: 0, bytes: 0 });
    list.append(make('p', { class: 'note' }, `… ${things(all.length - stacksShown, 'more stack')}: ${things(rest.count, 'object')}, ${bytes(rest.bytes)}`));
  }
  if (all.length === 0) list.append(make('p', { class: 'note' }, 'no stacks: what there was has been discarded while recording'));
  return list;
}
