'use strict';

// One packet: its fields, its bytes, and which belong together.
const packetView = (() => {
  // Bytes that are drawn before somebody wants to see all.
  const FIRST = 4096;
  let packet = null;
  let bytes = [];
  // The byte that was chosen last, and what is marked while nothing is hovered.
  let cursor = 0;
  let kept = null;
  // Bytes of a line, as many as there is room for.
  let across = 16;
  const width = () => ($('bytes').clientWidth < 560 ? 8 : 16);

  const tree = new List($('tree'), {
    row(row, field) {
      row.style.paddingLeft = `${0.5 + field.depth}rem`;
      row.classList.toggle('derived', field.derived);
      const value = field.value === null ? [] : [el('span', { class: 'value' }, field.value)];
      const place = field.derived ? [] : [el('span', { class: 'place' }, `${field.start}..${field.end}`)];
      row.append(el('span', { class: 'name' }, field.name), ...value, ...place);
    },
    chosen(field) {
      kept = field;
      cursor = field.start;
      mark(field, true);
    },
    hovered: (field) => mark(field ?? kept, false),
  });

  // Draws the bytes: those of a line as digits, then as characters.
  function draw(all) {
    const most = all ? bytes.length : Math.min(bytes.length, FIRST);
    across = width();
    const lines = [];
    for (let at = 0; at < most; at += across) {
      const line = bytes.slice(at, Math.min(most, at + across));
      const digits = line.map((byte, i) => el('span', { 'data-at': at + i, 'class': found(at + i) }, byte));
      const letters = line.map((byte, i) => el('span', { 'data-at': at + i, 'class': found(at + i) }, letter(byte)));
      lines.push(el('div', { class: 'line' }, el('span', { class: 'at' }, at.toString(16).padStart(4, '0')),
        el('span', { class: across === 8 ? 'digits few' : 'digits' }, ...digits), el('span', { class: 'letters' }, ...letters)));
    }
    if (most < bytes.length) {
      const more = el('button', { type: 'button' }, `Show all ${bytes.length} bytes`);
      more.addEventListener('click', () => draw(true));
      lines.push(more);
    }
    $('bytes').replaceChildren(...lines);
    if (kept) mark(kept, false);
  }

  const letter = (digits) => {
    const code = parseInt(digits, 16);
    return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : '.';
  };

  // What is said of all bytes marks none of them.
  const marks = (f) => f.start !== null && f.end - f.start < bytes.length;
  const found = (at) => (packet.findings.some((f) => marks(f) && f.start <= at && at < f.end) ? 'found' : '');

  // Marks the bytes of a field.
  function mark(field, scroll) {
    if (field && field.end > FIRST && $('bytes').querySelector('button')) draw(true);
    for (const span of $('bytes').querySelectorAll('[data-at]')) {
      const at = Number(span.dataset.at);
      span.classList.toggle('marked', field !== null && field.start <= at && at < field.end);
    }
    if (scroll) $('bytes').querySelector('.marked')?.scrollIntoView({ block: 'nearest' });
    $('byte').textContent = field ? said(field) : '';
  }

  const said = (field) => {
    const value = field.value === null ? '' : `: ${field.value}`;
    if (field.derived) return `${field.name}${value}, which follows from the message`;
    const length = field.end - field.start;
    return `${field.name}${value}, ${length} byte${length === 1 ? '' : 's'} from ${field.start}`;
  };

  // Chooses a byte: the innermost field around it.
  function choose(at) {
    if (at < 0 || at >= bytes.length) return;
    const index = packet.fields.findLastIndex((f) => !f.derived && f.start <= at && at < f.end);
    if (index >= 0) {
      tree.choose(index, false);
    } else {
      kept = { name: 'no field', value: null, start: at, end: at + 1, derived: false };
      mark(kept, true);
    }
    cursor = at;
  }

  $('bytes').addEventListener('click', (event) => {
    const span = event.target.closest('[data-at]');
    if (span) choose(Number(span.dataset.at));
  });
  $('bytes').addEventListener('keydown', (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    choose(cursor + by);
  });

  new ResizeObserver(() => {
    if (packet && !$('packet').hidden && width() !== across) draw(false);
  }).observe($('bytes'));

  // What was found in the packet; a click marks its bytes.
  function finding(f) {
    const button = el('button', { type: 'button', class: `is ${f.severity}` }, `${f.severity} ${f.rule}: ${f.message}`);
    button.addEventListener('click', () => {
      if (f.start !== null) choose(f.start);
    });
    const cause = f.caused_by ? [` caused by ${f.caused_by.rule} in frame ${f.caused_by.frame}`] : [];
    return el('li', {}, button, ...cause);
  }

  return {
    show(frame, its) {
      packet = its;
      bytes = its.bytes.match(/../g) ?? [];
      [cursor, kept] = [0, null];
      const what = its.protocol === null ? 'no known protocol' : `${its.protocol}, ${its.message}`;
      const joined = its.joined ? ', joined from its parts' : '';
      const missing = its.missing > 0 ? `; ${its.missing} more were not captured` : '';
      $('packet-title').textContent = `Frame ${frame}: ${what}, ${bytes.length} bytes${joined}${missing}`;
      $('packet-findings').replaceChildren(...its.findings.map(finding));
      $('packet').hidden = false;
      $('byte').textContent = '';
      tree.show(its.fields);
      draw(false);
    },
    hide() {
      $('packet').hidden = true;
    },
  };
})();
