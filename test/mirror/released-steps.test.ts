import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { columnsOf, markOf } from '../../src/kernel/sqlite/columns.ts';
import { compareVersions, type FileKind, oldestSafeOf, schemaVersion } from '../../src/kernel/sqlite/file-kind.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import { version } from '../../src/package.ts';
import { inboxFile } from '../../src/receiver/inbox.ts';

/**
 * SHA-256 of each step that a release has brought to somebody's files. No line of it is ever edited: a file that has taken a
 * step never takes it again. The last step may be edited until its version is released: its line is written here by then.
 */
const released: Readonly<Record<string, string>> = {
  'inbox/0001-base.sql': '5cec99811961eee5a01a06723424e9acc5cda7cf11d08ee280e06fa15ee56dcd',
  'mirror/0001-base.sql': '4e5947ab3ff84c7be216c66798e1d2d10fcda7beac16546a144eccb3285bc8c6',
};

interface Step {
  readonly path: string;
  readonly text: string;
}

const kinds: readonly FileKind[] = [inboxFile, mirrorFile];
const steps: readonly Step[] = kinds.flatMap(({ name, migrations }) =>
  readdirSync(migrations)
    .filter((file) => /^\d{4}-/.test(file))
    .sort()
    .map((file) => ({ path: `${name}/${file}`, text: readFileSync(new URL(file, migrations), 'utf8') })),
);

/** Returns the steps that are not as they were released, or that a released version brought and this table lacks. */
function wrongIn(found: readonly Step[], current = version): string[] {
  const gone = Object.keys(released).filter((path) => found.every((each) => each.path !== path));
  const changed = found.filter(({ path, text }) =>
    path in released ? hash('sha256', text) !== released[path] : compareVersions(oldestSafeOf(text), current) <= 0,
  );
  return [...gone, ...changed.map(({ path }) => path)];
}

describe('a released step of the schema', () => {
  it('stands byte for byte as it was released, and one that is not listed yet belongs to a version still to come', () => {
    expect(wrongIn(steps)).toEqual([]);
  });

  it('is followed by at most one step that may still be edited, of each file, named after its version', () => {
    for (const { name } of kinds) {
      const open = steps.filter(({ path }) => path.startsWith(`${name}/`) && !(path in released));
      expect(open.length).toBeLessThanOrEqual(1);
      for (const { path, text } of open) expect(path).toMatch(new RegExp(`/\\d{4}-${oldestSafeOf(text)}\\.sql$`));
    }
  });

  it('names the mark of the columns it leads to, so that no command makes the schema to know them (0001: it may not be edited)', () => {
    for (const kind of kinds) {
      const later = steps.filter(({ path }) => path.startsWith(`${kind.name}/`)).slice(1);
      for (const [at, { text }] of later.entries())
        expect(text).toContain(`\n-- Columns: ${markOf(columnsOf(kind, at + 2))}\n`);
    }
  });

  it('is missed where it is edited or gone, and one of a version that is released now where it has no checksum (controls)', () => {
    const edited = steps.map((step) =>
      step.path === 'mirror/0001-base.sql' ? { ...step, text: `${step.text}\n` } : step,
    );
    expect(wrongIn(edited)).toEqual(['mirror/0001-base.sql']);
    expect(wrongIn(steps.filter(({ path }) => path !== 'inbox/0001-base.sql'))).toEqual(['inbox/0001-base.sql']);
    const next = { path: 'mirror/0099-1.9.0.sql', text: '-- Oldest safe version: 1.9.0\n' };
    expect(wrongIn([...steps, next], '1.8.0').concat(wrongIn([...steps, next], '1.9.0'))).toContain(next.path);
    expect(wrongIn([...steps, next], version)).toEqual([]);
  });

  it.each(kinds)('keeps the order of columns, and adds new ones last, as PostgreSQL does ($name)', (kind) => {
    const newest = columnsOf(kind, schemaVersion(kind));
    for (let version = 1; version < schemaVersion(kind); version += 1)
      for (const [table, columns] of columnsOf(kind, version)) {
        const now = newest.get(table) ?? new Set();
        expect([table, ...now]).toEqual([table, ...columns.intersection(now), ...now.difference(columns)]);
      }
  });
});
