// Runs in the worker, behind the engine's own script. The page sends { ask, … } and gets { tell, … } back: any number of `progress`
// and `lines`, then one answer, or `error`.
const reader = new FileReaderSync();
const empty = new Uint8Array(0);
const ROOM = 16 << 20;
const AHEAD = 5 << 20;
const PIECE = 1 << 20;
let engine = null;
let file = null;
let told = 0;

// Bytes of the file from `start` on, `length` of them, always in the same memory: what a browser gives in memory of its own it frees late,
// and a tab would grow with the file.
let room = new Uint8Array(ROOM);
let held = { start: 0, length: 0 };
let stream = null;
let streamed = 0; // where in the file the stream is

self.takeTurn = async (next) => {
  let kept = held.start + held.length - next;
  if (next >= held.start && (kept >= AHEAD || (kept >= 0 && next + kept >= file.size))) return;
  if (next < held.start || kept < 0) kept = 0;
  room.copyWithin(0, held.length - kept, held.length);
  held = { start: next, length: kept };
  progress(next);
  if (!stream || streamed !== next + kept) {
    streamed = next + kept;
    stream?.cancel();
    stream = file.slice(streamed).stream().getReader({ mode: 'byob' });
  }
  try {
    while (held.length < ROOM) {
      const { done, value } = await stream.read(room.subarray(held.length));
      room = new Uint8Array(value.buffer);
      if (done) break;
      held.length += value.length;
      streamed += value.length;
    }
  } catch {
    // The file was changed or is gone, and the memory is lost with the stream. The engine is told when it reads on.
    [room, stream, held.length] = [new Uint8Array(ROOM), null, 0];
  }
};

self.readCapture = (offset, most) => {
  const from = offset - held.start;
  if (from >= 0 && from < held.length) return room.subarray(from, Math.min(from + most, held.length));
  // A compressed capture may need more than one turn brings.
  return offset < file.size ? new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + Math.min(most, PIECE)))) : empty;
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
    held = { start: 0, length: 0 };
    stream?.cancel();
    stream = null;
    engine = file ? wasm_bindgen.Engine.capture(asked.name) : wasm_bindgen.Engine.pasted(asked.text);
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

async function answer(asked) {
  try {
    postMessage({ tell: asked.ask, ...(await answers[asked.ask](asked)) });
  } catch (error) {
    postMessage({ tell: 'error', asked: asked.ask, why: String(error.message ?? error) });
  }
}

// One after the other: the engine waits in between.
let last = Promise.resolve();
self.onmessage = ({ data }) => {
  last = last.then(() => answer(data));
};
