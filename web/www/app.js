'use strict';

// Packets that the list shows at a time: browsers draw no boxes that are much higher.
const SHOWN = 100000;
// Rows that are asked for around the visible ones, and rows that are kept.
const AROUND = 50;
const KEPT = 2000;

// The engine in its worker. Messages without a question go to `onProgress`.
class Engine {
  constructor(onProgress) {
    const url = URL.createObjectURL(new Blob([`(${engineWorker})()`], { type: 'text/javascript' }));
    this.worker = new Worker(url);
    URL.revokeObjectURL(url);
    this.asked = 0;
    this.waiting = new Map();
    this.worker.onmessage = ({ data }) => {
      if (data.progress) {
        onProgress(data.progress);
        return;
      }
      const [done, fail] = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if (data.error === undefined) done(data);
      else fail(new Error(data.error));
    };
    // Errors that end the engine itself, such as a lack of memory.
    this.worker.onerror = (event) => {
      this.waiting.forEach(([, fail]) => fail(new Error(event.message)));
      this.waiting.clear();
    };
  }

  ask(question) {
    this.asked += 1;
    const id = this.asked;
    return new Promise((...both) => {
      this.waiting.set(id, both);
      this.worker.postMessage({ id, ...question });
    });
  }

  async start() {
    Engine.module ??= unpacked();
    await this.ask({ ask: 'start', module: await Engine.module });
  }

  end() {
    this.worker.terminate();
  }
}

// The compiled engine.
async function unpacked() {
  const packed = Uint8Array.from(atob(ENGINE), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

// The open capture or text: its engine, its filter, what was read of it, and which part of that the list shows. The engine has `count`
// packets after the first `before`; the list shows those after the first `from` of them. Each reading has a version, because the engine
// answers about the one before until it begins the next.
let run = null;

// The packets of the list, as far as the engine has told them.
const rows = {
  get length() {
    return run ? Math.min(SHOWN, run.count - run.from) : 0;
  },
  at(index) {
    const row = run.rows.get(run.from + index);
    if (!row) want(run.from + index);
    return row;
  },
};

const packets = new List($('packet-list'), {
  row(row, p) {
    const found = p.worst ? [el('span', { class: `is ${p.worst}` }, p.findings > 1 ? `${p.worst} +${p.findings - 1}` : p.worst)] : [el('span')];
    const cells = [p.frame, p.time, p.src, p.dst, p.protocol ?? '–', p.message, p.name, p.players];
    row.append(...cells.map((text) => el('span', {}, String(text))), ...found);
  },
  chosen: (_, activated, index) => pick(run.from + index),
});

const findings = new List($('finding-list'), {
  row(row, f) {
    row.append(el('span', { class: `is ${f.severity}` }, f.severity), el('span', {}, f.rule), el('span', {}, `frame ${f.frame}`),
      el('span', {}, f.field ? `${f.field}: ${f.message}` : f.message));
  },
  chosen(f, activated) {
    if (!activated) return;
    show('packets');
    if (f.row === null) complain(`The packet of frame ${f.frame} is not in the list: the filter leaves it out.`);
    else choose(f.row);
  },
});

const filterLine = new FilterLine({
  check: async (text, cursor) => {
    const mine = run;
    const known = await mine.engine.ask({ ask: 'typed', text, cursor }).catch(() => null);
    return mine === run ? known : null;
  },
  apply(filter) {
    if (filter === run.filter) return;
    run.filter = filter;
    run.engine.ask({ ask: 'stop' });
    forgetReport();
    working(() => read(run, 0));
  },
});

// Chooses a packet of the engine in the list.
function choose(row) {
  if (row < run.from || row >= run.from + rows.length) look(row - (row % SHOWN));
  packets.choose(row - run.from, true);
}

// Shows the packets after the first `from` that the engine has.
function look(from) {
  run.from = from;
  packets.show(rows);
  tell();
}

// Asks for the rows around one. Only one question is open at a time; whatever is missing after its answer is asked for then.
async function want(row) {
  const mine = run;
  if (mine.wants) return;
  mine.wants = true;
  const [from, to] = [Math.max(0, row - AROUND), Math.min(mine.count, row + AROUND)];
  try {
    const { rows: told, version } = await mine.engine.ask({ ask: 'list', from, to });
    if (mine !== run) return;
    if (mine.rows.size > KEPT) mine.rows.clear();
    if (version === mine.version) told.forEach((it, at) => mine.rows.set(from + at, it));
  } catch (error) {
    if (mine === run) complain(error.message);
    return;
  } finally {
    mine.wants = false;
  }
  packets.draw();
}

// Handles progress of the engine of a run, which may have been closed meanwhile.
function onProgress(sender, { bytes, of, rows: count, version }) {
  if (sender !== run) return;
  $('progress').max = of;
  $('progress').value = bytes;
  $('reading').textContent = `${Math.floor(bytes / 1e6)} of ${Math.ceil(of / 1e6)} MB read`;
  if (!run.reads || version !== run.version || count === run.count) return;
  run.count = count;
  if (count > 0 && $('views').hidden) {
    ['numbers', 'views'].forEach((id) => { $(id).hidden = false; });
    show('packets');
  }
  packets.draw();
  tell();
}

// Opens a capture or text, and reads it.
async function open(what) {
  close();
  run = { name: what.name ?? 'Pasted bytes', filter: '', rows: new Map(), count: 0, from: 0, before: 0, version: 0 };
  const mine = run;
  mine.engine = new Engine((progress) => onProgress(mine, progress));
  $('start').hidden = true;
  $('again').hidden = false;
  $('capture-title').firstChild.textContent = mine.name;
  await working(async () => {
    await mine.engine.start();
    const { complaints } = await mine.engine.ask({ ask: 'open', ...what });
    if (complaints) complain(complaints);
    await read(mine, 0);
  });
}

// Reads the packets that pass the filter, except the first `before`, as many as the engine has room for.
async function read(mine, before) {
  mine.version += 1;
  const version = mine.version;
  Object.assign(mine, { before, from: 0, count: 0, rows: new Map(), reads: true, result: null });
  packets.show(rows);
  findings.show([]);
  packetView.hide();
  tell();
  const result = await mine.engine.ask({ ask: 'read', filter: mine.filter, before, version }).catch((error) => {
    // Another filter has given this reading up.
    if (mine.version === version) throw error;
  });
  if (mine !== run || mine.version !== version) return;
  Object.assign(mine, { result, count: result.rows, reads: false });
  ready();
}

// Shows that something is in progress while `work` runs, and reports its errors.
async function working(work) {
  const mine = run;
  mine.works = (mine.works ?? 0) + 1;
  $('reading').textContent = 'Reading';
  $('progress').removeAttribute('value');
  $('state').hidden = false;
  $('error').hidden = true;
  document.body.setAttribute('aria-busy', 'true');
  try {
    await work();
  } catch (error) {
    if (mine === run) complain(error.message);
  }
  mine.works -= 1;
  if (mine !== run || mine.works > 0) return;
  $('state').hidden = true;
  document.body.removeAttribute('aria-busy');
}

function complain(why) {
  $('error').textContent = why;
  $('error').hidden = false;
}

const TILES = [
  ['packets', 'frames'], ['recognised', 'recognised'], ['unclaimed', 'unclaimed'], ['exchanges', 'exchanges'], ['answered', 'answered'],
  ['late', 'late', 'warning'], ['unanswered', 'unanswered', 'error'], ['refused', 'refused', 'error'], ['undecided', 'undecided', 'note'],
  ['error', 'errors', 'error'], ['warning', 'warnings', 'warning'], ['note', 'notes', 'note'],
];

// Shows the result after everything was read.
function ready() {
  const { summary, why, remarks, findings: found, more_findings: more } = run.result;
  if (summary.files === 0) {
    complain(`${run.name}: ${why}.`);
    return;
  }
  const tiles = TILES.map(([key, what, class_]) => {
    const number = summary[key] ?? summary.finding_counts[key] ?? 0;
    return el('div', { 'class': `tile ${number > 0 ? (class_ ?? '') : ''}`, 'data-number': key }, el('dt', {}, what), el('dd', {}, number.toLocaleString('en')));
  });
  $('numbers').querySelector('.tiles').replaceChildren(...tiles);
  const notes = summary.complete ? remarks : [`Incomplete: ${why}.`, ...remarks];
  $('remark').textContent = notes.join(' ');
  $('remark').hidden = notes.length === 0;
  $('findings-shown').textContent = `Findings in these packets and their exchanges: ${found.length}${more > 0 ? `; ${more} more are counted only` : ''}`;
  findings.show(found);
  ['numbers', 'views'].forEach((id) => { $(id).hidden = false; });
  tell();
  packets.draw();
  show('packets');
  if (run.count === 1 && run.before + run.result.left_out === 0) packets.choose(0, false);
}

// Says which packets the list shows.
function tell() {
  const first = run.before + run.from;
  const last = first + rows.length;
  const all = run.before + run.count + (run.result?.left_out ?? 0);
  const passed = run.filter === '' ? '' : ' that pass the filter';
  const number = (n) => n.toLocaleString('en');
  if (run.reads) $('shown').textContent = `${number(all)} packets so far`;
  else if (all === 0) $('shown').textContent = run.filter === '' ? 'No UDP packets' : 'No packets pass the filter';
  else $('shown').textContent = `Packets ${number(first + 1)} to ${number(last)} of ${number(all)}${passed}`;
  $('before').hidden = first === 0;
  $('behind').hidden = last >= all;
  $('all').hidden = run.filter === '';
}

// Shows the packets after the first `first` of all, which may have to be read.
function turn(first) {
  if (first >= run.before && first < run.before + run.count) look(first - run.before);
  else if (!run.reads) working(() => read(run, first));
}

function show(view) {
  for (const button of $('views').querySelectorAll('button')) {
    button.setAttribute('aria-pressed', String(button.dataset.view === view));
    $(button.dataset.view).hidden = button.dataset.view !== view;
  }
  if (view === 'report') report();
}

// Requests the packet of a row. If rows are chosen quickly, only the last one is requested.
async function pick(row) {
  const mine = run;
  mine.wanted = row;
  if (mine.picking) return;
  mine.picking = true;
  while (mine === run && mine.wanted !== null) {
    const now = mine.wanted;
    mine.wanted = null;
    const asked = mine.version;
    try {
      const { packet, version } = await mine.engine.ask({ ask: 'packet', row: now });
      if (mine !== run || mine.version !== version) continue;
      mine.picked = now;
      packetView.show(packet);
    } catch (error) {
      if (mine === run && mine.version === asked) complain(error.message);
    }
  }
  mine.picking = false;
}

// Filters by the field that is chosen in the tree of the packet.
async function filterByField() {
  const mine = run;
  const { filter, version } = await mine.engine.ask({ ask: 'fieldFilter', row: mine.picked, line: packetView.line() });
  if (mine !== run || mine.version !== version) return;
  if (filter === null) complain('No filter can be made of this field.');
  else filterLine.put(filter);
}

// Creates the report when it is first opened, in a frame that may only run the report's script.
async function report() {
  if (run.report) return;
  const [mine, filter] = [run, run.filter];
  mine.report = true;
  $('report-state').textContent = 'The capture is read once more for the report.';
  await working(async () => {
    const { html } = await mine.engine.ask({ ask: 'report', filter }).catch((error) => {
      // Another filter has given it up.
      if (mine.filter === filter) throw error;
      return {};
    });
    if (mine !== run || mine.filter !== filter) return;
    mine.url = URL.createObjectURL(new Blob([html], { type: 'text/html' }));
    $('frame').src = mine.url;
    $('save').href = mine.url;
    ['frame', 'save'].forEach((id) => { $(id).hidden = false; });
    $('report-state').textContent = '';
  });
}

// Forgets the report, which is one with another filter.
function forgetReport() {
  if (run?.url) URL.revokeObjectURL(run.url);
  if (run) Object.assign(run, { url: null, report: false });
  $('frame').removeAttribute('src');
  ['frame', 'save'].forEach((id) => { $(id).hidden = true; });
}

// Ends the run, if there is one.
function close() {
  run?.engine.end();
  forgetReport();
  run = null;
  ['state', 'error', 'numbers', 'views', 'packets', 'findings', 'report', 'again'].forEach((id) => { $(id).hidden = true; });
  packetView.hide();
  filterLine.set('');
  $('numbers').querySelector('.tiles').replaceChildren();
  $('start').hidden = false;
  document.body.removeAttribute('aria-busy');
}

$('file').addEventListener('change', (event) => {
  const [file] = event.target.files;
  if (file) open({ file, name: file.name });
  event.target.value = '';
});
$('paste').addEventListener('submit', (event) => {
  event.preventDefault();
  open({ text: $('text').value });
});
document.addEventListener('dragover', (event) => event.preventDefault());
document.addEventListener('drop', (event) => {
  event.preventDefault();
  const [file, ...others] = event.dataTransfer.files;
  if (file) open({ file, name: file.name });
  if (others.length > 0) complain(`Only ${file.name} is read: the page takes one capture at a time.`);
});
$('views').addEventListener('click', (event) => {
  const { view } = event.target.dataset;
  if (view) show(view);
});
$('before').addEventListener('click', () => turn(Math.max(0, run.before + run.from - SHOWN)));
$('behind').addEventListener('click', () => turn(run.before + run.from + rows.length));
$('by').addEventListener('click', filterByField);
['again', 'stop'].forEach((id) => $(id).addEventListener('click', close));
