import type { WriteTrouble } from '../files/write-trouble.ts';
import type { JobRuns } from '../schedule/job-runs.ts';

/** What conditions are decided by: the status, and what only a running daemon has watched. */
export interface ConditionFacts {
  readonly filled_at: number | null;
  readonly wal_bytes: number;
  readonly freshness: readonly FreshnessFacts[];
  readonly removals: { readonly held: number; readonly since: number } | null;
  readonly contradicted: { readonly products: number; readonly since: number } | null;
  readonly error_rate: {
    readonly checks: number;
    readonly wrong: number;
    readonly orders: number;
    readonly orders_wrong: number;
    readonly rate: number | null;
  };
  /** What parts of the daemon have noted at work. */
  readonly alarms: readonly { readonly kind: string; readonly raised_at: number; readonly products: number }[];
  /** Of the newest or the last attempted; `failure` null: it did not fail, or no daemon runs. */
  readonly snapshot: (Copy & { readonly published_at: number | null }) | null;
  readonly backup: Copy & { readonly made_at: number | null; readonly directory: string };
  /** False: a daemon runs, but does not answer; null: none runs. Left out by the daemon itself. */
  readonly daemon_answers?: boolean | null;
  /* The rest is null without a daemon. */
  readonly daemon: { readonly unreachable_since: number | null; readonly key_refused: string | null } | null;
  readonly storage: StorageFacts | null;
  readonly jobs: readonly JobRuns[] | null;
}

interface FreshnessFacts {
  readonly resource: string;
  readonly tier: string | null;
  readonly records: number;
  readonly stale: number;
  readonly expired: number;
  readonly promise_ms: number;
  readonly kept: 0 | 1;
}

interface Copy {
  readonly late: 0 | 1;
  readonly failure: string | null;
}

export interface StorageFacts {
  readonly trouble: {
    readonly kind: WriteTrouble;
    readonly path: string;
    readonly since: number;
    readonly missing_bytes: number | null;
  } | null;
  readonly directories: readonly {
    readonly path: string;
    readonly free_bytes: number;
    readonly low_below_bytes: number;
    readonly low: 0 | 1;
  }[];
}
