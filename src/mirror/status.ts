import { statSync } from 'node:fs';
import { type AbsenceFacts, isMissing } from '../domain/absence.ts';
import type { Database } from '../sqlite/database-file.ts';
import { walSizeOf } from '../sqlite/database-file.ts';

/** One line of the view `freshness`: how far a promise is kept, counted per record. */
export interface Freshness {
  readonly resource: string;
  readonly tier: string | null;
  readonly records: number;
  readonly fresh: number;
  readonly stale: number;
  readonly expired: number;
  /** 0 where a record was never read; null where there is none. */
  readonly oldest_checked_at: number | null;
  readonly promise_ms: number;
  readonly kept: 0 | 1;
}

/** What the mirror says of itself, read as any storefront could read it. */
export interface MirrorStatus {
  readonly path: string;
  readonly file_bytes: number;
  readonly wal_bytes: number;
  readonly contract_version: number;
  readonly schema_version: number;
  readonly written_by: string;
  readonly filled_at: number | null;
  readonly products: { readonly visible: number; readonly sellable: number; readonly withdrawn: number };
  readonly images: number;
  readonly records: {
    readonly all: number;
    readonly never_fetched: number;
    readonly failing: number;
    readonly quarantined: number;
  };
  readonly failures: readonly { readonly resource: string; readonly failure: string; readonly records: number }[];
  readonly freshness: readonly Freshness[];
  /** Products whose removal is held, and since when; null: nothing is held. */
  readonly removals: { readonly held: number; readonly since: number } | null;
  /** Conditions that a person should know of. */
  readonly alarms: readonly { readonly kind: string; readonly raised_at: number; readonly products: number }[];
}

/** Reads the status through a read-only connection. `quarantineAfter`: failures in a row. */
export function readStatus(db: Database, quarantineAfter: number): MirrorStatus {
  const info = db
    .prepare<[], Pick<MirrorStatus, 'contract_version' | 'schema_version' | 'written_by' | 'filled_at'>>(
      'SELECT contract_version, schema_version, written_by, filled_at FROM mirror_info',
    )
    .get();
  const products = db
    .prepare<[], MirrorStatus['products']>(
      `SELECT COALESCE(sum(withdrawn_at IS NULL), 0) AS visible, COALESCE(sum(sellable), 0) AS sellable,
         COALESCE(sum(withdrawn_at IS NOT NULL), 0) AS withdrawn FROM product`,
    )
    .get();
  const records = db
    .prepare<[number], MirrorStatus['records']>(
      `SELECT count(*) AS "all", COALESCE(sum(fetched_at IS NULL), 0) AS never_fetched, COALESCE(sum(failures > 0), 0) AS failing,
         COALESCE(sum(failures >= ?), 0) AS quarantined FROM record`,
    )
    .get(quarantineAfter);
  const failures = db
    .prepare<[], MirrorStatus['failures'][number]>(
      'SELECT resource, failure, count(*) AS records FROM record WHERE failures > 0 GROUP BY resource, failure ORDER BY records DESC LIMIT 5',
    )
    .all();
  if (info === undefined || products === undefined || records === undefined)
    throw new Error('the mirror has no row about itself');
  return {
    path: db.name,
    file_bytes: statSync(db.name).size,
    wal_bytes: walSizeOf(db.name),
    ...info,
    products,
    images: db.prepare<[], number>('SELECT count(*) FROM image').pluck().get() ?? 0,
    records,
    failures,
    freshness: db.prepare<[], Freshness>('SELECT * FROM freshness').all(),
    removals: removalsHeld(db),
    alarms: db
      .prepare<[], MirrorStatus['alarms'][number]>('SELECT kind, raised_at, products FROM alarm ORDER BY kind')
      .all(),
  };
}

function removalsHeld(db: Database): MirrorStatus['removals'] {
  const since = db.prepare<[], number>('SELECT opened_at FROM hold WHERE ended_at IS NULL').pluck().get();
  if (since === undefined) return null;
  const absent = db.prepare<[], AbsenceFacts>('SELECT * FROM absence WHERE missing_walks > 0').all();
  return { held: absent.filter(isMissing).length, since };
}
