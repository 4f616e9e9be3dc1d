import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Publication } from '../../../src/copies/postgres/publication.ts';
import { otherWriter } from '../../fakes/other-writer.ts';
import { type Seen, startReaders } from './readers.ts';
import type { PublishedStage } from './stage.ts';

/** Result of reading pages while a mirror is published. */
export interface Told extends Seen {
  readonly what: string;
  readonly ms: number;
  readonly error: string | null;
  /** Milliseconds from the kill of a publication until its lock was free. */
  readonly freed_ms: number;
}

type Stage = Pick<PublishedStage, 'mirror' | 'server' | 'postgres' | 'options'>;

/** Another course of the repository beside this one, so that both are told of in one run. */
export interface Version {
  readonly root: string;
  readonly Publication: typeof Publication;
}

const thisVersion: Version = { root: join(import.meta.dirname, '../../..'), Publication };

interface BesideOptions {
  readonly version?: Version;
  /** Whether one is killed in the middle, too. */
  readonly kills?: boolean;
  readonly say?: (line: string) => void;
}

/** Publishes in every way while so many readers read, and tells what became of each. */
export async function besideReaders(
  at: Stage,
  readers: number,
  { version = thisVersion, kills = true, say = () => undefined }: BesideOptions = {},
): Promise<readonly Told[]> {
  const { postgres, mirror } = at;
  await postgres.query('DROP SCHEMA IF EXISTS shop CASCADE; DROP SCHEMA IF EXISTS catalogued CASCADE');
  await using reading = await startReaders(at.server.url, readers);
  const told: Told[] = [];
  let freed_ms = 0;
  const publish = async () => {
    using publication = new version.Publication(at.options);
    await publication.publish();
  };
  const tell = async (what: string, before: () => Promise<unknown>, work = publish) => {
    await before();
    // Of another file: all is published, not what has changed.
    if (what !== 'first') await postgres.query("UPDATE _published SET source_origin = ''");
    await delay(200);
    await reading.seen();
    const began = performance.now();
    const error = await work().then(
      () => null,
      (thrown: Error) => thrown.message,
    );
    const ms = Math.round(performance.now() - began);
    await delay(200);
    const each = { what, ms, error, freed_ms, ...(await reading.seen()) };
    say(lineOf(readers, each));
    told.push(each);
  };
  await tell('first', async () => undefined);
  await postgres.query(
    'CREATE SCHEMA shop; CREATE VIEW shop.front AS SELECT product_id, title FROM catalogued.products',
  );
  await tell('repeated', async () => undefined);
  await tell('all changed', async () => ratedAlike(mirror));
  await tell('upgrading', async () => {
    ratedAlike(mirror);
    await age(at);
  });
  if (!kills) return told;
  await tell(
    'after a kill',
    async () => {
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, 'publishing-child.ts'), version.root, at.server.url, mirror],
        { stdio: ['ignore', 'ignore', 'inherit'] },
      );
      const ended = once(child, 'exit');
      const sleeping = "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()";
      while (child.exitCode === null && (await postgres.query(sleeping)).length === 0) await delay(50);
      await delay(300);
      child.kill('SIGKILL');
      await ended;
      const died = performance.now();
      const held = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted";
      while ((await postgres.query(held)).length > 0) await delay(20);
      freed_ms = Math.round(performance.now() - died);
    },
    publish,
  );
  return told;
}

/** Rates all products alike: a state with two ratings is none. */
export function ratedAlike(mirror: string): void {
  const db = otherWriter(mirror);
  db.exec('UPDATE _product SET rating = 1 + abs(random() % 1000000) / 250001.0');
  db.exec('UPDATE _product SET rating = (SELECT min(rating) FROM _product)');
  db.close();
}

/** Has the schema be of another version: with a column less and one more, a table that is no more, and other views. */
export async function age({ postgres }: Stage): Promise<void> {
  await postgres.query(
    `ALTER TABLE _product DROP COLUMN IF EXISTS signal_before_at, ADD COLUMN former text;
     CREATE TABLE _former (former_id bigint PRIMARY KEY);
     DO $$ BEGIN
       IF to_regclass('_made') IS NOT NULL THEN
         UPDATE _made SET hash = '' WHERE kind <> 'table';
         INSERT INTO _made (name, kind, hash) VALUES ('_former', 'table', '');
       END IF;
     END $$`,
  );
}

/** One line for a person. */
export function lineOf(
  readers: number,
  { what, ms, error, freed_ms, transactions, failed, torn, longest_wait_ms, longest_ms }: Told,
) {
  const said =
    error === null
      ? `${ms} ms${freed_ms === 0 ? '' : `, begun ${freed_ms} ms after the kill`}`
      : `FAILED after ${ms} ms: ${error}`;
  return `${String(readers).padStart(2)} readers, ${what.padEnd(12)} ${said}; ${transactions} reads, ${failed.length} failed, ${torn} torn, waited ${longest_wait_ms} ms at most (longest read ${longest_ms} ms)`;
}
