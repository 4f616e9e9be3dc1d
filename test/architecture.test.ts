import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  castingInstants,
  readingClockOrChance,
  statementsWithClock,
  takingMoreThanInstants,
} from './architecture/clock-and-chance.ts';
import { exportedTypesIn, homonyms } from './architecture/exported-types.ts';
import { allCycles, allImports, importsIn, sourceFiles } from './architecture/import-graph.ts';
import { broken, cyclesOfRooms, picture, rooms, unused } from './architecture/rooms.ts';
import { asking, buildingStatements } from './architecture/suffixes.ts';
import { document } from './documents.ts';

const src = fileURLToPath(new URL('../src/', import.meta.url));
const files = sourceFiles(src);
const imports = allImports(src);
const schema = fileURLToPath(new URL('../schema/', import.meta.url));
const migrations = ['mirror', 'inbox'].flatMap((file) =>
  readdirSync(join(schema, file), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.sql'))
    .map((name) => readFileSync(join(schema, file, name), 'utf8')),
);
const texts = files.map((file) => [file, readFileSync(join(src, file), 'utf8')] as const);
const exported = texts.flatMap(([file, text]) => exportedTypesIn(file, text));

/** Files that have Node make a directory and those above it in one call. */
const makingManyDirectories = (found: readonly (readonly [file: string, text: string])[]) =>
  found.filter(([, text]) => /\bmkdir(?:Sync)?\([^;]*recursive/.test(text)).map(([file]) => file);

describe('the architecture', () => {
  it('knows every room', () => {
    const found = new Set(files.filter((file) => file.includes('/')).map((file) => file.split('/')[0]));
    expect([...found].sort()).toEqual(Object.keys(rooms).sort());
  });

  it('holds: rooms and layers import what they may, and each library has one door', () => {
    expect(imports.length).toBeGreaterThan(100);
    expect(broken(imports)).toEqual([]);
    expect(unused(imports)).toEqual([]);
  });

  it('keeps the declarations of the contract free of the daemon and of libraries, as the reader carries them', () => {
    const declaring = imports.filter(({ file }) => file.startsWith('mirror/contract/'));
    expect(declaring.length).toBeGreaterThan(10);
    expect(declaring.filter(({ of }) => !of.startsWith('mirror/contract/') && of !== 'kernel/clock.ts')).toEqual([]);
  });

  it('is watched by a test that sees a breach (control)', () => {
    const planted = [
      ...importsIn(src, 'dates/passed-times.rules.ts', "import { x } from './days.store.ts';"),
      ...importsIn(src, 'dates/days.store.ts', "import { x } from './availability.ask.ts';"),
      ...importsIn(src, 'trust/hold.rules.ts', "import { x } from '../mirror/sql/sql.ts';"),
      ...importsIn(src, 'service/client.ts', "import { x } from '../mirror/mirror.ts';"),
      ...importsIn(src, 'receiver/inbox-desk.ts', "import { x } from '../trust/evidence.store.ts';"),
      ...importsIn(src, 'sandbox/routes.ts', "import { x } from '../service/client.ts';"),
      ...importsIn(src, 'cycle/sync-cycle.ts', "import Database from 'better-sqlite3';"),
      ...importsIn(src, 'storefront/reader.ts', "import { x } from '../mirror/mirror.ts';"),
      ...importsIn(src, 'storefront/reader.ts', "import { x } from './search/search.store.ts';"),
      ...importsIn(src, 'says/doctor/doctor.ts', "import { x } from '../../daemon/subscriptions.ts';"),
      ...importsIn(src, 'kernel/errors.ts', "import { x } from '../desk/check.rules.ts';"),
      ...importsIn(src, 'cli.ts', "import { x } from './daemon/daemon.ts';"),
    ];
    expect(broken(planted)).toHaveLength(planted.length);
    expect(unused(imports.filter(({ file }) => !file.startsWith('desk/'))).length).toBeGreaterThan(3);
  });

  it('has no cycle: no two files or folders of one room import each other, nor rooms in one layer, also by way of others', () => {
    expect(allCycles(imports)).toEqual([]);
    expect(cyclesOfRooms(imports)).toEqual([]);
  });

  it('is watched by a test that sees a cycle of files, of folders, and one by way of others (control)', () => {
    const planted = [
      ...importsIn(src, 'storefront/reads.ts', "import type { x } from './reader.ts';"),
      ...importsIn(src, 'kernel/values/money.ts', "import { x } from '../time/venue.ts';"),
      ...importsIn(src, 'kernel/time/venue.ts', "import { x } from '../values/money.ts';"),
      ...importsIn(src, 'schedule/next-read.ts', "import { x } from '../desk/check.ts';"),
    ];
    expect(allCycles([...imports, ...planted])).toEqual(['kernel: time ⇄ values', 'storefront: reader.ts ⇄ reads.ts']);
    expect(cyclesOfRooms([...imports, ...planted])).toEqual([expect.stringMatching(/^work: .*desk ⇄.* schedule/)]);
  });

  it('has statements of the two files in stores alone, and questions to the service in files that say so', () => {
    expect(buildingStatements(texts)).toEqual([]);
    expect(asking(texts)).toEqual([]);
    const build = "import { query, setBy } from '../mirror/sql/sql.ts';";
    expect(buildingStatements([...texts, ['dates/late.ts', build]])).toEqual(['dates/late.ts']);
    const ask = 'const reading = await lane.upstream.variants(question);';
    expect(asking([...texts, ['dates/late.ts', ask]])).toEqual(['dates/late.ts']);
  });

  it('is drawn as it is in docs/architecture.md', () => {
    expect(document('docs/architecture.md')).toContain(picture(imports));
    const told = [...document('docs/rooms.md').matchAll(/^\| `(\w+)\/` \|/gm)].map(([, room]) => room);
    expect(told).toEqual(Object.keys(rooms));
  });

  it('gives no two exported types one name', () => {
    expect(exported.length).toBeGreaterThan(300);
    expect(homonyms(exported)).toEqual([]);
  });

  it('is watched by a test that sees a name given twice (control)', () => {
    const planted = [
      ...exportedTypesIn('says/pledge.ts', 'export interface Pledge {\n  readonly at: number;\n}'),
      ...exportedTypesIn('sandbox/pledge.ts', "export type Pledge = 'kept' | 'broken';"),
      ...exportedTypesIn('schedule/call-plan.rules.ts', 'export class WrongShape extends Error {}'),
    ];
    expect(homonyms([...exported, ...planted])).toEqual([
      'Pledge: says/pledge.ts, sandbox/pledge.ts',
      'WrongShape: service/shapes.rules.ts, schedule/call-plan.rules.ts',
    ]);
  });

  it('makes directories one by one: a recursive mkdir of Node does not return on some file systems', () => {
    expect(makingManyDirectories(texts)).toEqual([]);
    const planted = 'mkdirSync(path, { recursive: true, mode: 0o700 });';
    expect(makingManyDirectories([...texts, ['dates/late.ts', planted]])).toEqual(['dates/late.ts']);
  });

  it('keeps clock and chance in clock.ts, and the environment out of everything but the entry', () => {
    expect(readingClockOrChance(texts)).toEqual([]);
    expect(
      texts.filter(([file, text]) => file !== 'cli.ts' && /process\.env/.test(text)).map(([file]) => file),
    ).toEqual([]);
  });

  it.each([
    'const at = Date.now();',
    'const at = performance.now();',
    'const at = process.hrtime.bigint();',
    'const id = randomUUID();',
    "import { randomBytes } from 'node:crypto';",
    'const chance = Math.random();',
    "db.exec(\"UPDATE _product_read SET read_at = strftime('%s', 'now')\");",
    'sql`ORDER BY random()`',
    "db.prepare('INSERT INTO _outcome VALUES (CURRENT_TIMESTAMP)')",
  ])('is watched by a test that sees %s (control)', (line) => {
    expect(readingClockOrChance([...texts, ['dates/late.ts', line]])).toEqual(['dates/late.ts']);
    expect(readingClockOrChance([['kernel/clock.ts', line]])).toEqual([]);
  });

  it('makes instants in clock.ts alone: nobody casts to one', () => {
    expect(castingInstants(texts)).toEqual([]);
  });

  it.each([
    'const at = (now + ms) as Instant;',
    'const at = (now + ms) as unknown as Instant;',
    'const found = rows as Instant[];',
    'const until = <Instant>(now + ms);',
    'const found = { at } as { at: Instant };',
  ])('is watched by a test that sees %s (control)', (line) => {
    expect(castingInstants([...texts, ['dates/late.ts', line]])).toEqual(['dates/late.ts']);
    expect(castingInstants([['kernel/clock.ts', line]])).toEqual([]);
  });

  it('gives domain and mirror instants, and no clock', () => {
    expect(takingMoreThanInstants(texts)).toEqual([]);
    const taken = "import { type Instant, instant } from '../kernel/clock.ts';";
    expect(takingMoreThanInstants([['dates/late.rules.ts', taken]])).toEqual([]);
    for (const more of [
      "import { instant, systemClock } from '../kernel/clock.ts';",
      "import type { Clock } from '../kernel/clock.ts';",
      "import * as time from '../kernel/clock.ts';",
      "const { systemClock } = await import('../kernel/clock.ts');",
    ])
      expect(takingMoreThanInstants([...texts, ['dates/late.store.ts', more]])).toEqual(['dates/late.store.ts']);
  });

  it('asks no instant and no chance of SQLite where rows are written: only views have a reader’s clock', () => {
    expect(statementsWithClock(migrations)).toEqual([]);
    const table = "CREATE TABLE t (at INTEGER NOT NULL DEFAULT (unixepoch('now')));";
    expect(statementsWithClock([...migrations, table])).toEqual([table]);
    expect(
      statementsWithClock(['CREATE TRIGGER t AFTER INSERT ON u BEGIN UPDATE u SET a = random(); END;']),
    ).toHaveLength(1);
  });
});

/** Exported names with one of the words of docs/contributing.md that its row does not list, and listed ones that are gone. */
function unlistedWords(exporting: readonly (readonly [file: string, text: string])[]): string[] {
  const [, rows = ''] = document('docs/contributing.md').split('## Words of the code\n');
  const listed = new Map(
    [...(rows.split('\n## ')[0]?.matchAll(/^\| (\w+) \| [^|]+ \| (.*) \|$/gm) ?? [])].map(
      ([, word = '', names = '']) => [word, new Set([...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name))],
    ),
  );
  listed.delete('Word');
  const names = exporting.flatMap(([, text]) =>
    [...text.matchAll(/^export (?:async |abstract )?(?:type|interface|const|function\*?|class) (\w+)/gm)].map(
      ([, name = '']) => name,
    ),
  );
  return [...listed].flatMap(([word, own]) => {
    const has = names.filter((name) =>
      new RegExp(`(?:^${word}|${word[0]?.toUpperCase()}${word.slice(1)})(?:s|es|ed|ing)?(?![a-z])`).test(name),
    );
    return [...new Set(has).symmetricDifference(own)].map((name) => `${word}: ${name}`);
  });
}

describe('a word of the code', () => {
  it('has one meaning in exported names, which docs/contributing.md lists', () => {
    expect(unlistedWords(texts)).toEqual([]);
    expect(unlistedWords([...texts, ['kernel/sqlite/lock.ts', 'export function isMirrorHeld() {}']])).toEqual([
      'held: isMirrorHeld',
    ]);
  });
});
