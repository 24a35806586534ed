// Asks servers with gamedig. Reads lines of JSON, {"protocol", "port"}, and answers each with a line: what it has read, or {"error"}.

import { createInterface } from 'node:readline'
import { createRequire } from 'node:module'

// The package is where the script's caller has installed it.
const require = createRequire(process.env.CLIENTS + '/')
const { GameDig } = await import(require.resolve('gamedig'))

// OpenTTD is not among them: gamedig asks for the TCP query of its later versions.
const TYPES = {
  a2s: 'protocol-valve',
  armagetron: 'protocol-armagetron',
  ase: 'protocol-ase',
  doom3: 'protocol-doom3',
  gamespy1: 'protocol-gamespy1',
  gamespy2: 'protocol-gamespy2',
  gamespy3: 'protocol-gamespy3',
  mumble: 'protocol-mumbleping',
  quake3: 'protocol-quake3',
  raknet: 'protocol-minecraftbedrock',
  samp: 'protocol-samp',
  unreal2: 'protocol-unreal2'
}

async function ask ({ protocol, port }) {
  const options = { host: '127.0.0.1', port, givenPortOnly: true, socketTimeout: 1000, attemptTimeout: 4000, maxRetries: 1 }
  try {
    const state = await GameDig.query({ type: TYPES[protocol], ...options })
    return { name: state.name, map: state.map, players: state.numplayers, max: state.maxplayers }
  } catch (error) {
    const text = String(error.stack)
    if (/timed out|timeout/i.test(text)) return { error: 'no answer' }
    const errors = [...text.matchAll(/\b(\w*Error)(?:: ([^\n]{1,60}))?/g)]
    const [, kind, what] = errors.pop() ?? [null, 'Error']
    return { error: what === undefined ? kind : `${kind}: ${what}`.replaceAll('|', '/') }
  }
}

if (process.argv.length > 2) {
  console.log(JSON.stringify({ gamedig: Object.keys(TYPES) }))
} else {
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await ask(JSON.parse(line))))
  }
}
