import { join, relative } from 'node:path';
import { allImports } from '../architecture/import-graph.ts';

/** Whoever starts the built program imports none of it. */
const buildsProgram = { file: 'test/fakes/built-program.ts', of: 'src/cli.ts' };

/**
 * Returns, for a file of `src/` or `test/`, test files that import it, at most `many`: half of them those that are named
 * most like it, however many steps away, the others those that are fewest steps away. Of those as far away first the ones
 * that import least, which are about little else. A file that is read instead of imported stands behind its `readers`.
 */
export function nearestTests(root: string, many = 18): (file: string, readers?: readonly string[]) => string[] {
  const imports = ['src', 'test'].flatMap((folder) =>
    allImports(join(root, folder)).map(({ file, of }) => ({
      file: join(folder, file),
      of: of.endsWith('.ts') ? relative(root, join(root, folder, of)) : of,
    })),
  );
  imports.push(buildsProgram);
  const importers = Map.groupBy(imports, ({ of }) => of);
  const breadth = Map.groupBy(imports, ({ file }) => file);
  const all = [...breadth.keys()].filter((each) => each.endsWith('.test.ts'));
  const common = Map.groupBy(
    all.flatMap((test) => [...wordsOf(test).keys()]),
    (word) => word,
  );
  /** What many files have in their names says little, and a folder less than what is in it. */
  const likeness = (file: string, test: string) => {
    const words = wordsOf(file);
    const weights = [...wordsOf(test).keys()].map(
      (word) => (words.get(word) ?? 0) / Math.log2(1 + (common.get(word)?.length ?? 1)),
    );
    return weights.reduce((sum, weight) => sum + weight, 0);
  };
  return (file, readers = [file]) => {
    const seen = new Set(readers);
    const found = readers.filter((each) => each.endsWith('.test.ts'));
    let step = [...readers];
    while (step.length > 0) {
      step = step.flatMap((each) => (importers.get(each) ?? []).map((arrow) => arrow.file));
      step = [...new Set(step)].filter((each) => !seen.has(each));
      for (const each of step) seen.add(each);
      const tests = step.filter((each) => each.endsWith('.test.ts'));
      found.push(...tests.sort((a, b) => (breadth.get(a)?.length ?? 0) - (breadth.get(b)?.length ?? 0)));
    }
    const alike = found.filter((test) => likeness(file, test) > 0);
    alike.sort((a, b) => likeness(file, b) - likeness(file, a));
    return [...new Set([...alike.slice(0, many / 2), ...found])].slice(0, many);
  };
}

/** The beginnings of the words of a path and their weights: of `src/catalogue/image-file/outcomes.ts` outc 3, imag and file 2, cata 1. */
function wordsOf(path: string): Map<string, number> {
  const parts = path.split('/').slice(1).reverse();
  const words = parts.flatMap((part, index) => {
    const [name = ''] = part.split('.');
    return name.split('-').map((word) => [word.slice(0, 4), Math.max(3 - index, 1)] as const);
  });
  return new Map(words.reverse());
}
