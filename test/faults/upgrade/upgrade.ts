import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { inboxFile } from '../../../src/inbox/inbox.ts';
import { mirrorFile } from '../../../src/mirror/sql/files.ts';
import { openForWriting } from '../../../src/sqlite/database-file.ts';
import { migrationsOf, schemaVersion } from '../../../src/sqlite/file-kind.ts';
import { askModule } from '../../fakes/run-cli.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';

export interface Upgraded {
  readonly kills: number;
  /** Looks of a reader that had the file open meanwhile. */
  readonly looks: number;
  readonly wrong: readonly string[];
}

export interface UpgradeOptions {
  readonly kind: 'mirror' | 'inbox';
  /** So many kills for each version, spread over its statements; `all`: one before each statement. */
  readonly kills: number | 'all';
  readonly manner?: 'usual' | 'straight';
  /** Versions that are left, each a file of its own. */
  readonly versions: readonly number[];
}

const kinds = { mirror: mirrorFile, inbox: inboxFile };

/** The versions that a file may have had, the oldest first. */
export function versionsOf(kind: UpgradeOptions['kind']): number[] {
  const [first, last] = [kind === 'mirror' ? 5 : 1, schemaVersion(kinds[kind])];
  return Array.from({ length: last - first }, (_, index) => first + index);
}

const fixtures = new URL('../../fixtures/mirrors/', import.meta.url);

/** Makes a file as a version has left it: from what an early one left, by the steps up to it. */
function olderFile(kind: UpgradeOptions['kind'], path: string, version: number): void {
  const db = new Database(path);
  // As versions before this one made it.
  db.pragma('journal_mode = WAL');
  const steps = migrationsOf(kinds[kind]);
  if (kind === 'mirror') db.exec(readFileSync(new URL(`contract-${version < 11 ? 1 : 2}.sql`, fixtures), 'utf8'));
  for (const step of steps.slice(Number(db.pragma('user_version', { simple: true })), version)) db.exec(step);
  if (kind === 'inbox') db.exec("INSERT INTO inbox (pair_id) VALUES ('a')");
  db.pragma(`user_version = ${version}`);
  db.pragma(`application_id = ${kinds[kind].application_id}`);
  db.close();
}

/** What a reader sees in one transaction: the version, which views and tables there are, and how many rows. */
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
    // What docs/reading.md says: once more, at once.
    if (/_RECOVERY$/.test((error as { code: string }).code)) return read();
    throw error;
  }
}

/** All that a file holds. */
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

/** Changes a file, killed before its n-th statement; returns how many there were. */
async function upgrade(path: string, { kind, manner = 'usual' }: UpgradeOptions, kill_at: number): Promise<number> {
  const program = join(import.meta.dirname, 'upgrade-child.ts');
  return (await askModule<number>([program, path, kind, String(kill_at), manner])) ?? kill_at - 1;
}

/** Kills the change of an older file before its n-th statement, for each version and many n, a reader beside it. */
export async function upgradeUnderKill(options: UpgradeOptions): Promise<Upgraded> {
  const { kind, kills, versions } = options;
  using directory = temporaryDirectory();
  let [killed, looks] = [0, 0];
  const wrong: string[] = [];
  for (const version of versions) {
    const place = join(directory.path, String(version));
    mkdirSync(place);
    const [older, unkilled] = ['older.db', 'unkilled.db'].map((name) => join(place, name)) as [string, string];
    olderFile(kind, older, version);
    copyFileSync(older, unkilled);
    const statements = await upgrade(unkilled, { ...options, manner: 'usual' }, Number.POSITIVE_INFINITY);
    copyFileSync(older, unkilled);
    openForWriting(unkilled, kinds[kind]).close();
    const whole = contents(unkilled);
    const [before, after] = [seen(older), seen(unkilled)];
    for (const at of spread(statements, kills, version)) {
      const path = join(place, `${at}.db`);
      copyFileSync(older, path);
      using reader = Object.assign(new Database(path, { readonly: true }), {
        [Symbol.dispose]: () => void reader.close(),
      });
      let ended = false;
      const ends = upgrade(path, options, at).finally(() => {
        ended = true;
      });
      const found = new Set<string>();
      const tell = (what: string) => found.add(`${kind} ${version}, killed before statement ${at}: ${what}`);
      const judge = () => {
        looks += 1;
        try {
          const saw = look(reader);
          if (saw !== before && saw !== after) tell('a reader saw neither the old nor the new state');
        } catch (error) {
          tell(`a reader got ${String(error)}`);
        }
      };
      while (!ended) {
        judge();
        await setTimeout(10);
      }
      await ends;
      killed += 1;
      judge();
      try {
        openForWriting(path, kinds[kind]).close();
        if (contents(path) !== whole) tell('opened again it is not as one that was not killed');
      } catch (error) {
        tell(String(error));
      }
      wrong.push(...found);
    }
  }
  return { kills: killed, looks, wrong };
}

function seen(path: string): string {
  const db = new Database(path, { readonly: true });
  try {
    return look(db);
  } finally {
    db.close();
  }
}

/** Statements to kill before: all, or some that differ from version to version. */
function spread(statements: number, kills: number | 'all', version: number): number[] {
  if (kills === 'all') return Array.from({ length: statements }, (_, index) => index + 1);
  const apart = statements / kills;
  return Array.from(
    { length: Math.min(kills, statements) },
    (_, index) => 1 + Math.floor(apart * (index + ((version * 7) % 10) / 10)),
  );
}
