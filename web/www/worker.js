// Runs in the worker, after the engine's own script. The page sends requests { id, ask, … } and gets { id, … } or { id, error } back, and
// in between any number of { progress }.
const reader = new FileReaderSync();
const empty = new Uint8Array(0);
const BUFFER_SIZE = 16 << 20;
const READ_AHEAD = 5 << 20;
const PIECE = 1 << 20;
// Bytes around those asked for here and there: frames of neighbouring rows are close together.
const AROUND = 256 << 10;
// For so many milliseconds, the engine reads without a turn for the browser.
const TURN = 80;
let engine = null;
let file = null;
let lastTurn = 0;
// The reading that rows and packets are of.
let version = 0;

// A buffer with `length` bytes of the file from `start` on. It is reused, because browsers free the buffers that they allocate late, so that
// the memory of a tab would grow with the file.
let buffer = new Uint8Array(BUFFER_SIZE);
let buffered = { start: 0, length: 0 };
let stream = null;
let streamOffset = 0; // offset of the stream in the file

self.takeTurn = async (next) => {
  if (performance.now() - lastTurn > TURN) {
    postMessage({ progress: { bytes: Math.min(next, file.size), of: file.size, rows: engine.rows(), version } });
    // Requests for rows are answered meanwhile.
    await new Promise((done) => setTimeout(done, 0));
    lastTurn = performance.now();
  }
  let kept = buffered.start + buffered.length - next;
  if (next >= buffered.start && (kept >= READ_AHEAD || (kept >= 0 && next + kept >= file.size))) return;
  if (next < buffered.start || kept < 0) kept = 0;
  buffer.copyWithin(0, buffered.length - kept, buffered.length);
  buffered = { start: next, length: kept };
  if (!stream || streamOffset !== next + kept) {
    streamOffset = next + kept;
    stream?.cancel();
    stream = file.slice(streamOffset).stream().getReader({ mode: 'byob' });
  }
  try {
    while (buffered.length < BUFFER_SIZE) {
      const { done, value } = await stream.read(buffer.subarray(buffered.length));
      buffer = new Uint8Array(value.buffer);
      if (done) break;
      buffered.length += value.length;
      streamOffset += value.length;
    }
  } catch {
    // The file was changed or removed, and the buffer is lost with the stream. The engine gets the error at its next read.
    [buffer, stream, buffered.length] = [new Uint8Array(BUFFER_SIZE), null, 0];
  }
};

self.readCapture = (offset, limit) => {
  const from = offset - buffered.start;
  if (from >= 0 && from < buffered.length) return buffer.subarray(from, Math.min(from + limit, buffered.length));
  // A compressed capture may need more bytes than one turn reads.
  return offset < file.size ? new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + Math.min(limit, PIECE)))) : empty;
};

// What was read here or there last.
let around = { start: 0, bytes: empty };

self.readBytes = (offset, length) => {
  if (offset < around.start || offset + length > around.start + around.bytes.length) {
    const bytes = new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + Math.max(length, AROUND))));
    around = { start: offset, bytes };
  }
  return around.bytes.subarray(offset - around.start, offset - around.start + length);
};

// Requests that are answered at once, also while the engine reads. One that returns undefined is answered by the second function, in
// its turn.
const atOnce = {
  stop: () => { engine?.stop(); return {}; },
  typed: ({ text, cursor }) => JSON.parse(wasm_bindgen.typed(text, cursor)),
  list: ({ from, to }) => ({ rows: JSON.parse(engine.list(from, to)), version }),
  fieldFilter: ({ row, line }) => ({ filter: engine.field_filter(row, line) ?? null, version }),
  packet({ row }) {
    const packet = engine.packet(row);
    return packet === undefined ? undefined : { packet: JSON.parse(packet), version };
  },
};

// Requests that are answered one after the other.
const inTurn = {
  async start({ module }) {
    await wasm_bindgen({ module_or_path: module });
    return {};
  },
  open(request) {
    file = request.file ?? null;
    [buffered, around] = [{ start: 0, length: 0 }, { start: 0, bytes: empty }];
    stream?.cancel();
    stream = null;
    engine = file ? wasm_bindgen.Engine.capture(request.name) : wasm_bindgen.Engine.pasted(request.text);
    return { complaints: engine.complaints() };
  },
  async read({ filter, before, version: next }) {
    version = next;
    return JSON.parse(await engine.read(filter, before));
  },
  async packet({ row }) {
    return { packet: JSON.parse(await engine.packet_again(row)), version };
  },
  async report({ filter }) {
    return { html: await engine.report(filter) };
  },
};

async function answer(request) {
  try {
    postMessage({ id: request.id, ...(await inTurn[request.ask](request)) });
  } catch (error) {
    refuse(request, error);
  }
}

function refuse({ id }, error) {
  postMessage({ id, error: String(error.message ?? error) });
}

let last = Promise.resolve();
self.onmessage = ({ data }) => {
  try {
    const now = atOnce[data.ask]?.(data);
    if (now) postMessage({ id: data.id, ...now });
    else last = last.then(() => answer(data));
  } catch (error) {
    refuse(data, error);
  }
};
