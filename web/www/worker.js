// Runs in the worker, behind the engine's own script. The page sends { ask, … } and gets { tell, … } back: any number of `progress`
// and `lines`, then one answer, or `error`.
const reader = new FileReaderSync();
const empty = new Uint8Array(0);
const BLOCK = 4 << 20;
let block = { start: 0, bytes: empty };
let engine = null;
let file = null;
let told = 0;

// The file is read in blocks: each asks the browser, which takes a while.
self.readCapture = (offset, most) => {
  if (offset >= file.size) return empty;
  if (offset < block.start || offset >= block.start + block.bytes.length) {
    progress(offset);
    block = { start: offset, bytes: new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + BLOCK))) };
  }
  const from = offset - block.start;
  return block.bytes.subarray(from, from + most);
};

// The lines stand in the engine's memory, so they are copied.
self.takeRecords = (lines) => {
  const copy = lines.slice();
  postMessage({ tell: 'lines', lines: copy }, [copy.buffer]);
};

// Says how far the reading has come, but not too often.
function progress(bytes) {
  if (performance.now() - told < 50) return;
  told = performance.now();
  postMessage({ tell: 'progress', bytes, of: file.size });
}

const answers = {
  async start({ module }) {
    await wasm_bindgen({ module_or_path: module });
    return {};
  },
  open(asked) {
    file = asked.file ?? null;
    block = { start: 0, bytes: empty };
    engine = file ? wasm_bindgen.Engine.capture(asked.name) : wasm_bindgen.Engine.pasted(asked.text);
    return { complaints: engine.complaints() };
  },
  records({ before, most }) {
    return { why: engine.records(before, most) };
  },
  packet({ frame }) {
    return { packet: JSON.parse(engine.packet(frame)) };
  },
  report() {
    return { html: engine.report() };
  },
};

self.onmessage = async ({ data }) => {
  try {
    postMessage({ tell: data.ask, ...(await answers[data.ask](data)) });
  } catch (error) {
    postMessage({ tell: 'error', asked: data.ask, why: String(error.message ?? error) });
  }
};
