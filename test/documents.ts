import { readdirSync, readFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);

/** Where each section stands that a test keeps true: everything that moves it changes this line only. */
const homes = {
  'Every word as it is typed': 'docs/search.md',
  'How often records are read': 'docs/operating.md',
  'What is supported': 'docs/operating.md',
  Jobs: 'docs/operating.md',
  'Exit codes': 'docs/troubleshooting.md',
  'Every assumption, and what you see if it is wrong': 'docs/reference/assumptions.md',
  'Open points of the specification': 'docs/reference/assumptions.md',
  Dependencies: 'docs/architecture.md',
  'Read it': 'README.md',
  'What you can rely on': 'README.md',
} as const;

export function document(path: string): string {
  return readFileSync(new URL(path, root), 'utf8');
}

/** Returns what stands under a heading, up to the next one. */
export function section(heading: keyof typeof homes): string {
  const found = document(homes[heading])
    .split(/^#{1,3} /m)
    .find((each) => each.startsWith(`${heading}\n`));
  if (found === undefined) throw new Error(`${homes[heading]} has no section "${heading}"`);
  return found.slice(heading.length + 1);
}

/** Returns the first column of the table in a section: what stands in backticks, or a number. */
export function firstColumn(heading: keyof typeof homes): string[] {
  const cells = [...section(heading).matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = '']) => cell);
  return cells.flatMap((cell) =>
    [...cell.matchAll(/`([^`]+)`|^(\d+)$/g)].map(([, code, digits]) => code ?? digits ?? ''),
  );
}

/** Paths of the README, of what lies beside it, and of everything in docs/ and below. */
export const documents: readonly string[] = [
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...readdirSync(new URL('docs/', root), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** Returns a document with its parts made again, each between `<!-- name -->` and `<!-- end of name -->`. */
export function withParts(text: string, parts: Readonly<Record<string, string>>): string {
  return Object.entries(parts).reduce((made, [name, part]) => {
    const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
    const [before, rest] = made.split(begin);
    const after = rest?.split(end)[1];
    if (before === undefined || after === undefined) throw new Error(`the document has no part ${name}`);
    return `${before}${begin}\n${part}\n${end}${after}`;
  }, text);
}

/** Returns the `sql` blocks of a document, but for those of PostgreSQL: roles, grants and replication. */
export function sqliteStatements(path: string): string[] {
  return [...document(path).matchAll(/```sql\n(.*?)```/gs)]
    .map(([, text = '']) => text)
    .filter((text) => !/\b(ROLE|GRANT|PUBLICATION|SUBSCRIPTION)\b/.test(text));
}
