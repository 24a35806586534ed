'use strict';

// Maximum number of packets, and of findings, that the page keeps at a time.
const KEPT = 20000;

// The engine in its worker. It answers requests one after the other; the messages in between go to `onMessage`.
class Engine {
  constructor(onMessage) {
    const url = URL.createObjectURL(new Blob([`(${engineWorker})()`], { type: 'text/javascript' }));
    this.worker = new Worker(url);
    URL.revokeObjectURL(url);
    this.waiting = [];
    this.worker.onmessage = ({ data }) => {
      if (data.tell === 'progress' || data.tell === 'lines') onMessage(data);
      else this.waiting.shift()[data.tell === 'error' ? 1 : 0](data.tell === 'error' ? new Error(data.why) : data);
    };
    // Errors that end the engine itself, such as a lack of memory.
    this.worker.onerror = (event) => this.waiting.splice(0).forEach(([, fail]) => fail(new Error(event.message)));
  }

  ask(question) {
    return new Promise((...both) => {
      this.waiting.push(both);
      this.worker.postMessage(question);
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

// The open capture or text: its engine, its records, whether they have times of their own, and the number of packets before the kept ones.
let run = null;

const packets = new List($('packet-list'), {
  row(row, p) {
    const what = p.message ?? (p.looks_like ? `looks like ${p.looks_like}` : '');
    const worst = ['error', 'warning', 'note'].find((severity) => p.findings.some((f) => f.severity === severity));
    const found = worst ? [el('span', { class: `is ${worst}` }, p.findings.length > 1 ? `${worst} +${p.findings.length - 1}` : worst)] : [el('span')];
    const cells = [p.frame, p.time.slice(11, 23), p.src, p.dst, p.protocol ?? '–', what, p.name, p.players];
    row.append(...cells.map((text) => el('span', {}, String(text))), ...found);
  },
  chosen: (p) => pick(p.frame),
});

const findings = new List($('finding-list'), {
  row(row, f) {
    row.append(el('span', { class: `is ${f.severity}` }, f.severity), el('span', {}, f.rule), el('span', {}, `frame ${f.frame}`),
      el('span', {}, f.field ? `${f.field}: ${f.message}` : f.message));
  },
  chosen(f, activated) {
    if (!activated) return;
    show('packets');
    const index = run.packets.findIndex((p) => p.frame === f.frame);
    if (index >= 0) packets.choose(index, true);
    else pick(f.frame);
  },
});

// Adds the records of a chunk of complete lines.
function take(chunk) {
  for (const line of new TextDecoder().decode(chunk).split('\n')) {
    if (line !== '') record(JSON.parse(line));
  }
}

function record(r) {
  if (r.type === 'summary') {
    run.summary = r;
  } else if (r.type === 'packet') {
    const { frame, time, src, dst, protocol, message, looks_like, facts, findings: own = [] } = r;
    run.packets.push({ frame, time: run.timed ? time ?? '' : '', src, dst, protocol, message, looks_like, findings: own, name: facts?.server_name ?? '', players: players(facts) });
    keep(own, frame);
  } else if (r.type === 'exchange') {
    keep(r.findings, r.request_frame);
  }
}

// The players that a packet states, with their maximum.
function players(facts) {
  const [now, most] = [facts?.players ?? null, facts?.max_players ?? null];
  return now === null || most === null ? now ?? '' : `${now}/${most}`;
}

function keep(own, frame) {
  const room = KEPT - run.findings.length;
  run.findings.push(...own.slice(0, room).map((f) => ({ ...f, frame })));
  run.more += Math.max(0, own.length - room);
}

// Handles a message of the engine of a run, which may have been closed meanwhile.
function onMessage(sender, data) {
  if (sender !== run) return;
  if (data.tell === 'lines') {
    take(data.lines);
    packets.draw();
  } else {
    $('progress').max = data.of;
    $('progress').value = data.bytes;
    $('reading').textContent = `${Math.floor(data.bytes / 1e6)} of ${Math.ceil(data.of / 1e6)} MB read`;
  }
}

// Opens a capture or text, and reads it.
async function open(what) {
  close();
  run = { name: what.name ?? 'Pasted bytes', timed: 'file' in what, before: 0, packets: [], findings: [], more: 0, summary: null };
  const mine = run;
  mine.engine = new Engine((data) => onMessage(mine, data));
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

// Reads the packets after the first `before`.
async function read(mine, before) {
  Object.assign(mine, { before, packets: [], findings: [], more: 0 });
  packets.show(mine.packets);
  enablePaging(false);
  const { why } = await mine.engine.ask({ ask: 'records', before, most: KEPT });
  mine.why = why;
  if (mine !== run) return;
  enablePaging(true);
  ready();
}

// Enables the buttons for other packets. They are disabled while packets are read, because the lines of two reads could not be separated.
function enablePaging(enabled) {
  ['before', 'behind'].forEach((id) => { $(id).disabled = !enabled; });
}

// Shows that something is in progress while `work` runs, and reports its errors.
async function working(work) {
  const mine = run;
  $('reading').textContent = 'Reading';
  $('progress').removeAttribute('value');
  $('state').hidden = false;
  document.body.setAttribute('aria-busy', 'true');
  try {
    await work();
  } catch (error) {
    if (mine === run) complain(error.message);
  }
  if (mine !== run) return;
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
  const { summary, before } = run;
  if (summary.files === 0) {
    complain(`${run.name}: ${run.why}.`);
    return;
  }
  const tiles = TILES.map(([key, what, class_]) => {
    const number = summary[key] ?? summary.finding_counts[key] ?? 0;
    return el('div', { 'class': `tile ${number > 0 ? (class_ ?? '') : ''}`, 'data-number': key }, el('dt', {}, what), el('dd', {}, number.toLocaleString('en')));
  });
  $('numbers').querySelector('.tiles').replaceChildren(...tiles);
  $('remark').textContent = summary.complete ? '' : `Incomplete: ${run.why}.`;
  $('remark').hidden = summary.complete;
  const all = summary.recognised + summary.unclaimed;
  const last = before + run.packets.length;
  $('shown').textContent = run.packets.length === 0 ? 'No UDP packets' : `Packets ${before + 1} to ${last} of ${all}`;
  $('before').hidden = before === 0;
  $('behind').hidden = last >= all;
  const more = run.more > 0 ? `; ${run.more} more are counted only` : '';
  $('findings-shown').textContent = `Findings in these packets and their exchanges: ${run.findings.length}${more}`;
  packets.show(run.packets);
  findings.show(run.findings);
  ['numbers', 'views'].forEach((id) => { $(id).hidden = false; });
  show('packets');
  if (all === 1 && run.packets.length === 1) packets.choose(0, false);
}

function show(view) {
  for (const button of $('views').querySelectorAll('button')) {
    button.setAttribute('aria-pressed', String(button.dataset.view === view));
    $(button.dataset.view).hidden = button.dataset.view !== view;
  }
  if (view === 'report') report();
}

// Requests the packet of a frame. If frames are chosen quickly, only the last one is requested.
async function pick(frame) {
  const mine = run;
  mine.wanted = frame;
  if (mine.picking) return;
  mine.picking = true;
  while (mine === run && mine.wanted !== null) {
    const now = mine.wanted;
    mine.wanted = null;
    try {
      const { packet } = await mine.engine.ask({ ask: 'packet', frame: now });
      if (mine === run) packetView.show(now, packet);
    } catch (error) {
      if (mine === run) complain(error.message);
    }
  }
  mine.picking = false;
}

// Creates the report when it is first opened, in a frame that may only run the report's script.
async function report() {
  if (run.report) return;
  const mine = run;
  mine.report = true;
  $('report-state').textContent = 'The capture is read once more for the report.';
  await working(async () => {
    const { html } = await mine.engine.ask({ ask: 'report' });
    if (mine !== run) return;
    mine.url = URL.createObjectURL(new Blob([html], { type: 'text/html' }));
    $('frame').src = mine.url;
    $('save').href = mine.url;
    ['frame', 'save'].forEach((id) => { $(id).hidden = false; });
    $('report-state').textContent = '';
  });
}

// Ends the run, if there is one.
function close() {
  run?.engine.end();
  if (run?.url) URL.revokeObjectURL(run.url);
  run = null;
  $('frame').removeAttribute('src');
  ['state', 'error', 'numbers', 'views', 'packets', 'findings', 'report', 'frame', 'save', 'again'].forEach((id) => { $(id).hidden = true; });
  packetView.hide();
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
$('before').addEventListener('click', () => working(() => read(run, Math.max(0, run.before - KEPT))));
$('behind').addEventListener('click', () => working(() => read(run, run.before + KEPT)));
['again', 'stop'].forEach((id) => $(id).addEventListener('click', close));
