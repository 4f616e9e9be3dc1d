import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'vitest/node';
import { patternOf } from './named-tests.ts';
import type { Tests } from './scratch.ts';

/** What is looked at in a node of a parsed test file. */
interface Node {
  readonly type: string;
  readonly name?: string;
  readonly value?: unknown;
  readonly callee?: Node;
  readonly object?: Node;
  readonly arguments?: readonly Node[];
  readonly quasis?: readonly { readonly value: { readonly raw: string } }[];
}

/** The text of a file at a commit; null: it is not there. */
export function textAt(root: string, commit: string, file: string): string | null {
  try {
    return execFileSync('git', ['show', `${commit}:${file}`], { cwd: root, encoding: 'utf8', stdio: 'pipe' });
  } catch {
    return null;
  }
}

/** Returns the titles of the tests of a file, as patterns of what is printed of them: what is put into a title may be anything. */
export function titlesIn(text: string): string[] {
  const found: string[] = [];
  const visit = (node: Node) => {
    const [title] = node.type === 'CallExpression' && isTest(node.callee) ? (node.arguments ?? []) : [];
    if (title?.type === 'Literal' && typeof title.value === 'string') found.push(patternOf([title.value]));
    if (title?.type === 'TemplateLiteral') found.push(patternOf((title.quasis ?? []).map(({ value }) => value.raw)));
    for (const child of Object.values(node).flat()) if (isNode(child)) visit(child);
  };
  visit(parseAst(text, { lang: 'ts' }) as unknown as Node);
  return found;
}

/** Whether a test is declared by calling it: `it`, `it.skip`, `it.each(…)`. */
function isTest(callee: Node | undefined): boolean {
  if (callee === undefined) return false;
  if (callee.type === 'Identifier') return callee.name === 'it' || callee.name === 'test';
  return isTest(callee.object ?? callee.callee);
}

/** The tests that a commit has and the working tree has not: whole files, and single titles of others. */
export function deletedSince(root: string, base: string): Tests[] {
  const args = ['diff', '--name-only', '--no-renames', '-z', base, '--', 'test'];
  const changed = execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\0');
  return changed
    .filter((file) => file.endsWith('.test.ts'))
    .flatMap((file): Tests[] => {
      const before = textAt(root, base, file);
      if (before === null) return [];
      if (!existsSync(join(root, file))) return [{ file, titles: null }];
      const left = new Set(titlesIn(readFileSync(join(root, file), 'utf8')));
      const titles = titlesIn(before).filter((title) => !left.has(title));
      return titles.length === 0 ? [] : [{ file, titles }];
    });
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}
