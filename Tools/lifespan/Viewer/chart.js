// Lines over the time of the recording, with its marks. Moved through with the pointer or the arrow keys.

const chartRoom = { left: 84, right: 16, top: 22, bottom: 24 };

/** Round steps of an axis: powers of 2 for bytes, 1, 2 and 5 for the rest. */
function axisSteps(most, wanted, isBytes) {
  if (most <= 0) return [0];
  const rough = most / wanted;
  let step = 1;
  if (isBytes) {
    while (step < rough) step *= 2;
  } else {
    const base = 10 ** Math.floor(Math.log10(rough));
    step = Math.max(1, [1, 2, 5, 10].map((one) => one * base).find((one) => one >= rough));
  }
  const steps = [];
  for (let value = 0; value <= most; value += step) steps.push(value);
  return steps;
}

/**
 * `series`: { name, className, times, values, ceiling (the most within each step), step (how long one is), area }. `times` are the starts
 * of the steps in which anything happened.
 * `say(at)`: the words for the step of that number. `marks`: [{ time, name }].
 */
function makeChart({ label, height, end, series, format, isBytes, marks, say }) {
  const cursor = draw('line', { class: 'cursor', y1: chartRoom.top, y2: height - chartRoom.bottom, visibility: 'hidden' });
  const words = make('output', { class: 'readout', 'aria-live': 'polite' });
  const svg = draw('svg', { height, role: 'img', 'aria-label': label, tabindex: '0' });
  const element = make('figure', { class: 'chart' }, make('figcaption', {}, make('strong', {}, label), words), svg);
  const most = Math.max(1, ...series.map((one) => (one.ceiling || one.values).reduce((a, b) => Math.max(a, b), 0)));
  const last = Math.max(1, end);
  let width = 0;
  let at = -1;

  const x = (time) => chartRoom.left + (width - chartRoom.left - chartRoom.right) * Math.min(1, Math.max(0, time) / last);
  const y = (value) => height - chartRoom.bottom - (height - chartRoom.top - chartRoom.bottom) * value / most;

  /** `settled`: what holds from the end of a step to the next one. */
  function path(times, values, isArea, settled, step) {
    let way = '';
    values.forEach((value, place) => {
      const left = x(times[place]).toFixed(1);
      const top = y(value).toFixed(1);
      way += place === 0 ? (isArea ? `M${left} ${y(0).toFixed(1)}V${top}` : `M${left} ${top}`) : `H${left}V${top}`;
      const next = place + 1 < times.length ? times[place + 1] : last;
      if (settled && times[place] + step < next) way += `H${x(times[place] + step).toFixed(1)}V${y(settled[place]).toFixed(1)}`;
    });
    if (values.length > 0) way += `H${x(last).toFixed(1)}${isArea ? `V${y(0).toFixed(1)}Z` : ''}`;
    return way;
  }

  function paint() {
    width = Math.max(320, element.clientWidth);
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    const parts = [];
    for (const value of axisSteps(most, 4, isBytes)) {
      parts.push(draw('line', { class: 'grid', x1: chartRoom.left, x2: width - chartRoom.right, y1: y(value), y2: y(value) }));
      parts.push(draw('text', { class: 'tick', x: chartRoom.left - 8, y: y(value) + 4, 'text-anchor': 'end' }, format(value)));
    }
    for (const value of axisSteps(last, Math.max(2, width / 160), false)) {
      parts.push(draw('text', { class: 'tick', x: x(value), y: height - 6, 'text-anchor': value === 0 ? 'start' : 'middle' }, seconds(value)));
    }
    for (const one of series) {
      if (one.area) parts.push(draw('path', { class: `area ${one.className}`, d: path(one.times, one.ceiling || one.values, true, one.ceiling && one.values, one.step) }));
      parts.push(draw('path', { class: `line ${one.className}`, d: path(one.times, one.values, false) }));
    }
    parts.push(...markParts());
    svg.replaceChildren(...parts, cursor);
    point(at, false);
  }

  /** A line for each mark; names only where there is room for them. */
  function markParts() {
    const parts = [];
    let free = 0;
    let drawn = -2;
    let title = null;
    for (const mark of marks || []) {
      const place = x(mark.time);
      const words = `${mark.name}, ${seconds(mark.time)}`;
      // Thousands of marks: those of one pixel share a line.
      if (place - drawn < 1) {
        title.textContent += `\n${words}`;
        continue;
      }
      drawn = place;
      title = draw('title', {}, words);
      const line = draw('line', { class: 'mark', x1: place, x2: place, y1: chartRoom.top - 6, y2: height - chartRoom.bottom });
      line.append(title);
      parts.push(line);
      const length = Math.min(22, mark.name.length);
      const name = mark.name.length > 22 ? `${mark.name.slice(0, 21)}…` : mark.name;
      const isLate = place + length * 6.5 > width;
      const start = isLate ? place - length * 6.5 : place;
      if (start < free) continue;
      parts.push(draw('text', { class: 'mark', x: place, y: chartRoom.top - 10, 'text-anchor': isLate ? 'end' : 'start' }, name));
      free = start + length * 6.5 + 12;
    }
    return parts;
  }

  function point(to, speaks = true) {
    const times = series[0].times;
    at = Math.min(to, times.length - 1);
    cursor.setAttribute('visibility', at < 0 ? 'hidden' : 'visible');
    if (at < 0) return;
    cursor.setAttribute('x1', x(times[at]));
    cursor.setAttribute('x2', x(times[at]));
    if (speaks) words.textContent = say(at);
  }

  function placeOf(event) {
    const box = svg.getBoundingClientRect();
    const time = last * (event.clientX - box.left - chartRoom.left) / (width - chartRoom.left - chartRoom.right);
    const times = series[0].times;
    let low = 0;
    let high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time) low = middle + 1; else high = middle;
    }
    return Math.max(0, low - 1);
  }

  svg.addEventListener('pointermove', (event) => { if (series[0].times.length > 0) point(placeOf(event)); });
  svg.addEventListener('keydown', (event) => {
    const step = event.shiftKey ? 20 : 1;
    const steps = { ArrowRight: at + step, ArrowLeft: Math.max(0, at - step), Home: 0, End: Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    point(steps[event.key]);
  });
  new ResizeObserver(() => { if (element.clientWidth > 0 && element.clientWidth !== width) paint(); }).observe(element);
  return element;
}
