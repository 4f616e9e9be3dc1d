import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { table } from '../../src/commands/terminal/table.ts';
import { commandLine } from '../command-line.ts';
import { exportedTypesIn, homonyms } from './exported-types.ts';
import { allImports, foldersOf, importGraph, sourceFiles } from './import-graph.ts';
import { layersOf } from './rooms.ts';

const command = commandLine(
  'npm run graph --',
  'Prints the import graph of the rooms in each layer, and of each folder with more than one box: boxes, floors, arrows, cycles. Exit 0: no problem.',
  { '': 'of src', '--problems': 'part of npm run check' },
)
  .argument('[src]', 'of this folder', join(import.meta.dirname, '../../src'))
  .option('--problems', 'only cycles, and one name for two exported types')
  .parse();
const [src] = command.processedArgs as [string];
const { problems: brief } = command.opts<{ problems?: true }>();
const imports = allImports(src);
const files = sourceFiles(src);
const folders = foldersOf(files);
const graphs = [
  ...layersOf(imports).map(([name, within]) => ({ folder: `rooms in ${name}`, graph: importGraph(within) })),
  ...folders.sort().map((folder) => ({ folder: `src/${folder}`, graph: importGraph(imports, folder) })),
].filter(({ graph }) => graph.boxes.length > 1);
const cyclic = graphs.filter(({ graph }) => graph.cycles.length > 0);
const printed = (cycles: readonly (readonly string[])[]) => cycles.map((knot) => knot.join(' ⇄ ')).join('; ');
const texts = files.map((file) => [file, readFileSync(join(src, file), 'utf8')] as const);
const problems = [
  ...cyclic.map(({ folder, graph }) => `${folder}: they import each other: ${printed(graph.cycles)}`),
  ...homonyms(texts.flatMap(([file, text]) => exportedTypesIn(file, text))).map(
    (each) => `one name for two exported types: ${each}`,
  ),
];
if (brief) for (const problem of problems) process.stdout.write(`${problem}\n`);
else {
  const rows = graphs.map(({ folder, graph: { boxes, floors, arrows, cycles } }) => [
    folder,
    boxes.length,
    floors,
    arrows.length,
    cycles.length,
    printed(cycles),
  ]);
  process.stdout.write(`${table(['folder', 'boxes', 'floors', 'arrows', 'cycles', ''], rows)}\n`);
  process.stdout.write(`${files.length} files\n`);
}
process.exitCode = problems.length === 0 ? 0 : 1;
