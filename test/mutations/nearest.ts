import { join, relative } from 'node:path';
import { allImports } from '../architecture/import-graph.ts';

/**
 * Returns, for a file of `src/`, the test files that import it in the fewest steps, at most `many`: of those as far away
 * first the ones that import least, which are about little else.
 */
export function nearestTests(root: string, many = 18): (file: string) => string[] {
  const imports = ['src', 'test'].flatMap((folder) =>
    allImports(join(root, folder)).map(({ file, of }) => ({
      file: join(folder, file),
      of: of.endsWith('.ts') ? relative(root, join(root, folder, of)) : of,
    })),
  );
  const importers = Map.groupBy(imports, ({ of }) => of);
  const breadth = Map.groupBy(imports, ({ file }) => file);
  return (file) => {
    const seen = new Set([file]);
    const found: string[] = [];
    let step = [file];
    while (step.length > 0 && found.length < many) {
      step = step.flatMap((each) => (importers.get(each) ?? []).map((arrow) => arrow.file));
      step = [...new Set(step)].filter((each) => !seen.has(each));
      for (const each of step) seen.add(each);
      const tests = step.filter((each) => each.endsWith('.test.ts'));
      found.push(...tests.sort((a, b) => (breadth.get(a)?.length ?? 0) - (breadth.get(b)?.length ?? 0)));
    }
    return found.slice(0, many);
  };
}
