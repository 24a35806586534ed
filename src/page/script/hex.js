/* The details of a finding: the rule, the place, and the bytes. */

/** Lines of sixteen bytes, of which those from `start` to `end` are marked. `bytes` begin at an offset in the payload; `**` is a masked byte. */
function hexDump(bytes, start, end) {
  const pairs = bytes.hex.match(/../g) ?? [];
  const out = el('pre', { class: 'hex', tabindex: '0', 'aria-label': `Bytes; ${start} to ${end} are marked` });
  const marked = (i) => bytes.from + i >= start && bytes.from + i < end;
  const letter = (pair) => {
    const code = parseInt(pair, 16);
    return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : '.';
  };
  /** Appends a line. Neighbouring marked bytes share an element, so that the mark has no gaps. */
  const appendLine = (line, from, show, between) => {
    let i = 0;
    while (i < line.length) {
      const isMarked = marked(from + i);
      let text = show(line[i]);
      for (i++; i < line.length && marked(from + i) === isMarked; i++) text += between + show(line[i]);
      out.append(isMarked ? el('mark', {}, text) : text, i < line.length ? between : '');
    }
  };
  for (let from = 0; from < pairs.length; from += 16) {
    const line = pairs.slice(from, from + 16);
    out.append(el('span', { class: 'at' }, `${(bytes.from + from).toString(16).padStart(4, '0')}  `));
    appendLine(line, from, (pair) => pair, ' ');
    out.append(' '.repeat(3 * (16 - line.length) + 3));
    appendLine(line, from, letter, '');
    out.append('\n');
  }
  return out;
}

/** A name as one word of the shell, quoted if necessary. */
function quoted(name) {
  const word = name.startsWith('-') ? `./${name}` : name;
  return /^[\w./-]+$/.test(word) ? word : `'${shown(word).replaceAll("'", "'\\''")}'`;
}

/** The row below a finding. */
function findingDetail(finding, data, columns) {
  const rule = data.rule.find((known) => known.id === finding.rule);
  const list = el('dl');
  const add = (term, ...description) => list.append(el('dt', {}, term), el('dd', {}, ...description));
  const link = (url, text) => el('a', { href: url, rel: 'noreferrer noopener' }, text);
  if (rule) {
    add('Rule', el('a', { href: `#rule-${rule.id}` }, rule.id), `: ${rule.title}`);
    add('Why', rule.why);
    const source = `${rule.source.document}, ${rule.source.section}`;
    add('Source', rule.source.url ? link(rule.source.url, source) : source);
  }
  const place = finding.start === null ? '' : `, bytes ${finding.start}..${finding.end} of the payload`;
  add('Place', `frame ${finding.frame} of ${shown(finding.file)}${place}`);
  if (finding.found !== null) add('Found', el('code', {}, finding.found));
  if (finding.expected !== null) add('Expected', el('code', {}, finding.expected));
  if (finding.time) add('Time', `${time(finding.time)} UTC`);
  if (finding.field) add('Field', el('code', {}, finding.field));
  add('Between', `client ${finding.client} and server ${finding.server}, ${finding.protocol}`);
  if (finding.count > 1) add('Times', `${finding.count}; this is the first`);
  if (finding.caused_by) add('Caused by', `${finding.caused_by.rule} in frame ${finding.caused_by.frame}`);
  if (finding.diagnosis) {
    const { help, says, section } = finding.diagnosis;
    add('Help', `${shown(help)}. ${says} (${section})`);
  }
  if (finding.suppressed) add('Suppressed', shown(finding.suppressed));
  if (finding.baseline) add('Baseline', 'it is in the baseline');
  add('Look at it', el('code', {}, `qdissect dump -V -x -Y 'frame.number == ${finding.frame}' ${quoted(finding.file)}`));
  const dump = finding.bytes ? hexDump(finding.bytes, finding.start ?? 0, finding.end ?? 0) : null;
  return el('tr', { class: 'detail' }, el('td', { colspan: columns }, el('div', {}, list, dump)));
}
