import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

/** One import: both are paths below the source folder, or `of` is the name of a package. */
export interface Import {
  readonly file: string;
  readonly of: string;
}

/** Boxes and the arrows between them. A box is a file or a folder; a floor is how far a box is from those that import nothing. */
export interface ImportGraph {
  readonly boxes: readonly string[];
  readonly arrows: readonly (readonly [from: string, to: string])[];
  readonly floors: number;
  /** Boxes that reach each other, in groups. */
  readonly cycles: readonly (readonly string[])[];
}

/** The imports of one file's text, types included; `src` is the folder that `file` lies below. */
export function importsIn(src: string, file: string, text: string): Import[] {
  const found = text.matchAll(/(?:\bfrom |\bimport |\bimport\(|\brequire\()'([^'\n]+)'/g);
  return [...found].map(([, name = '']) => ({
    file,
    of: name.startsWith('.') ? relative(src, normalize(join(src, dirname(file), name))) : name,
  }));
}

/** Of what is imported from within a package, the package. */
export function packageOf(target: string): string {
  return target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Every TypeScript file below a folder, relative to it, in order. */
export function sourceFiles(src: string): string[] {
  return readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .sort();
}

/** Every folder that one of these files lies in, directly or deeper. */
export function foldersOf(files: readonly string[]): string[] {
  const parts = files.map((file) => file.split('/').slice(0, -1));
  return [...new Set(parts.flatMap((path) => path.map((_, at) => path.slice(0, at + 1).join('/'))))];
}

/** Every cycle within a room, by the folder whose files and folders it lies in. */
export function allCycles(imports: readonly Import[]): string[] {
  return [...foldersOf(imports.map(({ file }) => file))].flatMap((folder) =>
    importGraph(imports, folder).cycles.map((boxes) => `${folder}: ${boxes.join(' ⇄ ')}`),
  );
}

/** All imports below a folder. */
export function allImports(src: string): Import[] {
  return sourceFiles(src).flatMap((file) => importsIn(src, file, readFileSync(join(src, file), 'utf8')));
}

/**
 * The graph of what lies directly in `below` (a folder relative to the source folder; '' is the whole): each of its
 * files and folders is a box. Imports from or to elsewhere, and of packages, are left out.
 */
export function importGraph(imports: readonly Import[], below = ''): ImportGraph {
  const prefix = below === '' ? '' : `${below}/`;
  const boxOf = (file: string) =>
    file.endsWith('.ts') && file.startsWith(prefix) ? file.slice(prefix.length).split('/')[0] : undefined;
  const targets = new Map<string, Set<string>>();
  const reach = (box: string) => targets.get(box) ?? targets.set(box, new Set()).get(box) ?? new Set();
  for (const { file, of } of imports) {
    const [from, to] = [boxOf(file), boxOf(of)];
    if (from !== undefined) reach(from);
    if (to !== undefined) reach(to);
    if (from !== undefined && to !== undefined && from !== to) reach(from).add(to);
  }
  const boxes = [...targets.keys()].sort();
  const cycles = knots(targets);
  const knotOf = new Map(cycles.flatMap((knot) => knot.map((box) => [box, knot[0] ?? box] as const)));
  const heights = new Map<string, number>();
  const height = (box: string): number => {
    const name = knotOf.get(box) ?? box;
    const known = heights.get(name);
    if (known !== undefined) return known;
    heights.set(name, 0);
    const members = boxes.filter((each) => (knotOf.get(each) ?? each) === name);
    const others = members.flatMap((each) => [...reach(each)]).filter((each) => (knotOf.get(each) ?? each) !== name);
    const own = others.length === 0 ? 0 : 1 + Math.max(...others.map(height));
    heights.set(name, own);
    return own;
  };
  return {
    boxes,
    arrows: boxes.flatMap((from) => [...reach(from)].sort().map((to) => [from, to] as const)),
    floors: boxes.length === 0 ? 0 : 1 + Math.max(...boxes.map(height)),
    cycles,
  };
}

/** Strongly connected groups of more than one (Tarjan). */
function knots(targets: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (box: string): number => {
    index.set(box, index.size);
    low.set(box, index.get(box) ?? 0);
    stack.push(box);
    for (const next of targets.get(box) ?? []) {
      const reached = index.has(next) ? (stack.includes(next) ? (index.get(next) ?? 0) : Infinity) : visit(next);
      low.set(box, Math.min(low.get(box) ?? 0, reached));
    }
    if (low.get(box) === index.get(box)) {
      const group = stack.splice(stack.indexOf(box)).sort();
      if (group.length > 1) found.push(group);
    }
    return low.get(box) ?? 0;
  };
  for (const box of targets.keys()) if (!index.has(box)) visit(box);
  return found.sort();
}
