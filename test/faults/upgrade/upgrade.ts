import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { instant } from '../../../src/kernel/clock.ts';
import { openForWriting } from '../../../src/kernel/sqlite/database-file.ts';
import { openMirror } from '../../../src/mirror/mirror.ts';
import { openInbox } from '../../../src/receiver/inbox.ts';
import { nextVersion } from '../../fakes/next-version.ts';
import { askModule } from '../../fakes/run-cli.ts';
import { productOf, putProducts } from '../../fakes/stored-products.ts';
import { temporaryDirectory, testMirrorOptions } from '../../fakes/test-mirror.ts';

export interface Upgraded {
  readonly kills: number;
  /** BatchReads of readers that had the files open meanwhile. */
  readonly looks: number;
  readonly wrong: readonly string[];
}

export interface UpgradeOptions {
  /** So many kills, spread over the statements of both files; `all`: one before each statement. */
  readonly kills: number | 'all';
  readonly manner?: 'usual' | 'straight';
}

/** The files in the order in which a start opens them. */
export const filesIn = (directory: string) =>
  [
    ['inbox', join(directory, 'inbox.db')],
    ['mirror', join(directory, 'mirror.db')],
  ] as const;

/** Makes both files as this version leaves them, with rows in them. */
function makeFiles(directory: string): void {
  const [[, inbox_path], [, path]] = filesIn(directory);
  using inbox = openInbox(inbox_path, { master: null, now: instant(0), pair_id: 'pair' });
  const received = { subscription_id: 'a', epoch: 1, received_at: instant(0), peer: '::1', content_type: null };
  const body = Buffer.from('{"products":[]}'.repeat(40));
  inbox.deliveries.store([{ ...received, body, length: body.length, truncated: false }]);
  using mirror = openMirror({ ...testMirrorOptions(directory), path });
  putProducts(
    { mirror },
    [1, 2, 3].map((id) => productOf(id)),
  );
}

/** Returns what a reader sees in one transaction: the version, which views and tables there are, and how many rows. */
function look(db: Database.Database): string {
  const read = db.transaction(() => {
    const version = db.pragma('user_version', { simple: true });
    const names = db.prepare<[], { type: string; name: string }>(
      "SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name",
    );
    const seen = names.all().map(({ type, name }) => {
      const what = type === 'view' ? '1' : 'count(*)';
      return [name, db.prepare(`SELECT ${what} FROM "${name}" LIMIT 1`).pluck().get() ?? 0, type];
    });
    return JSON.stringify([version, seen.map(([name, rows, type]) => [name, type === 'view' ? 'view' : rows])]);
  });
  try {
    return read();
  } catch (error) {
    // What docs/reader.md says: once more, at once.
    if (/_RECOVERY$/.test((error as { code: string }).code)) return read();
    throw error;
  }
}

function seen(path: string): string {
  const db = new Database(path, { readonly: true });
  try {
    return look(db);
  } finally {
    db.close();
  }
}

/** Returns all that a file holds. */
function contents(path: string): string {
  const db = new Database(path, { readonly: true });
  try {
    const schema = db.prepare<[], { name: string; type: string; sql: string | null }>(
      'SELECT type, name, sql FROM sqlite_schema ORDER BY type, name',
    );
    const found = schema.all();
    const tables = found.filter(({ type, sql }) => type === 'table' && sql?.startsWith('CREATE TABLE') === true);
    const rows = tables.map(({ name }) => [name, db.prepare(`SELECT * FROM "${name}"`).all()]);
    return JSON.stringify([db.pragma('user_version', { simple: true }), found, rows]);
  } finally {
    db.close();
  }
}

/** Has a process of the next version change both files, killed before its n-th statement; returns how many there were. */
async function upgrade(directory: string, schema: string, manner: string, kill_at: number): Promise<number> {
  const program = join(import.meta.dirname, 'upgrade-child.ts');
  return (await askModule<number>([program, directory, schema, String(kill_at), manner])) ?? kill_at - 1;
}

/** Kills the next version while it changes both files, before each of many statements, a reader beside each file. */
export async function upgradeUnderKill({ kills, manner = 'usual' }: UpgradeOptions): Promise<Upgraded> {
  using directory = temporaryDirectory();
  using next = nextVersion();
  const place = (name: string) => join(directory.path, name);
  const copied = (name: string) => {
    cpSync(place('before'), place(name), { recursive: true });
    return filesIn(place(name));
  };
  mkdirSync(place('before'));
  makeFiles(place('before'));
  copied('counted');
  const statements = await upgrade(place('counted'), next.schema, 'usual', Number.POSITIVE_INFINITY);
  const states = new Map(
    copied('unkilled').map(([kind, path]) => {
      const before = seen(path);
      openForWriting(path, next[kind]).close();
      return [kind, { before, after: seen(path), whole: contents(path) }];
    }),
  );
  const wrong: string[] = [];
  let looks = 0;
  const positions = spread(statements, kills);
  for (const at of positions) {
    using stack = new DisposableStack();
    const readers = copied(String(at)).map(([kind, path]) => {
      const db = stack.adopt(new Database(path, { readonly: true }), (each) => void each.close());
      return { kind, path, db, ...states.get(kind) };
    });
    const found = new Set<string>();
    const tell = (kind: string, what: string) => found.add(`${kind}, killed before statement ${at}: ${what}`);
    const judge = () => {
      for (const { kind, db, before, after } of readers)
        try {
          looks += 1;
          const saw = look(db);
          if (saw !== before && saw !== after) tell(kind, 'a reader saw neither the old nor the new state');
        } catch (error) {
          tell(kind, `a reader got ${String(error)}`);
        }
    };
    let ended = false;
    const ends = upgrade(place(String(at)), next.schema, manner, at).finally(() => {
      ended = true;
    });
    while (!ended) {
      judge();
      await setTimeout(10);
    }
    await ends;
    judge();
    for (const { kind, path, whole } of readers)
      try {
        openForWriting(path, next[kind]).close();
        if (contents(path) !== whole) tell(kind, 'opened again it is not as one that was not killed');
      } catch (error) {
        tell(kind, String(error));
      }
    wrong.push(...found);
  }
  return { kills: positions.length, looks, wrong };
}

/** Returns the statements to kill before: all, or so many with the same distance. */
function spread(statements: number, kills: number | 'all'): number[] {
  const number = kills === 'all' ? statements : Math.min(kills, statements);
  return Array.from({ length: number }, (_, index) => 1 + Math.floor((statements / number) * index));
}
