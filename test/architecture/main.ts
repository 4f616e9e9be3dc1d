import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { table } from '../../src/commands/terminal/table.ts';
import { allImports, foldersOf, importGraph, sourceFiles } from './import-graph.ts';

/*
 * `node test/architecture/main.ts [SRC]`: the import graph of the whole and of each folder that has more than one box:
 * boxes, floors, arrows, cycles; then files over 300 lines. With `--cycles` only the cycles are printed, and nothing where
 * there are none: part of `npm run check`. Exit 1: there is a cycle between boxes.
 */
const { values, positionals } = parseArgs({ options: { cycles: { type: 'boolean' } }, allowPositionals: true });
const src = positionals[0] ?? join(import.meta.dirname, '../../src');
const imports = allImports(src);
const files = sourceFiles(src);
const folders = foldersOf(files);
const graphs = ['', ...folders.sort()]
  .map((folder) => ({ folder, graph: importGraph(imports, folder) }))
  .filter(({ graph }) => graph.boxes.length > 1);
const cyclic = graphs.filter(({ graph }) => graph.cycles.length > 0);
const printed = (cycles: readonly (readonly string[])[]) => cycles.map((knot) => knot.join(' ⇄ ')).join('; ');
if (values.cycles)
  for (const { folder, graph } of cyclic)
    process.stdout.write(`src/${folder}: files or folders import each other: ${printed(graph.cycles)}\n`);
else {
  const rows = graphs.map(({ folder, graph: { boxes, floors, arrows, cycles } }) => [
    `src/${folder}`,
    boxes.length,
    floors,
    arrows.length,
    cycles.length,
    printed(cycles),
  ]);
  const long = files
    .map((file) => [file, readFileSync(join(src, file), 'utf8').split('\n').length - 1] as const)
    .filter(([, lines]) => lines > 300);
  process.stdout.write(`${table(['folder', 'boxes', 'floors', 'arrows', 'cycles', ''], rows)}\n`);
  process.stdout.write(
    `${files.length} files; over 300 lines: ${long.map(([file, lines]) => `${file} ${lines}`).join(', ') || 'none'}\n`,
  );
}
process.exitCode = cyclic.length === 0 ? 0 : 1;
