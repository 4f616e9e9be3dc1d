import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { arch, platform, release, totalmem } from 'node:os';
import type { LoadedConfig } from '../../config/load.ts';
import { secretSources } from '../../config/secrets.ts';
import { policyOf } from '../../daemon/policy.ts';
import type { Clock } from '../../kernel/clock.ts';
import { sqliteVersion } from '../../kernel/sqlite/database-file.ts';
import { type Database, openReadOnly } from '../../kernel/sqlite/read-only.ts';
import { openMirrorFacts } from '../../mirror/reading.ts';
import { openMirrorForReading } from '../../mirror/sql/files.ts';
import { manifest, version } from '../../package.ts';
import { credentialChecks, localChecks, withheldCredentials } from '../../says/doctor/doctor.ts';
import { explainProduct } from '../../says/explain/explain.ts';
import { readStatus } from '../../says/status/status.store.ts';
import { everything, settings } from '../config.ts';
import { askDaemon } from '../setup.ts';
import type { Io } from '../terminal/io.ts';

const logLines = 500;
/** A journal that hangs must not hang the report. */
const journalPatienceMs = 10_000;

/** Returns the last lines of the log in a file, or of the journal where it has any of the unit's. */
function lastLines(file: string | null): string {
  const text = file === null ? journal() : readFileSync(file, 'utf8');
  return text.trimEnd().split('\n').slice(-logLines).join('\n');
}

function journal(): string {
  const options = ['--quiet', '--no-pager', '--output', 'cat', '--lines', String(logLines)];
  const found = execFileSync(
    'journalctl',
    [...options, '--unit', 'catalogued.service', '--unit', 'catalogued@*.service'],
    {
      encoding: 'utf8',
      timeout: journalPatienceMs,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  return found === '' ? 'The journal has no lines of the unit that this user can see. Pass a file with --log.' : found;
}

/** The most rows of one table: enough to see what they have in common. */
const mostRows = 200;

/** Returns what a database file is, whatever is wrong with it: its schema, and how many rows each table has. */
function fileFacts(path: string): Record<string, unknown> {
  return opened(path, (db) => ({
    path,
    bytes: statSync(path).size,
    schema_version: db.pragma('user_version', { simple: true }),
    rows: Object.fromEntries(
      tablesOf(db).map((name) => [name, db.prepare(`SELECT count(*) FROM "${name}"`).pluck().get()]),
    ),
    schema: db.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name').pluck().all(),
  }));
}

/** Returns what fails, of every table that counts failures. */
function failingRows(path: string): Record<string, unknown[]> {
  return opened(path, (db) => {
    const counting = tablesOf(db).filter((name) => columnsOf(db, name).includes('failures'));
    return Object.fromEntries(
      counting.map((name) => [
        name,
        db.prepare(`SELECT * FROM "${name}" WHERE failures > 0 ORDER BY failures DESC LIMIT ${mostRows}`).all(),
      ]),
    );
  });
}

/** Views that show one product: the last accepted answer of each, with the service's own document where there is one. */
const shown = ['products', 'checkout_information', 'variants', 'images', 'availability_days', 'timeslots'] as const;

function productRows(path: string, product_id: number): Record<string, unknown[]> {
  return opened(path, (db) => {
    const views = shown.filter((name) => columnsOf(db, name).includes('product_id'));
    return Object.fromEntries(
      views.map((name) => [
        name,
        db.prepare(`SELECT * FROM "${name}" WHERE product_id = ? LIMIT ${mostRows}`).all(product_id),
      ]),
    );
  });
}

function opened<Result>(path: string, read: (db: Database) => Result): Result {
  const db = openReadOnly(path);
  try {
    return read(db);
  } finally {
    db.close();
  }
}

function tablesOf(db: Database): string[] {
  return db
    .prepare<[], string>(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
    .pluck()
    .all();
}

function columnsOf(db: Database, table: string): string[] {
  return db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table);
}

/** Subject of a report, beside the installation. */
export interface ReportSubject {
  /** Product whose records are included; null for none. */
  readonly product_id: number | null;
  /** A file with the log; null: the journal's. */
  readonly log: string | null;
}

/** One file of the report: what it holds, or why that could not be found out. Nothing of it changes anything or asks the service. */
export type Fact = () => unknown;

/** Returns the files of a report by their names. `loaded` throws where there is no usable configuration. */
export function factsFor(
  loaded: () => LoadedConfig,
  { product_id, log }: ReportSubject,
  { io, clock }: { readonly io: Io; readonly clock: Clock },
): Readonly<Record<string, Fact>> {
  const mirror = () => loaded().config.mirror;
  return {
    'versions.json': () => versions(io.env),
    'config.json': () => configuration(loaded()),
    'adapter.json': () => adapter(loaded()),
    'doctor.json': () => doctor(io, loaded()),
    'status.json': () => status(io, loaded(), clock),
    'mirror.json': () => fileFacts(mirror().path),
    'inbox.json': () => fileFacts(mirror().inbox_path),
    'failing.json': () => failingRows(mirror().path),
    'log.txt': () => lastLines(log),
    ...(product_id === null ? {} : { [`product-${product_id}.json`]: () => aboutProduct(loaded(), product_id, clock) }),
  };
}

function versions(env: Io['env']): Record<string, unknown> {
  return {
    catalogued: version,
    node: process.versions,
    sqlite: sqliteVersion(),
    dependencies: manifest.devDependencies,
    system: {
      platform: platform(),
      release: release(),
      arch: arch(),
      memory_bytes: totalmem(),
      user: process.getuid?.(),
    },
    variables: Object.keys(env).filter((name) => name.startsWith('CATALOGUED_')),
  };
}

function configuration(loaded: LoadedConfig): Record<string, unknown> {
  const { file, warnings } = loaded;
  const rows = withoutSecretsElse(loaded);
  return { file, warnings, values: Object.fromEntries(rows.map(({ key, value, origin }) => [key, { value, origin }])) };
}

/** Names the adapter by its hash, with its text: it holds no key. */
function adapter(loaded: LoadedConfig): Record<string, unknown> {
  const { file, hash } = loaded.adapter();
  return { file, hash, text: file === null ? null : readFileSync(file, 'utf8') };
}

/** A secret that this user cannot read is no reason to leave out the rest. */
function withoutSecretsElse(loaded: LoadedConfig): ReturnType<typeof settings> {
  try {
    return everything(loaded);
  } catch {
    return settings(loaded);
  }
}

async function doctor(io: Io, loaded: LoadedConfig): Promise<unknown> {
  const local = localChecks(loaded, checkedCredentials(loaded));
  const asked = await askDaemon(io, loaded, { operation: 'GET /v1/doctor' });
  return { daemon: asked === null ? 'none runs' : 'runs', checks: [...local, ...(asked ?? [])] };
}

function checkedCredentials(loaded: LoadedConfig): ReturnType<typeof credentialChecks> {
  try {
    return credentialChecks(loaded);
  } catch {
    return [...withheldCredentials];
  }
}

/** Returns what a running daemon says of itself, its jobs and its conditions; else what the file says. */
async function status(io: Io, loaded: LoadedConfig, clock: Clock): Promise<unknown> {
  const live = await askDaemon(io, loaded, { operation: 'GET /v1/status' });
  if (live !== null) return live;
  const db = openMirrorForReading(loaded.config.mirror.path);
  try {
    return readStatus(db, clock.now());
  } finally {
    db.close();
  }
}

function aboutProduct({ config }: LoadedConfig, product_id: number, clock: Clock): Record<string, unknown> {
  using mirror = openMirrorFacts(config.mirror.path);
  const policy = policyOf(config, (resource) => mirror.schedule.offers.offers(resource));
  return {
    explained: explainProduct({ mirror, clock, policy }, product_id),
    shown: productRows(config.mirror.path, product_id),
  };
}

/** Returns the secrets that this user can read, and those in variables, whether or not the configuration can be used. */
export function knownSecrets(loaded: () => LoadedConfig, env: Io['env']): string[] {
  const names = Object.keys(secretSources) as (keyof typeof secretSources)[];
  return names.flatMap((name) => [env[secretSources[name].variable] ?? '', revealed(loaded, name)]);
}

function revealed(loaded: () => LoadedConfig, name: keyof typeof secretSources): string {
  try {
    return loaded().secrets[name]?.reveal() ?? '';
  } catch {
    return '';
  }
}
