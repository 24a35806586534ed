/* Looks at a page from inside, for the tests. */
({
  /** The text of every table, row by row, but for cells that only the script fills. */
  tables() {
    const row = (tr) => [...tr.cells].filter((td) => !td.classList.contains('trace')).map((td) => td.textContent);
    return Object.fromEntries([...document.querySelectorAll('table')].map((t) => [t.dataset.table, [...t.tBodies[0].rows].map(row)]));
  },

  /** Elements with text whose contrast with what is behind them is less than 4.5. */
  faint() {
    const parse = (colour) => colour.match(/[\d.]+/g).map(Number);
    const light = (colour) => {
      const [r, g, b] = parse(colour).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (e) => {
      for (; e; e = e.parentElement) {
        const colour = getComputedStyle(e).backgroundColor;
        if (parse(colour)[3] !== 0) return colour;
      }
      return 'rgb(255, 255, 255)';
    };
    const own = (e) => [...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
    const visible = (e) => e.getClientRects().length > 0;
    const faint = [];
    for (const e of document.body.querySelectorAll('*')) {
      if (!own(e) || !visible(e) || ['SCRIPT', 'STYLE', 'title'].includes(e.tagName)) continue;
      const style = getComputedStyle(e);
      const [a, b] = [light(e.namespaceURI.endsWith('svg') ? style.fill : style.color), light(behind(e))];
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (contrast < 4.5) faint.push(`${e.tagName}.${e.getAttribute('class')} ${contrast.toFixed(2)}: ${e.textContent.slice(0, 40)}`);
    }
    return faint;
  },

  /** Waits until the page has been drawn for its present window: listeners for a new size run before the callbacks of a frame. */
  redrawn: () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))),

  /** How far the page is wider than its window. */
  overflow: () => document.documentElement.scrollWidth - innerWidth,

  /** Pictures that are not as wide as they were drawn, so that nobody can read what stands in them. */
  shrunk() {
    const drawn = [...document.querySelectorAll('svg[role=img]')].filter((e) => e.querySelector('text') && e.clientWidth > 0);
    return drawn.filter((e) => Math.abs(e.clientWidth - e.getAttribute('width')) > 1).map((e) => e.getAttribute('aria-label'));
  },

  /** Elements that a keyboard cannot name: without a text or a label. */
  nameless() {
    const named = (e) => (e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length);
    return [...document.querySelectorAll('button, a, input, svg[role=img], section')]
      .filter((e) => !named(e) && !e.getAttribute('aria-labelledby')).map((e) => e.outerHTML.slice(0, 100));
  },

  /** Presses every button and opens everything; how many there were. */
  press() {
    let pressed = 0;
    const click = (e) => (e.click(), pressed++);
    document.querySelectorAll('nav a').forEach(click);
    document.querySelectorAll('summary').forEach(click);
    for (let i = 0; i < 3; i++) click(document.getElementById('theme'));
    for (const head of document.querySelectorAll('th')) {
      for (let i = 0; head.firstElementChild && i < 2; i++) click(head.firstElementChild);
    }
    document.querySelectorAll('td.severity button').forEach(click);
    document.querySelectorAll('.more button').forEach(click);
    return pressed;
  },

  /** Types a filter; how many rows pass, and what is wrong with it. */
  filter(table, text) {
    const input = document.getElementById(`filter-${table}`);
    input.value = text;
    input.dispatchEvent(new Event('input'));
    const rows = document.querySelectorAll(`table[data-table=${table}] tbody tr:not(.detail)`).length;
    return [rows, input.form.querySelector('[role=alert]').textContent];
  },
})
