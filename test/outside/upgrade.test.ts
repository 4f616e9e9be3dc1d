import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, watch, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { imported, Stage } from './stage.ts';

interface Column {
  readonly clock?: true;
}

interface ReaderModule {
  openReader(
    path: string,
    options: { readonly engine: typeof Database; readonly now: () => number },
  ): Disposable & {
    products(): readonly { readonly title: string }[];
    info(): { readonly contract_version: number; readonly feed_id: string };
    transaction<Result>(work: () => Result): Result;
  };
}

const fixtures = join(import.meta.dirname, '../fixtures');
const released = JSON.parse(readFileSync(join(fixtures, 'contracts/1.json'), 'utf8')) as {
  readonly views: Readonly<Record<string, { readonly columns: Readonly<Record<string, Column>> }>>;
};

/** Columns of the released contract that neither the clock nor a start changes. */
const columns = Object.entries(released.views)
  .filter(([view]) => !['mirror_info', 'freshness', 'policies', 'subscriptions'].includes(view))
  .map(([view, of]) => [view, Object.keys(of.columns).filter((name) => of.columns[name]?.clock === undefined)] as const)
  .filter(([, names]) => names.length > 0);

/** Returns rows of the released views. What is over, or so old that it need not be kept, is left out. */
function rowsOf(path: string): string[] {
  const db = new Database(path, { readonly: true });
  const week = Date.now() - 7 * 86_400_000;
  try {
    return columns.flatMap(([view, names]) =>
      db
        .prepare<[], Record<string, unknown>>(`SELECT ${names.map((name) => `"${name}"`)} FROM ${view}`)
        .all()
        .filter(({ date, at, withdrawn_at }) => {
          const isOver = typeof date === 'string' && date <= new Date().toISOString().slice(0, 10);
          return !isOver && [at, withdrawn_at].every((each) => typeof each !== 'number' || each > week);
        })
        .map((row) => `${view} ${JSON.stringify(row)}`),
    );
  } finally {
    db.close();
  }
}

/** Resolves when files beside a database were written so many times: its log or its journal. */
function written(path: string, times: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let seen = 0;
  const watcher = watch(dirname(path), (_, name) => {
    if (name?.startsWith(`${basename(path)}-`)) seen += 1;
    if (seen >= times) resolve();
  });
  return promise.finally(() => watcher.close());
}

it('an upgrade of the files of 1.0.0 loses no row, though it is killed, and readers see one state or the other', async () => {
  await using stage = await Stage.open({ service: ['--products', '2'] });
  // Nobody answers, so that nothing new is read.
  stage.configure({ service: { base_url: 'http://127.0.0.1:9', profile: { authorization: { header: null } } } });
  const inbox = join(dirname(stage.admin), 'inbox.db');
  mkdirSync(dirname(inbox), { mode: 0o700 });
  for (const [name, path] of [
    ['mirror', stage.mirror],
    ['inbox', inbox],
  ] as const)
    writeFileSync(path, brotliDecompressSync(readFileSync(join(fixtures, `files/1.0.0/${name}.db.br`))));
  const before = rowsOf(stage.mirror);
  expect(before.filter((row) => row.startsWith('products '))).toHaveLength(3);
  const { openReader } = await imported<ReaderModule>('storefront/reader.js');
  let now = Date.now();
  using reader = openReader(stage.mirror, { engine: Database, now: () => now });
  const state = () =>
    reader.transaction(() => ({
      contract: reader.info().contract_version,
      titles: reader.products().map(({ title }) => title),
    }));
  const first = state();
  expect(first.contract).toBe(1);

  expect((await stage.run('upgrade', '--check')).code).toBe(0);
  expect(state()).toEqual(first);
  // Killed when it begins to write, and the next start a moment later.
  for (const writes of [1, 3]) {
    await using daemon = stage.start('run');
    await Promise.race([daemon.said(/daemon started/), written(stage.mirror, writes)]);
    await daemon.end('SIGKILL');
    const { contract, titles } = state();
    expect([[1, 2].includes(contract), titles]).toEqual([true, first.titles]);
  }
  await stage.live();
  expect(state().titles).toEqual(first.titles);
  expect(state().contract).toBeGreaterThan(1);
  const after = new Set(rowsOf(stage.mirror));
  expect(before.filter((row) => !after.has(row))).toEqual([]);
  // A row that is not there is seen (control).
  after.delete(before[0] ?? '');
  expect(before.filter((row) => !after.has(row))).toEqual(before.slice(0, 1));
  const { deliveries } = await stage.json<{ deliveries: object[] }>('notifications', 'list');
  expect(deliveries).toHaveLength(3);

  // Another file in the place of this one is taken up, with a log that has to be recovered.
  const feed = reader.info().feed_id;
  await stage.ended('SIGKILL');
  const other = join(stage.directory, 'other.db');
  cpSync(stage.mirror, other);
  if (existsSync(`${stage.mirror}-wal`)) cpSync(`${stage.mirror}-wal`, `${other}-wal`);
  for (const ending of ['', '-wal', '-shm']) rmSync(`${stage.mirror}${ending}`, { force: true });
  expect(state().titles).toEqual(first.titles);
  for (const ending of ['-wal', '']) if (existsSync(other + ending)) renameSync(other + ending, stage.mirror + ending);
  await stage.live();
  now += 60_000;
  expect(state().titles).toEqual(first.titles);
  expect(reader.info().feed_id).toBe(stage.rows<{ feed_id: string }>('SELECT feed_id FROM mirror_info')[0]?.feed_id);
  expect(reader.info().feed_id).not.toBe(feed);
});
