import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import Database from 'better-sqlite3';
import { builtCommit } from '../fakes/built-commit.ts';
import { freePort } from '../fakes/free-port.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { type Line, median } from './line.ts';
import { said } from './process.ts';

/*
 * What a partner would write instead, in a crontab: curl, jq and sqlite3, one call after another, each row written again.
 * Both read the same service; dates on sale that are stored a second, in rounds of both close together.
 */

const products = 200;
const rounds = 3;
/** Products that the script reads: it is slow, and its rate is the same from the first. */
const scripted = 40;

const script = `set -euo pipefail
sqlite3 "$FILE" 'PRAGMA journal_mode=WAL; CREATE TABLE IF NOT EXISTS offer (product INTEGER, date TEXT, time TEXT, variant INTEGER, price REAL, tickets INTEGER, PRIMARY KEY (product, date, time, variant));' >/dev/null
while read -r id from to; do
  curl -sf --compressed "$URL/v2/products/$id/availability?date_from=$from&date_to=$to&currency=EUR" |
    jq -r --arg id "$id" '"BEGIN;", (.dates[] | .date as $date | .timeslots[] | .time as $time | .variants[]
      | "INSERT OR REPLACE INTO offer VALUES(\\($id),\\u0027\\($date)\\u0027,\\u0027\\($time)\\u0027,\\(.id),\\(.price_mediation.total_retail_price_incl_vat // "NULL"),\\(.max_tickets // "NULL"));"), "COMMIT;"' |
    sqlite3 "$FILE"
done`;

interface Window {
  readonly product_id: number;
  readonly from: string;
}

export async function scriptLines(): Promise<Line[]> {
  const what = 'dates of products stored a second, everything new, beside a script of curl, jq and sqlite3';
  const target = '≥ 15 ×';
  const missing = ['curl', 'jq', 'sqlite3'].filter((program) => spawnSync(program, ['--version']).error !== undefined);
  if (missing.length > 0)
    return [{ what, value: `not run: there is no ${missing.join(' and no ')} here`, target, met: 'not run' }];
  const cli = join(builtCommit(undefined), 'dist/cli.js');
  using directory = temporaryDirectory();
  const port = await freePort();
  const service = ['sandbox', '--products', String(products), '--port', String(port), '--hold', '0s'];
  const sandbox = spawn(process.execPath, [cli, ...service], {
    cwd: directory.path,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const own: number[] = [];
  const theirs: number[] = [];
  try {
    await said(sandbox.stdout, 'The sandbox serves');
    for (let round = 0; round < rounds; round += 1) {
      using fresh = temporaryDirectory();
      const { rate, windows } = await filled(cli, fresh.path, port);
      own.push(rate);
      theirs.push(byScript(fresh.path, port, windows));
    }
  } finally {
    sandbox.kill('SIGTERM');
  }
  const ratio = median(own.map((rate, round) => rate / (theirs[round] ?? Number.NaN)));
  const value = `${median(own).toFixed(0)}/s, the script ${median(theirs).toFixed(1)}/s = ${ratio.toFixed(1)} ×`;
  return [{ what, value, target, met: ratio >= 15 }];
}

/** A first fill by the built daemon: all dates, its other calls among them. */
async function filled(cli: string, cwd: string, port: number): Promise<{ rate: number; windows: Window[] }> {
  const config = join(cwd, 'catalogued.yaml');
  writeFileSync(config, testConfigText(cwd, `http://127.0.0.1:${port}`));
  const began = performance.now();
  const daemon = spawn(process.execPath, [cli, '--config', config, 'run'], {
    cwd,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await said(daemon.stdout, 'pass ended');
  const seconds = (performance.now() - began) / 1000;
  const exit = new Promise((resolve) => daemon.once('exit', resolve));
  daemon.kill('SIGTERM');
  await exit;
  const db = new Database(join(cwd, 'mirror', 'mirror.db'), { readonly: true });
  const windows = db
    .prepare(
      "SELECT product_id, min(date) AS 'from', count(*) AS dates FROM availability_days WHERE state <> 'not_on_sale' GROUP BY 1",
    )
    .all() as (Window & { dates: number })[];
  const count = windows.reduce((sum, { dates }) => sum + dates, 0);
  db.close();
  return { rate: count / seconds, windows: windows.slice(0, scripted) };
}

/** The same by the script, into a file of its own, 31 dates a call. */
function byScript(cwd: string, port: number, windows: readonly Window[]): number {
  const file = join(cwd, 'script.db');
  const lines = windows.map(({ product_id, from }) => `${product_id} ${from} ${later(from, 30)}\n`);
  const began = performance.now();
  const { status, stderr } = spawnSync('bash', ['-c', script], {
    input: lines.join(''),
    env: { ...process.env, FILE: file, URL: `http://127.0.0.1:${port}` },
    encoding: 'utf8',
  });
  const seconds = (performance.now() - began) / 1000;
  const db = new Database(file, { readonly: true });
  const stored = db.prepare('SELECT count(DISTINCT product), count(DISTINCT product || date) FROM offer').raw().get();
  db.close();
  const [productsStored = 0, dates = 0] = stored as number[];
  if (status !== 0 || productsStored !== windows.length)
    throw new Error(`the script stored ${productsStored} of ${windows.length} products: ${stderr}`);
  return dates / seconds;
}

function later(date: string, days: number): string {
  return new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
}
