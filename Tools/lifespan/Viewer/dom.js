// Elements. What comes from a recording becomes text and attributes alone, never markup.

/** An element with attributes (`on…` are listeners) and children: elements, or texts. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  return fill(element, ...children);
}

/** Appends what there is of these. */
function fill(element, ...children) {
  element.append(...children.filter((child) => child != null && child !== false && child !== ''));
  return element;
}

/** The same in a drawing. */
function draw(tag, attributes, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  if (text != null) element.textContent = text;
  return element;
}

/** A name that a program gave: its letters cannot turn those around it. */
function given(text, className) { return make('bdi', { class: className ? `name ${className}` : 'name', title: text }, text); }

let nextNumber = 0;
function uniqueID(word) {
  nextNumber += 1;
  return `${word}-${nextNumber}`;
}

/** A row of choices, one of them chosen. `choices`: [value, title, hint]. */
function segments(label, choices, chosen, change) {
  const name = uniqueID('choice');
  return make('fieldset', { class: 'segments' }, make('legend', { class: 'hidden' }, label),
    ...choices.map(([value, title, hint]) => make('label', { title: hint },
      make('input', { type: 'radio', name, value, checked: value === chosen, onchange: () => change(value) }),
      make('span', {}, title))));
}

function searchField(label, change) {
  let waiting = 0;
  return make('input', {
    type: 'search', class: 'search', placeholder: label, 'aria-label': label, autocomplete: 'off', spellcheck: 'false',
    oninput: (event) => {
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(() => change(event.target.value));
    },
  });
}

function picker(label, choices, change) {
  return make('label', { class: 'picker' }, make('span', {}, label), make('select', { onchange: (event) => change(event.target.value) },
    ...choices.map(([value, title]) => make('option', { value }, title))));
}

/** A number with the word for it. */
function figure(title, value, note) {
  return make('div', { class: 'figure' }, make('dt', {}, title), make('dd', {}, value, note ? make('small', {}, note) : null));
}
