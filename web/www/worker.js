// Runs in the worker, after the engine's own script. The page sends requests { ask, … } and gets messages { tell, … } back: any number
// of `progress` and `lines`, then one answer or `error`.
const reader = new FileReaderSync();
const empty = new Uint8Array(0);
const BUFFER_SIZE = 16 << 20;
const READ_AHEAD = 5 << 20;
const PIECE = 1 << 20;
let engine = null;
let file = null;
let lastProgress = 0;

// A buffer with `length` bytes of the file from `start` on. It is reused, because browsers free the buffers that they allocate late, so that
// the memory of a tab would grow with the file.
let buffer = new Uint8Array(BUFFER_SIZE);
let buffered = { start: 0, length: 0 };
let stream = null;
let streamOffset = 0; // offset of the stream in the file

self.takeTurn = async (next) => {
  let kept = buffered.start + buffered.length - next;
  if (next >= buffered.start && (kept >= READ_AHEAD || (kept >= 0 && next + kept >= file.size))) return;
  if (next < buffered.start || kept < 0) kept = 0;
  buffer.copyWithin(0, buffered.length - kept, buffered.length);
  buffered = { start: next, length: kept };
  progress(next);
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

// The lines are in the engine's memory, so they are copied.
self.takeRecords = (lines) => {
  const copy = lines.slice();
  postMessage({ tell: 'lines', lines: copy }, [copy.buffer]);
};

// Reports the progress of reading, at most every 50 ms.
function progress(bytes) {
  if (performance.now() - lastProgress < 50) return;
  lastProgress = performance.now();
  postMessage({ tell: 'progress', bytes, of: file.size });
}

const answers = {
  async start({ module }) {
    await wasm_bindgen({ module_or_path: module });
    return {};
  },
  open(request) {
    file = request.file ?? null;
    buffered = { start: 0, length: 0 };
    stream?.cancel();
    stream = null;
    engine = file ? wasm_bindgen.Engine.capture(request.name) : wasm_bindgen.Engine.pasted(request.text);
    return { complaints: engine.complaints() };
  },
  async records({ before, most }) {
    return { why: await engine.records(before, most) };
  },
  async packet({ frame }) {
    return { packet: JSON.parse(await engine.packet(frame)) };
  },
  async report() {
    return { html: await engine.report() };
  },
};

async function answer(request) {
  try {
    postMessage({ tell: request.ask, ...(await answers[request.ask](request)) });
  } catch (error) {
    postMessage({ tell: 'error', asked: request.ask, why: String(error.message ?? error) });
  }
}

// Requests are answered one after the other, because the engine yields to the browser while it reads.
let last = Promise.resolve();
self.onmessage = ({ data }) => {
  last = last.then(() => answer(data));
};
