/* What a finding says in full: the rule, the place, and the bytes. */

/** Lines of sixteen bytes, the marked ones in a mark. `bytes` begin at an offset in the payload; `**` may not be seen. */
function hexDump(bytes, start, end) {
  const pairs = bytes.hex.match(/../g) ?? [];
  const out = el('pre', { class: 'hex', tabindex: '0', 'aria-label': `Bytes; ${start} to ${end} are marked` });
  const marked = (i) => bytes.from + i >= start && bytes.from + i < end;
  const letter = (pair) => {
    const code = parseInt(pair, 16);
    return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : '.';
  };
  /** Neighbours in one element, so that a mark has no gaps. */
  const run = (line, from, show, between) => {
    let i = 0;
    while (i < line.length) {
      const on = marked(from + i);
      let text = show(line[i]);
      for (i++; i < line.length && marked(from + i) === on; i++) text += between + show(line[i]);
      out.append(on ? el('mark', {}, text) : text, i < line.length ? between : '');
    }
  };
  for (let from = 0; from < pairs.length; from += 16) {
    const line = pairs.slice(from, from + 16);
    out.append(el('span', { class: 'at' }, `${(bytes.from + from).toString(16).padStart(4, '0')}  `));
    run(line, from, (pair) => pair, ' ');
    out.append(' '.repeat(3 * (16 - line.length) + 3));
    run(line, from, letter, '');
    out.append('\n');
  }
  return out;
}

/** A name as a word of the shell, whatever is in it. */
function quoted(name) {
  const word = name.startsWith('-') ? `./${name}` : name;
  return /^[\w./-]+$/.test(word) ? word : `'${shown(word).replaceAll("'", "'\\''")}'`;
}

/** The row below a finding. */
function findingDetail(finding, data, columns) {
  const rule = data.rule.find((known) => known.id === finding.rule);
  const list = el('dl');
  const say = (what, ...said) => list.append(el('dt', {}, what), el('dd', {}, ...said));
  const link = (url, text) => el('a', { href: url, rel: 'noreferrer noopener' }, text);
  if (rule) {
    say('Rule', link(rule.page, rule.id), `: ${rule.title}`);
    say('Why', rule.why);
    const source = `${rule.source.document}, ${rule.source.section}`;
    say('Source', rule.source.url ? link(rule.source.url, source) : source);
  }
  const place = finding.start === null ? '' : `, bytes ${finding.start}..${finding.end} of the payload`;
  say('Place', `frame ${finding.frame} of ${shown(finding.file)}${place}`);
  if (finding.time) say('Time', `${time(finding.time)} UTC`);
  if (finding.field) say('Field', el('code', {}, finding.field));
  say('Between', `client ${finding.client} and server ${finding.server}, ${finding.protocol}`);
  if (finding.count > 1) say('Times', `${finding.count}; this is the first`);
  if (finding.caused_by) say('Caused by', `${finding.caused_by.rule} in frame ${finding.caused_by.frame}`);
  if (finding.suppressed) say('Suppressed', shown(finding.suppressed));
  if (finding.baseline) say('Baseline', 'it stands in the baseline');
  say('Look at it', el('code', {}, `qdissect dump -V -x -Y 'frame.number == ${finding.frame}' ${quoted(finding.file)}`));
  const dump = finding.bytes ? hexDump(finding.bytes, finding.start ?? 0, finding.end ?? 0) : null;
  return el('tr', { class: 'detail' }, el('td', { colspan: columns }, el('div', {}, list, dump)));
}
