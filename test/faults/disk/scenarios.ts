import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { tryBackup } from '../../../src/files/backup/drill.ts';
import { makeBackup } from '../../../src/files/backup/make.ts';
import { backupsIn } from '../../../src/files/backups.ts';
import { instant } from '../../../src/kernel/clock.ts';
import { openForWriting } from '../../../src/kernel/sqlite/database-file.ts';
import { SyncFailed } from '../../../src/kernel/sqlite/failed-sync.ts';
import { publishCopy, removeTemporaries, temporaryName } from '../../../src/kernel/sqlite/published-copy.ts';
import { mirrorFile } from '../../../src/mirror/sql/files.ts';
import { openInbox } from '../../../src/receiver/inbox.ts';
import { versionOf, writeNextSchema } from '../../fakes/next-version.ts';
import { virtualHarness } from '../../fakes/virtual-harness.ts';
import { verify } from '../verify.ts';

/** Something that writes to a disk, again and again, each time from the same beginning. */
export interface Scenario {
  /** Makes what each round begins with. */
  prepare(directory: string): void;
  /**
   * One round while the disk fails. `calm` lets it work again; after that it returns what is wrong with what stands on the
   * disk, or null.
   */
  round(directory: string, calm: () => void): Promise<string | null>;
}

const now = instant(Date.parse('2026-11-21T12:30:00Z'));
const files = (directory: string) => ({ mirror: join(directory, 'mirror.db'), inbox: join(directory, 'inbox.db') });

const storedDays = 20;

/** A mirror with some dates, as this version leaves it. */
function storedMirror(path: string): void {
  const db = openForWriting(path, mirrorFile);
  db.exec(`
    INSERT INTO _product (product_id, sale_status, first_seen_at)
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${storedDays}) SELECT i, 'enabled', 0 FROM n;
    INSERT INTO _product_text (product_id, language, title, changed_at)
      SELECT product_id, 'en', 'Tower', 0 FROM _product;
    INSERT INTO day (product_id, currency, date, until_at, counted_until_at, from_at, state, window_id) SELECT product_id, 'EUR', '2026-11-21', 1795305600000, 1795305600000, 0, 'sold_out', 1 FROM _product`);
  db.close();
}

/** Returns what is wrong with a mirror: null where it is whole. */
function wrongMirror(path: string): string | null {
  const db = new Database(path);
  try {
    const integrity = String(db.pragma('integrity_check', { simple: true }));
    if (integrity !== 'ok') return integrity;
    const days = db.prepare('SELECT count(*) FROM day').pluck().get();
    return days === storedDays ? null : `${days} days of ${storedDays}`;
  } finally {
    db.close();
  }
}

/** Returns what a piece of work was refused for; null: it was not. */
function refused(work: () => void): unknown {
  try {
    work();
    return null;
  } catch (error) {
    return error;
  }
}

/** `says` answers before it stores: the control. */
function deliveries(order: 'stores' | 'says'): Scenario {
  return {
    prepare: (directory) => openInbox(files(directory).inbox, { master: null, now })[Symbol.dispose](),
    round: async (directory, calm) => {
      const acknowledged = new Set<number>();
      const store = (ids: readonly number[]) => {
        using inbox = openInbox(files(directory).inbox, { master: null, now });
        for (const id of ids) {
          const body = Buffer.from(JSON.stringify({ id, padding: 'x'.repeat(3000) }));
          if (order === 'says') acknowledged.add(id);
          const received = { subscription_id: 'a', epoch: 1, received_at: now, peer: '::1', content_type: null };
          const error = refused(() =>
            inbox.deliveries.store([{ ...received, body, length: body.length, truncated: false }]),
          );
          if (error === null) acknowledged.add(id);
          // The process would end, and be started again.
          else if (error instanceof SyncFailed) throw error;
        }
      };
      const first = refused(() => store([1, 2, 3, 4]));
      if (first !== null) refused(() => store([5]));
      calm();
      store([6]);
      const { lost, damage } = verify(directory, acknowledged);
      if (!acknowledged.has(6)) return 'a delivery is refused although the disk works again';
      return lost > 0 ? `${lost} of ${acknowledged.size} acknowledged are lost` : damage;
    },
  };
}

const migration: Scenario = {
  prepare: (directory) => {
    withBoth(directory);
    writeNextSchema(join(directory, 'schema'));
  },
  round: async (directory, calm) => {
    const next = versionOf(join(directory, 'schema'));
    const open = () => {
      openForWriting(files(directory).inbox, next.inbox).close();
      openForWriting(files(directory).mirror, next.mirror).close();
    };
    refused(open);
    calm();
    open();
    return wrongMirror(files(directory).mirror);
  },
};

function withBoth(directory: string): void {
  storedMirror(files(directory).mirror);
  openInbox(files(directory).inbox, { master: null, now })[Symbol.dispose]();
}

const backup: Scenario = {
  prepare: (directory) => {
    withBoth(directory);
    make(directory, now);
  },
  round: async (directory, calm) => {
    const failed = refused(() => make(directory, now + 60_000)) !== null;
    calm();
    const kept = backupsIn(join(directory, 'backups'));
    if (kept.length < (failed ? 1 : 2))
      return `${kept.length} backups, where the last one was ${failed ? 'refused' : 'made'}`;
    make(directory, now + 120_000);
    const bad = backupsIn(join(directory, 'backups')).flatMap((each) => tryBackup({ backup: each, now }).failure ?? []);
    return bad.length > 0 ? bad.join('; ') : wrongMirror(files(directory).mirror);
  },
};

function make(directory: string, at: number): void {
  const backups = join(directory, 'backups');
  makeBackup({ ...files(directory), directory: backups, why: 'schedule', made_by: 'test', now: at } as never);
}

const publication: Scenario = {
  prepare: (directory) => {
    withBoth(directory);
    publish(directory);
  },
  round: async (directory, calm) => {
    refused(() => publish(directory));
    calm();
    const wrong = wrongMirror(join(directory, 'published.db'));
    removeTemporaries(join(directory, 'published.db'));
    publish(directory);
    return wrong ?? wrongMirror(join(directory, 'published.db'));
  },
};

function publish(directory: string): void {
  const path = join(directory, 'published.db');
  publishCopy(files(directory).mirror, path, temporaryName(path, process.pid));
}

/** The first fill of a daemon that is started again whenever it ends. */
const fill: Scenario = {
  prepare: () => undefined,
  round: async (_, calm) => {
    await using harness = await startedAgain(() =>
      virtualHarness({ products: 2, lean: true }, {}, { makesTables: true }),
    );
    const filled = harness.isFilled;
    for (let lives = 0; lives < 20 && !filled(); lives += 1)
      await harness.runUntil(filled).catch(() => startedAgain(() => harness.restart()));
    calm();
    await harness.restart();
    await harness.live(60_000);
    const { path } = harness.daemon.config.mirror;
    const db = new Database(path, { readonly: true });
    const integrity = String(db.pragma('integrity_check', { simple: true }));
    db.close();
    if (integrity !== 'ok') return integrity;
    const { differences, first } = await harness.compare();
    return differences === 0 ? null : `${differences} differences, first ${first[0]}`;
  },
};

async function startedAgain<Result>(start: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1)
    try {
      return await start();
    } catch (error) {
      if (tries === 12) throw error;
    }
}

export const scenarios = {
  deliveries: deliveries('stores'),
  'deliveries, answered before they are stored': deliveries('says'),
  migration,
  backup,
  publication,
  fill,
} as const;

export type ScenarioName = keyof typeof scenarios;

/** Puts what a scenario begins with into a directory of a round. */
export function begin(prepared: string, directory: string): void {
  mkdirSync(directory, { recursive: true });
  if (existsSync(prepared)) cpSync(prepared, directory, { recursive: true });
}
