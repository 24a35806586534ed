/* Pictures, drawn for the available width. A table contains every number in them, too. */

const HEIGHT = 150;
const LEFT = 64;
const BOTTOM = 22;

/** The width of a figure, which is shown for that: what is hidden has none. */
function widthOf(figure) {
  figure.hidden = false;
  return Math.max(280, figure.clientWidth);
}

/** Puts a picture below the caption of a figure; `keys` are marks and their meanings. */
function show(figure, picture, keys = []) {
  figure.querySelector(':scope > svg')?.remove();
  const caption = figure.querySelector('figcaption');
  caption.querySelectorAll('.key').forEach((key) => key.remove());
  for (const [mark, meaning] of keys) {
    caption.append(el('span', { class: 'key' }, svg('svg', { viewBox: '0 0 10 10', 'aria-hidden': 'true' }, ...mark), meaning));
  }
  figure.append(picture);
}

function canvas(width, height, label) {
  return svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label });
}

const line = (kind, x1, y1, x2, y2) => svg('line', { class: kind, x1, y1, x2, y2 });
const label = (x, y, anchor, text, kind = '') => svg('text', { x, y, 'text-anchor': anchor, class: kind }, text);
const box = (kind, x, y, width, height) => svg('rect', { class: kind, x, y, width, height });
/** Strokes over lost requests, which make them distinguishable without colours. */
const strokes = (x, y, width, height) => {
  const lines = [];
  for (let at = 3; at < height; at += 5) lines.push(line('hatch', x, y + at, x + width, y + at));
  return lines;
};

/** The next round number that is not smaller. */
function ceiling(n) {
  const size = 10 ** Math.floor(Math.log10(Math.max(n, 1)));
  return [1, 2, 5, 10].map((step) => step * size).find((round) => round >= n);
}

/** The position of each interval: a step for each, and half a step where a pause was left out. */
function positionsOf(intervals, width) {
  const gap = (i) => i > 0 && Date.parse(intervals[i].start) - Date.parse(intervals[i - 1].start) > intervals[i].interval * 1500;
  const gaps = intervals.filter((_, i) => gap(i)).length;
  const step = (width - LEFT) / Math.max(1, intervals.length + gaps / 2);
  let x = LEFT;
  return intervals.map((_, i) => {
    if (gap(i)) x += step / 2;
    const position = { x, step, bar: Math.max(1, Math.min(step * 0.8, 40)), gap: gap(i) };
    x += step;
    return position;
  });
}

/** Draws the axis, the gaps and the times of a picture over time. */
function drawAxis(picture, intervals, positions, width) {
  picture.append(line('axis', LEFT, HEIGHT - BOTTOM, width, HEIGHT - BOTTOM));
  for (const { x, step, gap } of positions) if (gap) picture.append(line('gap', x - step / 4, 4, x - step / 4, HEIGHT - BOTTOM));
  const day = intervals[0].start.slice(0, 10) !== intervals.at(-1).start.slice(0, 10);
  const text = (row) => (day ? time(row.start).slice(0, 16) : row.start.slice(11, row.interval < 1 ? 23 : 19));
  picture.append(label(LEFT, HEIGHT - 6, 'start', text(intervals[0])));
  if (intervals.length > 1) picture.append(label(width, HEIGHT - 6, 'end', `${text(intervals.at(-1))} UTC`));
}

/** Bars over time; `parts` are functions to counts, each with a class, from the bottom up. */
function bars(figure, intervals, parts, name) {
  const width = widthOf(figure);
  const positions = positionsOf(intervals, width);
  const sum = (row) => parts.reduce((all, [count]) => all + count(row), 0);
  const top = ceiling(Math.max(1, ...intervals.map(sum)));
  const picture = canvas(width, HEIGHT, `${name}, at most ${Math.max(...intervals.map(sum))} in an interval`);
  const room = HEIGHT - BOTTOM - 8;
  for (const share of [0.5, 1]) {
    if (top * share % 1) continue;
    const y = HEIGHT - BOTTOM - room * share;
    picture.append(line('grid', LEFT, y, width, y), label(LEFT - 8, y + 4, 'end', top * share));
  }
  intervals.forEach((row, i) => {
    const { x, step, bar } = positions[i];
    let y = HEIGHT - BOTTOM;
    const group = svg('g', {}, svg('title', {}, `${time(row.start)}: ${parts.map(([count, , what]) => `${count(row)} ${what}`).join(', ')}`));
    for (const [count, kind] of parts) {
      const height = (count(row) / top) * room;
      if (height > 0) {
        y -= height;
        group.append(box(kind, x + (step - bar) / 2, y, bar, height));
        if (kind === 'lost') group.append(...strokes(x + (step - bar) / 2, y, bar, height));
      }
    }
    picture.append(group);
  });
  drawAxis(picture, intervals, positions, width);
  show(figure, picture, parts.map(([, kind, what]) => [[box(kind, 0, 0, 10, 10), ...(kind === 'lost' ? strokes(0, 0, 10, 10) : [])], what]));
}

/** Mean and longest response time of each interval. */
function timesPlot(figure, intervals) {
  const timed = intervals.filter((row) => row.response_time_max > 0);
  if (!timed.length) return;
  const width = widthOf(figure);
  const positions = positionsOf(intervals, width);
  const positive = timed.flatMap((row) => [row.response_time_mean, row.response_time_max]).filter((t) => t > 0);
  const low = Math.floor(Math.log10(Math.min(...positive)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...positive))));
  const room = HEIGHT - BOTTOM - 8;
  const y = (t) => HEIGHT - BOTTOM - ((Math.log10(Math.max(t, 10 ** low)) - low) / (high - low)) * room;
  const picture = canvas(width, HEIGHT, `Response times over time, from ${short(Math.min(...positive))} to ${short(Math.max(...positive))}`);
  for (let power = low; power <= high; power++) {
    picture.append(line('grid', LEFT, y(10 ** power), width, y(10 ** power)), label(LEFT - 8, y(10 ** power) + 4, 'end', short(10 ** power)));
  }
  let path = '';
  intervals.forEach((row, i) => {
    if (row.response_time_mean === null) return (path += ' ');
    const x = positions[i].x + positions[i].step / 2;
    path += `${path === '' || path.endsWith(' ') || positions[i].gap ? 'M' : 'L'}${x.toFixed(1)},${y(row.response_time_mean).toFixed(1)}`;
    const top = y(row.response_time_max);
    picture.append(svg('g', {}, svg('title', {}, `${time(row.start)}: mean ${duration(row.response_time_mean)}, longest ${duration(row.response_time_max)}`),
      svg('path', { class: 'longest', d: `M${x - 4},${top + 3}L${x},${top - 4}L${x + 4},${top + 3}Z` }),
      svg('circle', { class: 'mean', cx: x, cy: y(row.response_time_mean), r: 2.5 })));
  });
  picture.append(svg('path', { class: 'mean', d: path.trim().replace(/ +/g, '') || 'M0,0' }));
  drawAxis(picture, intervals, positions, width);
  show(figure, picture, [[[svg('circle', { class: 'mean', cx: 5, cy: 5, r: 3 })], 'mean'], [[svg('path', { class: 'longest', d: 'M1,8L5,1L9,8Z' })], 'longest']]);
}

/** The number of answers of a step by response time. */
function histogram(figure, step) {
  const width = widthOf(figure);
  const most = Math.max(...step.histogram.map((bucket) => bucket.count));
  const height = 20 * step.histogram.length + 4;
  const picture = canvas(width, height, `Histogram of ${counted(step.count, 'answer')}; ${step.histogram.map((b) => `${range(b)}: ${b.count}`).join(', ')}`);
  step.histogram.forEach((bucket, i) => {
    const length = (bucket.count / most) * (width - 160);
    picture.append(label(112, 20 * i + 14, 'end', range(bucket)), box('query', 120, 20 * i + 3, Math.max(length, bucket.count ? 1 : 0), 14),
      label(126 + length, 20 * i + 14, 'start', bucket.count));
  });
  show(figure, picture);
}

const range = ({ from, to }) => (to === null ? `from ${short(from)}` : from === 0 ? `below ${short(to)}` : `${short(from)} – ${short(to)}`);

/** The answers of a server over time: the line is the mean response time, a cross is a request without an answer. */
function sparkline(trace, longest) {
  if (!trace.length) return null;
  const [width, height] = [96, 24];
  const slots = Math.max(longest, 2);
  const times = trace.map((slot) => slot[2]).filter((t) => t > 0);
  const [low, high] = [Math.log(Math.min(...times)), Math.log(Math.max(...times))];
  const x = (i) => 4 + (i / (slots - 1)) * (width - 8);
  const y = (t) => (high > low ? 19 - ((Math.log(Math.max(t, 1e-9)) - low) / (high - low)) * 14 : 12);
  const sum = (at) => trace.reduce((all, slot) => all + slot[at], 0);
  const means = times.length ? `, means from ${duration(Math.min(...times))} to ${duration(Math.max(...times))}` : '';
  const picture = canvas(width, height, `${counted(sum(0), 'request')}, ${sum(1)} lost${means}`);
  picture.append(svg('title', {}, picture.getAttribute('aria-label')));
  let path = '';
  trace.forEach(([requests, lost, mean], i) => {
    if (mean !== null) {
      path += `${path ? 'L' : 'M'}${x(i).toFixed(1)},${y(mean).toFixed(1)}`;
      if (requests) picture.append(svg('circle', { class: 'mean', cx: x(i), cy: y(mean), r: 1.5 }));
    }
    if (lost) picture.append(svg('path', { class: 'cross', d: `M${x(i) - 3},1l6,6m0,-6l-6,6` }));
  });
  if (path) picture.append(svg('path', { class: 'mean', d: path }));
  return picture;
}

/** The width of the widest of these texts in a picture. */
function widest(texts) {
  const pen = document.createElement('canvas').getContext('2d');
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return Math.ceil(Math.max(0, ...texts.map((text) => pen.measureText(text).width)));
}

/** Exchanges between two lines, with the time between them. */
function ladder(figure, exchanges) {
  const width = widthOf(figure);
  // The arrows take the width that the texts beside them leave. Narrow pictures name the server above each exchange.
  const narrow = width < 560;
  const asked = exchanges.map((e) => (e.request_time ? Date.parse(e.request_time) / 1e3 : null));
  const gaps = exchanges.map((e, i) => {
    const before = asked.slice(0, i).findLast((at) => at !== null) ?? null;
    return before !== null && asked[i] !== null ? `+${short(Math.max(0, asked[i] - before))}` : time(e.request_time ?? '').slice(11);
  });
  const client = 12 + widest([...gaps, ...(narrow ? [] : exchanges.map((e) => e.client))]);
  const server = width - (narrow ? 24 : 12 + widest(exchanges.map((e) => e.server)));
  const row = narrow ? 92 : 74;
  const picture = canvas(width, 30 + row * exchanges.length, `Ladder of ${counted(exchanges.length, 'exchange')}, which the table below lists`);
  picture.append(line('life', client, 22, client, 26 + row * exchanges.length), line('life', server, 22, server, 26 + row * exchanges.length),
    label(client, 14, 'middle', 'client', 'end'), label(server, 14, narrow ? 'end' : 'middle', 'server', 'end'));
  exchanges.forEach((e, i) => {
    const y = (narrow ? 62 : 44) + row * i;
    const answered = e.response_time !== null;
    const group = svg('g', { class: answered && e.outcome === 'answered' ? '' : 'fail' });
    group.append(label(client - 10, y + 4, 'end', gaps[i]));
    if (narrow) group.append(label(server - 10, y - 22, 'end', e.server));
    else group.append(label(client - 10, y + 20, 'end', e.client), label(server + 10, y + 4, 'start', e.server));
    if (answered) arrow(group, client, y, server, y + 4);
    group.append(label((client + server) / 2, y - 6, 'middle', `${e.protocol} ${e.step}, ${e.request_bytes} bytes`, 'what'));
    if (answered) {
      arrow(group, server, y + 18, client, y + 24);
      group.append(label((client + server) / 2, y + 36, 'middle', `${e.outcome === 'answered' ? '' : `${e.outcome}, `}${duration(e.response_time)}, ${e.response_bytes} bytes`, 'what'));
    } else {
      const x = (client + server) / 2;
      group.append(line('arrow', client, y, x - 8, y + 4), svg('path', { class: 'cross', d: `M${x - 5},${y - 1}l10,10m0,-10l-10,10` }), label(x, y + 26, 'middle', e.outcome, 'what'));
    }
    picture.append(group);
  });
  show(figure, picture);
}

function arrow(group, x1, y1, x2, y2) {
  const back = x2 > x1 ? -7 : 7;
  group.append(line('arrow', x1, y1, x2, y2), svg('path', { class: 'head', d: `M${x2},${y2}l${back},-4l0,8Z` }));
}
