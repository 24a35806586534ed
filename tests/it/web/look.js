(() => {
  const wait = async (until) => {
    for (let tries = 0; tries < 600; tries += 1) {
      if (until()) return;
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`It never came: ${until}`);
  };
  const $ = (id) => document.getElementById(id);
  const lists = { 'packet-list': packets, 'finding-list': findings };
  const chosen = () => $('tree').querySelector('[aria-selected=true]');
  const words = (row) => [...row.querySelectorAll('.name, .value')].map((it) => it.textContent).join('');
  // Asks an engine of its own about a capture.
  const ask = async (name, base64, use) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const engine = new Engine(() => {});
    await engine.start();
    await engine.ask({ ask: 'open', name, file: new File([bytes], name) });
    const result = await use(engine);
    engine.end();
    return result;
  };
  // Waits until every row of the list is there, a window after the other.
  const all = async () => {
    const told = [];
    for (let at = 0; at < packets.items.length; at += 1) {
      await wait(() => packets.items.at(at));
      told.push(packets.items.at(at));
    }
    return told;
  };
  const done = () => wait(() => $('state').hidden && run.result);
  return {
    async read() {
      await wait(() => $('state').hidden && (!$('error').hidden || !$('numbers').hidden));
      return $('error').hidden ? '' : $('error').textContent;
    },
    async paste(text) {
      $('text').value = text;
      $('paste').requestSubmit();
      return this.read();
    },
    // A packet with findings is chosen, and one of its fields.
    async posed() {
      document.querySelector('#packet-list [data-index="7"]').click();
      await wait(() => $('tree').querySelectorAll('.row').length > 12);
      $('tree').querySelectorAll('.row')[12].click();
      document.activeElement.blur();
      scrollTo(0, $('packet').offsetTop - 300);
      await new Promise((done) => setTimeout(done, 200));
    },
    // Presses a button for other packets.
    async turned(id) {
      $(id).click();
      await done();
      await wait(() => packets.items.at(0));
      return [packets.items.length, packets.items.at(0).frame, $('shown').textContent];
    },
    // Chooses a packet whose frame has to be read, and what is said of that.
    async complaint() {
      packets.choose(0, true);
      await wait(() => !$('error').hidden && !run.picking);
      return $('error').textContent;
    },
    async filter(text) {
      $('filter').value = text;
      $('filter-line').requestSubmit();
      await wait(() => run.filter === text);
      await done();
    },
    async by_field() {
      $('by').click();
      await wait(() => run.filter !== '');
      await done();
      return run.filter;
    },
    async press_all() {
      $('all').click();
      await done();
    },
    async submit() {
      $('filter-line').requestSubmit();
      await new Promise((later) => setTimeout(later, 200));
      await done();
    },
    // Types a filter: what is wrong, which part of it is underlined, and which names are offered.
    async typed(text) {
      $('filter').focus();
      $('filter').value = text;
      $('filter').setSelectionRange(text.length, text.length);
      await filterLine.typed();
      const wrong = $('copy').querySelector('.wrong');
      return [$('wrong').hidden ? null : $('wrong').textContent, wrong && wrong.textContent, filterLine.names];
    },
    // Presses Tab in the filter: what it is then, and whether the key was used up.
    async tab() {
      const event = new KeyboardEvent('keydown', { key: 'Tab', bubbles: true, cancelable: true });
      $('filter').dispatchEvent(event);
      await new Promise((later) => setTimeout(later, 200));
      return [$('filter').value, event.defaultPrevented];
    },
    // Chooses the second name by keys; the list of names is open before, and closed afterwards.
    async arrows() {
      await this.typed('udp.sr');
      const before = $('filter').getAttribute('aria-expanded');
      this.press_in('ArrowDown');
      this.press_in('Enter');
      await new Promise((later) => setTimeout(later, 200));
      return [$('filter').value, before, $('filter').getAttribute('aria-expanded')];
    },
    press_in(key) {
      $('filter').dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    },
    async rows() {
      return (await all()).map(({ src, name, players }) => [src, name, players]);
    },
    async frames() {
      return (await all()).map(({ frame }) => frame);
    },
    lines() {
      return [...$('tree').querySelectorAll('.row .text')].map((it) => it.textContent);
    },
    unfold(at) {
      $('tree').querySelectorAll('.fold')[at].click();
    },
    drop(names) {
      const dataTransfer = new DataTransfer();
      names.forEach((name) => dataTransfer.items.add(new File(['none'], name)));
      document.dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true }));
      return $('error').textContent;
    },
    again() {
      $('again').click();
    },
    // The trees of all packets as text.
    async trees(name, base64) {
      return ask(name, base64, async (engine) => {
        const { rows: count } = await engine.ask({ ask: 'read', filter: '', before: 0, version: 1 });
        const trees = [];
        for (let row = 0; row < count; row += 1) {
          const { packet } = await engine.ask({ ask: 'packet', row });
          trees.push(packet.lines.map((l) => `${'    '.repeat(l.level)}${l.name}${l.value}${l.place}\n`).join(''));
        }
        return trees;
      });
    },
    async report(name, base64, filter) {
      return ask(name, base64, async (engine) => (await engine.ask({ ask: 'report', filter })).html);
    },
    tiles() {
      return Object.fromEntries([...document.querySelectorAll('.tile')].map((t) => [t.dataset.number, Number(t.querySelector('dd').textContent)]));
    },
    length(list) {
      return lists[list].items.length;
    },
    async packet(at) {
      show('packets');
      packets.choose(at, true);
      await wait(() => $('packet-title').textContent.startsWith(`Frame ${packets.items.at(at)?.frame}:`) && !run.picking);
      return { title: $('packet-title').textContent, findings: $('packet-findings').children.length };
    },
    hover(name) {
      const row = [...$('tree').querySelectorAll('.row')].find((it) => it.querySelector('.name').textContent === name);
      row.dispatchEvent(new MouseEvent('mousemove', { bubbles: true }));
      return [...$('bytes').querySelectorAll('.digits .marked')].map((it) => it.textContent).join(' ');
    },
    byte(at) {
      $('bytes').querySelector(`.digits [data-at="${at}"]`).click();
      return words(chosen());
    },
    key(id, key) {
      $(id).dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
      return words(chosen());
    },
    // Presses everything that can be pressed.
    async press() {
      if (findings.items.length > 0) {
        show('findings');
        findings.choose(0, true);
        await wait(() => !run.picking);
        $('packet-findings').querySelector('button')?.click();
      }
      show('report');
      await wait(() => !$('frame').hidden && $('state').hidden);
    },
    overflow(view) {
      show(view);
      return Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth);
    },
    connects(place, way) {
      const url = `http://localhost:${location.port}/away`;
      const program = {
        fetch: (to) => fetch(to).then(() => 'connected'),
        socket: (to) => new Promise((done, fail) => {
          const socket = new WebSocket(to.replace('http', 'ws'));
          socket.onopen = () => done('connected');
          socket.onerror = fail;
        }),
        import: (to) => import(to).then(() => 'connected'),
      }[way];
      const text = `(${program})(${JSON.stringify(url)}).catch(() => 'refused')`;
      if (place === 'page') return program(url).catch(() => 'refused');
      const worker = new Worker(URL.createObjectURL(new Blob([`(async () => postMessage(await ${text}))()`])));
      return new Promise((done) => {
        worker.onmessage = ({ data }) => done(data);
        worker.onerror = () => done('refused');
      });
    },
  };
})()
