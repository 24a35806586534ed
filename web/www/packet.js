'use strict';

// One packet: its layers and fields as a tree, and its bytes, with those of the chosen field marked.
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

  // Names of lines whose lower lines are folded away, in every packet; at first those of the layers.
  const folded = new Set(['Frame', 'Ethernet', 'Link', '802.1Q', 'Internet', 'User']);
  const named = (line) => line.name || line.value.split(/[ ,:]/)[0];

  const tree = new List($('tree'), {
    row(row, line) {
      row.style.paddingLeft = `${0.5 + line.level}rem`;
      const fold = el('span', { class: 'fold', 'aria-hidden': 'true' }, line.open === undefined ? '' : line.open ? '▾' : '▸');
      const kind = line.severity ? `value ${line.severity}` : 'value';
      row.append(fold, el('span', { class: 'text' }, el('span', { class: 'name' }, line.name), el('span', { class: kind }, line.value),
        el('span', { class: 'place' }, line.place)));
    },
    chosen(line) {
      chosen = line;
      cursor = line.start ?? cursor;
      mark(line, true);
    },
    hovered: (line) => mark(line ?? chosen, false),
    folded(line, isFolded) {
      if (line.open === isFolded) {
        fold(line, isFolded);
      } else if (isFolded) {
        // Nothing to fold: to the line above it.
        const above = visible.slice(0, visible.indexOf(line)).findLastIndex((other) => other.level < line.level);
        tree.choose(above, false);
      }
    },
  });
  $('tree').addEventListener('click', (event) => {
    const line = event.target.closest('.fold') && visible[event.target.closest('[data-index]').dataset.index];
    if (line?.open !== undefined) fold(line, line.open);
  });

  // The lines that are not folded away.
  let visible = [];

  // Folds the lines below a line, or unfolds them, without choosing another line.
  function fold(line, isFolded) {
    if (isFolded) folded.add(named(line));
    else folded.delete(named(line));
    const { scrollTop } = tree.box;
    unfold();
    tree.show(visible);
    tree.box.scrollTop = scrollTop;
    tree.choose(visible.indexOf(line), false);
  }

  function unfold() {
    visible = [];
    let below = Infinity;
    packet.lines.forEach((line, index) => {
      if (line.level > below) return;
      const isFolded = folded.has(named(line));
      line.open = packet.lines[index + 1]?.level > line.level ? !isFolded : undefined;
      below = isFolded ? line.level : Infinity;
      visible.push(line);
    });
  }

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

  const found = (at) => (packet.marks[at] === ' ' ? '' : 'found');

  // Marks the bytes of a line of the tree.
  function mark(line, scroll) {
    const [start, end] = [line?.start ?? 0, line?.end ?? 0];
    if (end > FIRST && $('bytes').querySelector('button')) draw(true);
    for (const span of $('bytes').querySelectorAll('[data-at]')) {
      const at = Number(span.dataset.at);
      span.classList.toggle('marked', start <= at && at < end);
    }
    if (scroll) $('bytes').querySelector('.marked')?.scrollIntoView({ block: 'nearest' });
    $('byte').textContent = line ? description(line) : '';
    $('by').hidden = !chosen || !packet.lines.includes(chosen) || chosen.name === '';
  }

  const description = ({ name, value, start, end }) => {
    const length = end - start;
    return `${name}${value}${start === null ? '' : `, ${length} byte${length === 1 ? '' : 's'} from ${start}`}`;
  };

  // Chooses a byte: the innermost line about it that is not folded away.
  function choose(at) {
    if (at < 0 || at >= bytes.length) return;
    const about = (line) => line.name !== '' && line.start !== null && line.start <= at && at < line.end;
    const index = visible.findLastIndex((line) => about(line) && !line.name.startsWith('['));
    if (index >= 0) {
      tree.choose(index, false);
    } else {
      chosen = { name: 'no field', value: '', start: at, end: at + 1 };
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
    show(shown) {
      packet = shown;
      bytes = shown.bytes.match(/../g) ?? [];
      [cursor, chosen] = [0, null];
      const what = shown.protocol === null ? 'no known protocol' : `${shown.protocol}, ${shown.message}`;
      const joined = shown.joined ? ', joined from its parts' : '';
      const missing = shown.missing > 0 ? `; ${shown.missing} more were not captured` : '';
      $('packet-title').textContent = `Frame ${shown.frame}: ${what}, ${bytes.length} bytes${joined}${missing}`;
      const help = shown.help ? [el('li', {}, `help: ${shown.help}`)] : [];
      $('packet-findings').replaceChildren(...shown.findings.map(finding), ...help);
      $('packet').hidden = false;
      $('byte').textContent = '';
      $('by').hidden = true;
      unfold();
      tree.show(visible);
      draw(false);
    },
    hide() {
      $('packet').hidden = true;
    },
    // The index of the chosen line in the packet.
    line: () => packet.lines.indexOf(chosen),
  };
})();
