'use strict';

// One packet: its fields and its bytes, with the bytes of the chosen field marked.
const packetView = (() => {
  // Number of bytes that are drawn until all are requested.
  const FIRST = 4096;
  let packet = null;
  let bytes = [];
  // The byte that was chosen last, and the field that is marked while none is hovered.
  let cursor = 0;
  let chosen = null;
  // Number of bytes per line, depending on the width.
  let perLine = 16;
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
      chosen = field;
      cursor = field.start;
      mark(field, true);
    },
    hovered: (field) => mark(field ?? chosen, false),
  });

  // Draws the bytes, each line as hex digits and as characters.
  function draw(all) {
    const limit = all ? bytes.length : Math.min(bytes.length, FIRST);
    perLine = width();
    const lines = [];
    for (let at = 0; at < limit; at += perLine) {
      const line = bytes.slice(at, Math.min(limit, at + perLine));
      const digits = line.map((byte, i) => el('span', { 'data-at': at + i, 'class': found(at + i) }, byte));
      const letters = line.map((byte, i) => el('span', { 'data-at': at + i, 'class': found(at + i) }, letter(byte)));
      lines.push(el('div', { class: 'line' }, el('span', { class: 'at' }, at.toString(16).padStart(4, '0')),
        el('span', { class: perLine === 8 ? 'digits few' : 'digits' }, ...digits), el('span', { class: 'letters' }, ...letters)));
    }
    if (limit < bytes.length) {
      const more = el('button', { type: 'button' }, `Show all ${bytes.length} bytes`);
      more.addEventListener('click', () => draw(true));
      lines.push(more);
    }
    $('bytes').replaceChildren(...lines);
    if (chosen) mark(chosen, false);
  }

  const letter = (digits) => {
    const code = parseInt(digits, 16);
    return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : '.';
  };

  // A finding about all bytes marks none of them.
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
    $('byte').textContent = field ? description(field) : '';
  }

  const description = (field) => {
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
      chosen = { name: 'no field', value: null, start: at, end: at + 1, derived: false };
      mark(chosen, true);
    }
    cursor = at;
  }

  $('bytes').addEventListener('click', (event) => {
    const span = event.target.closest('[data-at]');
    if (span) choose(Number(span.dataset.at));
  });
  $('bytes').addEventListener('keydown', (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: perLine, ArrowUp: -perLine }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    choose(cursor + by);
  });

  new ResizeObserver(() => {
    if (packet && !$('packet').hidden && width() !== perLine) draw(false);
  }).observe($('bytes'));

  // A finding of the packet; a click marks its bytes.
  function finding(f) {
    const button = el('button', { type: 'button', class: `is ${f.severity}` }, `${f.severity} ${f.rule}: ${f.message}`);
    button.addEventListener('click', () => {
      if (f.start !== null) choose(f.start);
    });
    const cause = f.caused_by ? [` caused by ${f.caused_by.rule} in frame ${f.caused_by.frame}`] : [];
    return el('li', {}, button, ...cause);
  }

  return {
    show(frame, shown) {
      packet = shown;
      bytes = shown.bytes.match(/../g) ?? [];
      [cursor, chosen] = [0, null];
      const what = shown.protocol === null ? 'no known protocol' : `${shown.protocol}, ${shown.message}`;
      const joined = shown.joined ? ', joined from its parts' : '';
      const missing = shown.missing > 0 ? `; ${shown.missing} more were not captured` : '';
      $('packet-title').textContent = `Frame ${frame}: ${what}, ${bytes.length} bytes${joined}${missing}`;
      const help = shown.help ? [el('li', {}, `help: ${shown.help}`)] : [];
      $('packet-findings').replaceChildren(...shown.findings.map(finding), ...help);
      $('packet').hidden = false;
      $('byte').textContent = '';
      tree.box.hidden = shown.fields.length === 0;
      tree.show(shown.fields);
      draw(false);
    },
    hide() {
      $('packet').hidden = true;
    },
  };
})();
