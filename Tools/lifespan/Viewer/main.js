// The page's frame: what the recording is, what its figures are not, the tabs and the choice of light or dark.

const views = [
  ['timeline', 'Timeline', timelineView],
  ['statistics', 'Statistics', statisticsView],
  ['generations', 'Generations', generationsView],
  ['flame', 'Flame graph', flameView],
  ['objects', 'Objects', objectsView],
  ['threads', 'Threads', threadsView],
  ['memory', 'Memory', memoryView],
];
// A recording without a picture of the heap has nothing to say of it.
if (data.heap) views.push(['heap', 'Leaks & holders', heapView]);

function themeButton() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => (document.documentElement.dataset.theme || (dark.matches ? 'dark' : 'light')) === 'dark';
  const button = make('button', { type: 'button', class: 'theme', onclick: () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
    say();
  } });
  const say = () => {
    button.textContent = isDark() ? 'Light' : 'Dark';
    button.setAttribute('aria-label', isDark() ? 'show in light colours' : 'show in dark colours');
  };
  dark.addEventListener('change', say);
  say();
  return button;
}

function showHead() {
  const head = data.head;
  const notes = [...head.notes, ...data.symbol_notes];
  fill(document.getElementById('head'),
    make('div', { class: 'title' }, make('h1', {}, given(head.program)),
      make('span', { class: `badge ${head.capture}`, title: 'what the recorder could see' }, `capture ${head.capture}`), themeButton()),
    make('p', { class: 'headline' }, head.headline, head.started_at ? ` · started ${head.started_at}` : ''),
    notes.length > 0 ? make('ul', { class: 'notes', 'aria-label': 'what these figures are not' }, ...notes.map((note) => make('li', {}, note))) : null);
}

function showTabs() {
  const list = document.getElementById('tabs');
  const main = document.getElementById('views');
  const tabs = views.map(([name, title, build]) => {
    const panel = make('section', { id: `view-${name}`, class: 'view', role: 'tabpanel', 'aria-labelledby': `tab-${name}`, hidden: true });
    const tab = make('button', { type: 'button', id: `tab-${name}`, role: 'tab', 'aria-controls': `view-${name}`, onclick: () => open(name) }, title);
    list.append(tab);
    main.append(panel);
    return { name, tab, panel, build, isBuilt: false };
  });

  function open(name, focuses) {
    const shown = tabs.find((one) => one.name === name) || tabs[0];
    for (const one of tabs) {
      const isShown = one === shown;
      one.tab.setAttribute('aria-selected', isShown);
      one.tab.setAttribute('tabindex', isShown ? '0' : '-1');
      one.panel.hidden = !isShown;
    }
    if (!shown.isBuilt) shown.panel.append(shown.build());
    shown.isBuilt = true;
    if (focuses) shown.tab.focus();
    if (location.hash !== `#${shown.name}`) history.replaceState(null, '', `#${shown.name}`);
  }

  list.addEventListener('keydown', (event) => {
    const at = tabs.findIndex((one) => one.tab === document.activeElement);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (at < 0 || next == null) return;
    event.preventDefault();
    open(tabs[(next + tabs.length) % tabs.length].name, true);
  });
  addEventListener('hashchange', () => open(location.hash.slice(1)));
  open(location.hash.slice(1));
}

showHead();
showTabs();
document.documentElement.dataset.ready = 'true';
