import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { table } from '../../src/commands/terminal/table.ts';
import { allImports, importGraph, sourceFiles } from './import-graph.ts';

/*
 * `node test/architecture/main.ts [SRC]`: the import graph of the whole and of each folder that has more than one box:
 * boxes, floors, arrows, cycles; then files over 300 lines. Exit 1: there is a cycle between boxes. Part of `npm run check`.
 */
const src = process.argv[2] ?? join(import.meta.dirname, '../../src');
const imports = allImports(src);
const files = sourceFiles(src);
const folders = [
  ...new Set(
    files.flatMap((file) =>
      file
        .split('/')
        .slice(0, -1)
        .map((_, at, parts) => parts.slice(0, at + 1).join('/')),
    ),
  ),
];
const rows: (string | number)[][] = [];
let cycles = 0;
for (const folder of ['', ...folders.sort()]) {
  const graph = importGraph(imports, folder);
  if (graph.boxes.length < 2) continue;
  cycles += graph.cycles.length;
  const knots = graph.cycles.map((knot) => knot.join(' ⇄ ')).join('; ');
  rows.push([`src/${folder}`, graph.boxes.length, graph.floors, graph.arrows.length, graph.cycles.length, knots]);
}
const long = files
  .map((file) => [file, readFileSync(join(src, file), 'utf8').split('\n').length - 1] as const)
  .filter(([, lines]) => lines > 300);
process.stdout.write(`${table(['folder', 'boxes', 'floors', 'arrows', 'cycles', ''], rows)}\n`);
process.stdout.write(
  `${files.length} files; over 300 lines: ${long.map(([file, lines]) => `${file} ${lines}`).join(', ') || 'none'}\n`,
);
process.exitCode = cycles === 0 ? 0 : 1;
