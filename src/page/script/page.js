/* Puts the page together. */

/** Most exchanges in the ladder. */
const RUNGS = 40;

/** In a frame without an origin, the browser refuses links within the page, and other links would replace it by an error page. */
const FRAMED = window !== parent;

function goTo(id) {
  if (FRAMED) document.getElementById(id).scrollIntoView();
  else location.hash = `#${id}`;
}

/** Follows a link in a frame, if its target is in the page. */
function follow(event) {
  const link = event.target.closest('a');
  if (!link) return;
  event.preventDefault();
  const to = link.getAttribute('href');
  if (to.startsWith('#')) goTo(to.slice(1));
}

function begin() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const table = (name) => document.querySelector(`table[data-table="${name}"]`);
  const figure = (id) => document.getElementById(id);
  const start = (name, options) => (table(name) ? activate(table(name), name, data, options) : null);
  let rungs = data.exchange;

  const steps = data.response_times.filter((step) => step.histogram?.length);
  const pictures = steps.map((step) => el('figure', { hidden: '' }, el('figcaption', {}, `${step.protocol} ${step.step}`)));
  figure('histograms').append(...pictures);

  function redraw() {
    if (data.interval.length) {
      const lost = (row) => row.unanswered + row.refused;
      bars(figure('plot-queries'), data.interval, [[lost, 'lost', 'without an answer'], [(row) => Math.max(0, row.queries - lost(row)), 'query', 'others']], 'Queries over time');
      const found = (name) => (row) => row.finding_counts[name];
      if (data.finding.length && data.interval[0].finding_counts) {
        bars(figure('plot-findings'), data.interval, [[found('error'), 'lost', 'errors'], [found('warning'), 'warned', 'warnings'], [found('note'), 'noted', 'notes']], 'Findings over time');
      }
      timesPlot(figure('plot-times'), data.interval);
    }
    pictures.forEach((picture, i) => histogram(picture, steps[i]));
    if (rungs.length) ladder(figure('ladder'), rungs.slice(0, RUNGS));
  }

  for (const name of ['interval', 'response_times', 'capture', 'rule']) start(name);
  start('unclaimed', { filter: 'datagrams > 10 or bytes > 1000' });
  start('finding', { filter: 'severity >= warning and rule contains "STR"', detail: (row, columns) => findingDetail(row, data, columns) });
  const exchanges = start('exchange', {
    filter: 'outcome != answered and protocol == sqp',
    changed: (rows) => {
      rungs = rows;
      figure('ladder').hidden = rows.length === 0;
      if (rows.length) ladder(figure('ladder'), rows.slice(0, RUNGS));
    },
  });
  const toLadder = (row, inside) => el('button', { type: 'button', class: 'link', title: 'Its exchanges', onclick: () => {
    exchanges.set(`server == "${row.server}" and protocol == ${row.protocol}`);
    goTo('exchanges');
    figure('filter-exchange').focus({ preventScroll: true });
  } }, ...inside);
  start('server', { filter: 'players > 0 and requests > 5', link: exchanges ? { server: toLadder } : {} });

  const THEMES = ['system', 'dark', 'light'];
  const theme = figure('theme');
  theme.hidden = false;
  theme.addEventListener('click', () => {
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? 'system') + 1) % THEMES.length];
    if (next === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    theme.textContent = `Colours: ${next}`;
  });
  redraw();
  addEventListener('resize', redraw);
  if (FRAMED) addEventListener('click', follow);
  addEventListener('beforeprint', () => document.querySelectorAll('details').forEach((details) => (details.open = true)));
}

begin();
