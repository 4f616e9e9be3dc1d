import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { instant } from '../../../src/kernel/clock.ts';
import { openReadOnly } from '../../../src/kernel/sqlite/read-only.ts';
import { openInbox } from '../../../src/receiver/inbox.ts';
import { temporaryDirectory, testMirror } from '../../fakes/test-mirror.ts';

const inRepository = (path: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8'));

const ofColumns = `SELECT t.name || '.' || c.name AS name FROM pragma_table_list t JOIN pragma_table_xinfo(t.name) c
  WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%' ORDER BY 1`;

function storedNames(): string[] {
  using test = testMirror();
  using directory = temporaryDirectory();
  const path = `${directory.path}/inbox.db`;
  openInbox(path, { master: null, now: instant(0), deliveries_bytes: 1_000_000 })[Symbol.dispose]();
  const inbox = openReadOnly(path);
  const names = [...test.all<{ name: string }>(ofColumns), ...inbox.prepare<[], { name: string }>(ofColumns).all()];
  inbox.close();
  return names.map(({ name }) => name);
}

/** The names of configuration keys, wherever the schema holds some. */
function keysOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own = 'properties' in schema ? Object.keys(schema.properties as object) : [];
  return [...own, ...Object.values(schema).flatMap(keysOf)];
}

/** Of each output but those whose list is of values: `check: reasons`. */
function printedFields(): string[] {
  const { outputs } = inRepository('schema/contract.json') as { outputs: Record<string, string[]> };
  const ofValues = ['check: verdict', 'check: reasons'];
  return Object.entries(outputs).flatMap(([name, fields]) => (ofValues.includes(name) ? [] : fields));
}

/** Names of one form: words in lower case, joined by underscores; dots and brackets part a path. */
function otherForms(names: readonly string[]): string[] {
  return names.filter((name) => !/^[a-z0-9_.[\]]+$/.test(name));
}

describe('what is stored or sent is snake_case', () => {
  it.each([
    ['columns of both files', storedNames],
    ['configuration keys', () => keysOf(inRepository('schema/config.schema.json'))],
    ['fields that commands print', printedFields],
  ])('%s', (_, names) => {
    const found = names();
    expect(found.length).toBeGreaterThan(50);
    expect(otherForms(found)).toEqual([]);
  });

  it('is watched by a test that sees another form (control)', () => {
    expect(otherForms(['checked_at', 'checkedAt', 'jobs[].next_at', 'Checked'])).toEqual(['checkedAt', 'Checked']);
  });
});
