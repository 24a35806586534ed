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
  const ask = async (name, base64, ...questions) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const parts = [];
    const engine = new Engine((data) => { if (data.tell === 'lines') parts.push(new TextDecoder().decode(data.lines)); });
    await engine.start();
    await engine.ask({ ask: 'open', name, file: new File([bytes], name) });
    let last;
    for (const question of questions) last = await engine.ask(question).catch((error) => ({ html: String(error) }));
    engine.end();
    return { parts, last };
  };
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
      scrollTo(0, $('packets').offsetTop - 120);
      await new Promise((done) => setTimeout(done, 200));
    },
    // Presses the button for later packets twice at once.
    async later() {
      $('behind').click();
      $('behind').click();
      await wait(() => $('state').hidden && !$('behind').disabled);
      return [packets.items.length, packets.items[0].frame, $('shown').textContent];
    },
    // Chooses a packet that has to be read again, and what is said of that.
    async complaint() {
      packets.choose(0, true);
      await wait(() => !$('error').hidden && !run.picking);
      return $('error').textContent;
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
    async records(name, base64) {
      return (await ask(name, base64, { ask: 'records', before: 0, most: 2 ** 53 })).parts.join('');
    },
    async report(name, base64) {
      return (await ask(name, base64, { ask: 'report' })).last.html;
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
      await wait(() => $('packet-title').textContent.startsWith(`Frame ${packets.items[at].frame}:`) && !run.picking);
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
