/* Tables: rows of the data in the columns that the HTML has, sorted and filtered. */

/** Rows shown at first, and further ones each time. */
const ROWS = 200;
const UNSORTED = ['trace', 'bytes', 'list'];

const severity = (name) => el('span', { class: `is ${name}` }, name);
/** The mark and the number are visible, the word is for screen readers. */
const severities = (name, n) => el('span', { class: `is ${name}`, title: `${name}s` }, String(n), el('span', { class: 'word' }, ` ${name}${n === 1 ? '' : 's'}`));

/** The content of a cell by kind of column, the same as the program writes in the first rows. */
const CELLS = {
  name: (value) => [el('bdi', {}, shown(value))],
  seconds: (value) => [duration(value)],
  percent: (value) => [`${value} %`],
  time: (value) => [time(value)],
  severity: (value) => [severity(value)],
  players: (value, row) => [`${value}/${row.max_players}`],
  list: (all) => [all.length === 0 ? '–' : all.slice(0, 4).map(shown).join(' ') + (all.length > 4 ? ` and ${all.length - 4} more` : '')],
  rule: (id, row, { data }) => {
    const known = data.rule.some((rule) => rule.id === id);
    return [known ? el('a', { href: `#rule-${id}` }, id) : id];
  },
  target: (id) => [el('span', { id: `rule-${id}` }, id)],
  trace: (trace, row, { longest }) => [sparkline(trace, longest)],
  findings: (counts) => {
    const all = ['error', 'warning', 'note'].filter((name) => counts?.[name] > 0);
    return all.length ? all.flatMap((name, i) => [i ? ' ' : '', severities(name, counts[name])]) : ['–'];
  },
  bytes: (bytes, row) => {
    const [start, end] = [row.start ?? 0, row.end ?? 0].map((at) => Math.max(0, at - bytes.from));
    const pairs = bytes.hex.slice(2 * start, 2 * end).match(/../g) ?? [];
    return pairs.length ? [el('code', {}, pairs.slice(0, 8).join(' ') + (pairs.length > 8 ? ' …' : ''))] : ['–'];
  },
};

/** The value by which a row is sorted. */
function order(row, key, kind) {
  const value = valueOf(row, key);
  if (kind === 'severity') return RANKS.severity.indexOf(value);
  if (kind === 'findings' && value) return value.error * 1e12 + value.warning * 1e6 + value.note;
  return value;
}

function compareBy(key, kind, down) {
  return (a, b) => {
    const [x, y] = [order(a, key, kind), order(b, key, kind)];
    if (x === null || y === null) return (x === null) - (y === null);
    const difference = typeof x === 'number' ? x - y : String(x).localeCompare(String(y), 'en', { numeric: true });
    return down ? -difference : difference;
  };
}

/** Makes a table interactive; `link` makes the content of the cells of a column, `detail` the row below a row. */
function activate(table, name, data, { filter = false, link = {}, detail = null, changed = () => {} } = {}) {
  const all = data[name];
  const columns = data.columns[name];
  const keys = filter ? keysOf(all) : null;
  const longest = Math.max(0, ...(name === 'server' ? all.map((row) => row.trace.length) : []));
  const state = { rows: all, test: () => true, sorted: null, down: false, shown: ROWS };
  const body = table.tBodies[0];
  const more = el('p', { class: 'more' });
  table.parentElement.after(more);
  let input, alert, status;

  function cell(row, [key, head, kind], i) {
    const value = valueOf(row, key);
    const inside = value === null && kind !== 'findings' ? ['–'] : (CELLS[kind] ?? ((text) => [shown(text)]))(value, row, { data, longest });
    const content = link[key] ? [link[key](row, inside)] : inside;
    const empty = inside.length === 1 && inside[0] === '–' ? ' empty' : '';
    return el('td', { class: kind + empty, 'data-head': head }, ...(detail && i === 0 ? [opener(row, content)] : content));
  }
  /** A button that opens the row below. */
  function opener(row, inside) {
    const button = el('button', { type: 'button', class: 'link', 'aria-expanded': 'false' }, ...inside);
    button.addEventListener('click', () => {
      const tr = button.closest('tr');
      const open = tr.nextElementSibling?.classList.contains('detail');
      if (open) tr.nextElementSibling.remove();
      else tr.after(detail(row, columns.length));
      button.setAttribute('aria-expanded', String(!open));
    });
    return button;
  }
  function draw() {
    const rows = state.rows.slice(0, state.shown);
    body.replaceChildren(...rows.map((row) => el('tr', {}, ...columns.map((column, i) => cell(row, column, i)))));
    table.caption.textContent = `${rows.length < state.rows.length ? `${rows.length} of ` : ''}${counted(state.rows.length, table.dataset.what)}`;
    more.replaceChildren();
    if (rows.length < state.rows.length) {
      const next = Math.min(ROWS, state.rows.length - rows.length);
      more.append(el('button', { type: 'button', onclick: () => ((state.shown += ROWS), draw()) }, `Show ${next} more`));
    }
    if (status) status.value = state.rows.length < all.length ? `${state.rows.length} of ${all.length}` : '';
    changed(state.rows);
  }
  function update() {
    state.rows = all.filter(state.test);
    if (state.sorted) state.rows.sort(compareBy(state.sorted[0], state.sorted[2], state.down));
    state.shown = ROWS;
    draw();
  }
  function apply() {
    try {
      state.test = compile(input.value, keys);
      alert.textContent = '';
      input.removeAttribute('aria-invalid');
      update();
    } catch (error) {
      alert.textContent = error.message;
      input.setAttribute('aria-invalid', 'true');
    }
  }

  [...table.tHead.rows[0].cells].forEach((head, i) => {
    const column = columns[i];
    if (UNSORTED.includes(column[2])) return;
    head.replaceChildren(el('button', { type: 'button', onclick: () => {
      // Numbers begin with the largest, words with the first.
      const number = ['count', 'seconds', 'percent', 'players', 'findings', 'severity'].includes(column[2]);
      state.down = state.sorted === column ? !state.down : number;
      state.sorted = column;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', state.down ? 'descending' : 'ascending');
      update();
    } }, column[1]));
  });
  if (filter) {
    const id = `filter-${name}`;
    input = el('input', { id, type: 'search', autocomplete: 'off', spellcheck: 'false', placeholder: filter, 'aria-describedby': `${id}-wrong` });
    alert = el('p', { role: 'alert', id: `${id}-wrong` });
    status = el('output', { for: id });
    input.addEventListener('input', apply);
    table.parentElement.before(el('form', { class: 'filter', role: 'search', 'aria-label': `Filter of ${table.dataset.what}s`, onsubmit: (e) => e.preventDefault() },
      el('label', { for: id }, 'Filter'), input, status, alert));
  }
  draw();
  return { set: (text) => ((input.value = text), apply()) };
}
