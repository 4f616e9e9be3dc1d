import { later } from '../clock.ts';
import type { DaemonSeen } from './daemon-types.ts';

/** Milliseconds after the first view at which collected views are sent together. */
const togetherMs = 5000;
/** As many products and dates as the daemon takes at once; while they are on their way, no more are remembered than these. */
const most = 500;
const mostViews = 10_000;

/** Collects what shoppers look at. */
export interface Seen {
  /** Never throws. */
  note(seen: DaemonSeen): void;
  /** Sends the collected views. */
  flush(): void;
}

/** Sends views together, and forgets those that cannot be sent: no page waits for them, and none fails by them. */
export function seenTogether(send: (body: object) => Promise<unknown>): Seen {
  let waiting = new Map<string, { product_id: number; date: string | null; count: number }>();
  let timer: Disposable | null = null;
  const flush = () => {
    timer?.[Symbol.dispose]();
    timer = null;
    if (waiting.size === 0) return;
    const seen = [...waiting.values()];
    waiting = new Map();
    send({ seen }).catch(() => undefined);
  };
  return {
    note: (seen) => {
      const { product_id, date = null, count = 1 } = seen ?? {};
      if (!isCount(product_id, Number.MAX_SAFE_INTEGER) || !isCount(count, mostViews) || !isDay(date)) return;
      const key = `${product_id} ${date}`;
      const known = waiting.get(key)?.count ?? 0;
      waiting.set(key, { product_id, date, count: Math.min(known + count, mostViews) });
      if (waiting.size >= most) return flush();
      timer ??= later(flush, togetherMs);
    },
    flush,
  };
}

function isCount(value: unknown, greatest: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= greatest;
}

/** One date that the daemon would not take would cost all views of the report. */
function isDay(date: unknown): date is string | null {
  if (date === null) return true;
  if (typeof date !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(date)) return false;
  const at = Date.parse(date);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(date);
}
