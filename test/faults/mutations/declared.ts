import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sourceFiles } from '../../architecture/import-graph.ts';

/** A function, class, constant or type that stands at the top of a file, or a member of such a class, and its text in the file. */
export interface Declared {
  readonly file: string;
  /** Of a member `Class.member`, or `Class.#member`. */
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

const modifiers = '(?:(?:export|default|declare|async|abstract|static|readonly|private|override|get|set) )*';
const atTop = new RegExp(String.raw`^${modifiers}(?:function\*?|class|const|let|interface|type) (\w+)`, 'gm');
const member = new RegExp(String.raw`^ {2}${modifiers}\*?(#?\w+|\[[\w.]+\])(?=[\s(:=;<!?])(?! *[,}])`, 'gm');

/** What a file declares. The formatter begins each declaration at the margin, each member two columns from it. */
export function declaredIn(file: string, text: string): Declared[] {
  const top = extents([...text.matchAll(atTop)], text.length);
  return top.flatMap(({ name, start, end }) => {
    const body = text.slice(start, end);
    if (!/^(?:export |abstract )*class /.test(body)) return [{ file, name, start, end }];
    const members = extents([...body.matchAll(member)], body.length);
    const own = members.map((each) => ({
      file,
      name: `${name}.${each.name}`,
      start: start + each.start,
      end: start + each.end,
    }));
    return [{ file, name, start, end }, ...own];
  });
}

/** Each begins where its name is declared, and ends where the next one does. */
function extents(found: readonly RegExpExecArray[], last: number): { name: string; start: number; end: number }[] {
  return found.map(({ index, 1: name = '' }, at) => ({ name, start: index, end: found[at + 1]?.index ?? last }));
}

/** Everything that is declared below a folder of sources, by its name. */
export function declaredBelow(root: string, folder = 'src'): Map<string, Declared[]> {
  const files = sourceFiles(join(root, folder)).map((name) => join(folder, name));
  return Map.groupBy(
    files.flatMap((file) => declaredIn(file, readFileSync(join(root, file), 'utf8'))),
    ({ name }) => name,
  );
}
