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
import { allCycles, allImports, type Import, importsIn, packageOf, sourceFiles } from './architecture/import-graph.ts';
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

/** What a part may import, beside itself and Node; the reason stands in docs/architecture.md. */
const allowed: Record<string, readonly string[]> = {
  // How numbers and durations are written is part of what a condition says. Of the clock only what makes an instant.
  domain: ['clock.ts', 'format.ts'],
  sqlite: ['errors.ts'],
  upstream: ['domain', 'clock.ts', 'errors.ts', 'format.ts'],
  // Of the clock only what makes an instant.
  mirror: ['domain', 'sqlite', 'clock.ts', 'errors.ts', 'package.ts'],
  // What the inbox keeps is understood elsewhere: it does not know the mirror, and never asks the service.
  inbox: [
    'domain',
    'sqlite',
    'clock.ts',
    'errors.ts',
    'connection-room.ts',
    'kept-listener.ts',
    'listen-address.ts',
    'log.ts',
    'package.ts',
  ],
  // Of SQLite only what its errors mean: what it cannot store now waits. Images stand in directories.
  sync: [
    'domain',
    'upstream',
    'mirror',
    'inbox',
    'kernel/sqlite/fault.ts',
    'kernel/sqlite/group-commit.ts',
    'kernel/sqlite/make-directory.ts',
    'clock.ts',
    'errors.ts',
    'format.ts',
    'log.ts',
    'section.ts',
  ],
  // Knows the bounds of each part that it configures, and starts none.
  config: ['domain', 'inbox', 'errors.ts'],
  // The two files as they lie on the disk, also while no daemon runs.
  files: [
    'config',
    'domain',
    'inbox',
    'mirror',
    'sqlite',
    'clock.ts',
    'errors.ts',
    'format.ts',
    'log.ts',
    'package.ts',
  ],
  snapshot: ['config', 'domain', 'files', 'mirror', 'sqlite', 'clock.ts', 'log.ts', 'package.ts'],
  // Goes through both files as a start would, while a daemon runs or none.
  backup: [
    'config',
    'domain',
    'files',
    'inbox',
    'mirror',
    'sqlite',
    'clock.ts',
    'errors.ts',
    'format.ts',
    'log.ts',
    'package.ts',
  ],
  // What a daemon says of itself: made of what the parts say, by nobody who could change it.
  status: [
    'backup',
    'domain',
    'files',
    'inbox',
    'mirror',
    'snapshot',
    'upstream',
    'clock.ts',
    'errors.ts',
    'format.ts',
    'section.ts',
  ],
  // A copy of another daemon's mirror: it knows the file, and never the service.
  follow: [
    'database',
    // A page, as the storefront interface promises it.
    'admin/api/rows.ts',
    'feed/capture.store.ts',
    'feed/pages.store.ts',
    'mirror/sql/files.ts',
    'sqlite',
    'clock.ts',
    'errors.ts',
    'log.ts',
  ],
  // PostgreSQL, and what is kept there.
  database: [
    'mirror/contract/contract.ts',
    'mirror/contract/search.ts',
    'domain',
    'receiver/delivery.ts',
    'receiver/epochs.store.ts',
    'mirror',
    'sqlite',
    'clock.ts',
    'errors.ts',
    'log.ts',
    'package.ts',
  ],
  // Looks at everything, and runs where no daemon does: it knows none.
  doctor: [
    'config',
    'domain',
    'files',
    'inbox',
    'mirror',
    'sqlite',
    'sync',
    'upstream',
    'clock.ts',
    'errors.ts',
    'format.ts',
    'package.ts',
  ],
  // Shows and passes on; the daemon gives it what it shows.
  admin: [
    'domain',
    'files',
    // Of the inbox what it shows: rows of its lists.
    'receiver/conditions.store.ts',
    'receiver/delivery.ts',
    'mirror',
    'status',
    'sync',
    // The table of reads, which the client in a browser has too.
    'storefront/http/reads.ts',
    'clock.ts',
    'errors.ts',
    'format.ts',
    'connection-room.ts',
    'kept-listener.ts',
    'listen-address.ts',
    'log.ts',
    'package.ts',
    'section.ts',
  ],
  // Puts the parts together. No part knows the daemon, and the daemon knows no command.
  daemon: [
    'admin',
    'backup',
    'config',
    'database',
    'doctor',
    'domain',
    'files',
    // Of a follower only what it reads of PostgreSQL, which a daemon beside others answers too.
    'follow',
    'inbox',
    'mirror',
    'snapshot',
    'sqlite',
    'status',
    'sync',
    'upstream',
    'clock.ts',
    'errors.ts',
    'format.ts',
    'connection-room.ts',
    'kept-listener.ts',
    'log.ts',
    'package.ts',
    'storefront',
  ],
  // One of several: it stands by, or has a daemon lead.
  instance: [
    'admin',
    'config',
    'daemon',
    'database',
    'copies/postgres/lease.rules.ts',
    'files',
    'follow',
    'inbox',
    'mirror',
    'kernel/sqlite/trial-write.ts',
    'clock.ts',
    'errors.ts',
    'connection-room.ts',
    'kept-listener.ts',
    'log.ts',
  ],
  'cli.ts': ['commands'],
  'clock.ts': [],
  'errors.ts': [],
  'format.ts': [],
  'connection-room.ts': [],
  'kept-listener.ts': [],
  'listen-address.ts': [],
  'log.ts': ['format.ts'],
  'package.ts': [],
  'section.ts': ['format.ts'],
  // A second reading of the specification, which must agree with ours: it shares nothing with it.
  sandbox: ['clock.ts', 'errors.ts'],
  // A package export for programs that are not this one: it knows the views, and nothing of what fills them. What they have
  // is declared once, in files that import nothing of the daemon and no library.
  storefront: [
    'mirror/contract/contract.ts',
    'mirror/contract/table.ts',
    'kernel/sqlite/development.ts',
    'kernel/sqlite/fault.ts',
    'kernel/sqlite/file.ts',
    'storefront/search/marks.rules.ts',
    'clock.ts',
    'errors.ts',
    'listen-address.ts',
  ],
};

/** One door a library. */
const doors: Record<string, RegExp> = {
  'better-sqlite3': /^sqlite\//,
  pg: /^database\/connect\.ts$/,
  kysely: /^sqlite\/statements\.ts$/,
  jose: /^upstream\/signing\.ts$/,
  undici: /^upstream\/(exchange|http|image-host|no-answer|read-memory|response)\.ts$/,
  croner: /^domain\/time\/wall-clock\.ts$/,
  pino: /^log\.ts$/,
  fastify: /^(admin\/(page\/)?[a-z-]+|inbox\/listener|kept-listener)\.ts$/,
  'prom-client': /^admin\/exposition\.ts$/,
  commander: /^commands\/.*\.ts$/,
  // The shape of an answer stands beside the code that makes it; a command that asks a daemon knows its type, and loads none.
  zod: /^(config\/.*|backup\/manifest|admin\/(api(\/[a-z-]+)?|openapi|request)|domain\/(values\/answer-values|conditions\/(decide|facts)|schedule\/job-runs)|sync\/(checks|records|reports|subscriptions)\/[a-z-]+)\.ts$/,
  '@orama/stemmers': /^mirror\/catalogue\/search-stems\.ts$/,
  yaml: /^config\/.*\.ts$/,
};

function broken(of: readonly Import[]): string[] {
  return of.flatMap(({ file, of: target }) => {
    const part = file.split('/')[0] ?? '';
    const [first = ''] = target.split('/');
    const rule = allowed[part];
    if (target.startsWith('node:')) return [];
    if (target.endsWith('.ts'))
      return rule === undefined || first === part || rule.includes(first) || rule.includes(target)
        ? []
        : [`${file} imports ${target}`];
    return doors[packageOf(target)]?.test(file) ? [] : [`${file} imports ${target}`];
  });
}

/** The one room that every other may be used by: what a person types. */
const top = 'commands';

describe('the architecture', () => {
  it('knows every room', () => {
    expect([...new Set(files.map((file) => file.split('/')[0]))].sort()).toEqual([...Object.keys(allowed), top].sort());
  });

  it('holds: parts import what they may, and each library has one door', () => {
    expect(imports.length).toBeGreaterThan(100);
    expect(broken(imports)).toEqual([]);
  });

  it('keeps the declarations of the contract free of the daemon and of libraries, as the reader carries them', () => {
    const declaring = imports.filter(({ file }) => file.startsWith('mirror/contract/'));
    expect(declaring.length).toBeGreaterThan(10);
    expect(declaring.filter(({ of }) => !of.startsWith('mirror/contract/') && of !== 'clock.ts')).toEqual([]);
  });

  it('is watched by a test that sees a breach (control)', () => {
    const planted = [
      ...importsIn(src, 'domain/money.ts', "import { x } from '../mirror/sql.ts';"),
      ...importsIn(src, 'service/client.ts', "import { x } from '../mirror/mirror.ts';"),
      ...importsIn(src, 'sandbox/routes.ts', "import { x } from '../upstream/client.ts';"),
      ...importsIn(src, 'cycle/sync-cycle.ts', "import Database from 'better-sqlite3';"),
      ...importsIn(src, 'storefront/reader.ts', "import { x } from '../mirror/mirror.ts';"),
      ...importsIn(src, 'storefront/reader.ts', "import { x } from '../sqlite/database-file.ts';"),
      ...importsIn(src, 'says/doctor/doctor.ts', "import { x } from '../daemon/subscriptions.ts';"),
      ...importsIn(src, 'files/watch.ts', "import { x } from '../doctor/check.ts';"),
      ...importsIn(src, 'says/status/verdict.ts', "import { x } from '../daemon/daemon.ts';"),
      ...importsIn(src, 'errors.ts', "import { x } from './log.ts';"),
    ];
    expect(broken(planted)).toHaveLength(planted.length);
  });

  it('has no cycle: no two files or folders of one folder import each other, also by way of others', () => {
    expect(allCycles(imports)).toEqual([]);
  });

  it('is watched by a test that sees a cycle of files, of folders, and one by way of others (control)', () => {
    const planted = [
      ...importsIn(src, 'storefront/reads.ts', "import type { x } from './reader.ts';"),
      ...importsIn(src, 'kernel/values/money.ts', "import { x } from '../catalogue/price.ts';"),
      ...importsIn(src, 'catalogue/variant.rules.ts', "import { x } from '../values/money.ts';"),
      ...importsIn(src, 'kernel/sqlite/lock.ts', "import { x } from '../doctor/check.ts';"),
    ];
    expect(allCycles([...imports, ...planted])).toEqual([
      expect.stringMatching(/^: .*doctor.*sqlite/),
      'domain: catalogue ⇄ service ⇄ values',
      'storefront: reader.ts ⇄ reads.ts',
    ]);
  });

  it('gives no two exported types one name', () => {
    expect(exported.length).toBeGreaterThan(300);
    expect(homonyms(exported)).toEqual([]);
  });

  it('is watched by a test that sees a name given twice (control)', () => {
    const planted = [
      ...exportedTypesIn('doctor/pledge.ts', 'export interface Pledge {\n  readonly at: number;\n}'),
      ...exportedTypesIn('sandbox/pledge.ts', "export type Pledge = 'kept' | 'broken';"),
      ...exportedTypesIn('schedule/plan.rules.ts', 'export class WrongShape extends Error {}'),
    ];
    expect(homonyms([...exported, ...planted])).toEqual([
      'Pledge: doctor/pledge.ts, sandbox/pledge.ts',
      'WrongShape: domain/service/shapes.ts, domain/schedule/plan.ts',
    ]);
  });

  it('makes directories one by one: a recursive mkdir of Node does not return on some file systems', () => {
    expect(makingManyDirectories(texts)).toEqual([]);
    const planted = 'mkdirSync(path, { recursive: true, mode: 0o700 });';
    expect(makingManyDirectories([...texts, ['sync/late.ts', planted]])).toEqual(['sync/late.ts']);
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
    expect(readingClockOrChance([...texts, ['sync/late.ts', line]])).toEqual(['sync/late.ts']);
    expect(readingClockOrChance([['clock.ts', line]])).toEqual([]);
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
    expect(castingInstants([...texts, ['sync/late.ts', line]])).toEqual(['sync/late.ts']);
    expect(castingInstants([['clock.ts', line]])).toEqual([]);
  });

  it('gives domain and mirror instants, and no clock', () => {
    expect(takingMoreThanInstants(texts)).toEqual([]);
    const taken = "import { type Instant, instant } from '../../clock.ts';";
    expect(takingMoreThanInstants([['domain/time/late.ts', taken]])).toEqual([]);
    for (const more of [
      "import { instant, systemClock } from '../../clock.ts';",
      "import type { Clock } from '../../clock.ts';",
      "import * as time from '../../clock.ts';",
      "const { systemClock } = await import('../../clock.ts');",
    ])
      expect(takingMoreThanInstants([...texts, ['mirror/sql/late.ts', more]])).toEqual(['mirror/sql/late.ts']);
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
