import { hash } from 'node:crypto';
import { contract } from '../../mirror/contract/contract.ts';
import { publicColumns } from '../../mirror/contract/table.ts';
import { type HttpRead, httpReads } from '../../storefront/http/reads.ts';
import type { Found, Reader } from '../../storefront/reader.ts';
import type { ViewsClock } from './views-clock.ts';

/** A call of one of the reader's functions. */
export interface ReaderCall {
  readonly name: HttpRead;
  readonly asked: readonly unknown[];
}

/** An answer of the reader as it is sent over HTTP. */
export interface Representation {
  /** JSON with public columns only; `null` where there is nothing. */
  readonly body: string;
  /** Without quotes. Of another feed or other content it is another one. */
  readonly etag: string;
  /** Seconds since 1970 of which it is, and the last one, at most 60 later, at which the clock alone has not changed it. */
  readonly at: number;
  readonly holds_until: number;
  /** Typed words that the found products have; null for calls other than `search`. */
  readonly matched: Found['matched'] | null;
}

/** The longest time, in seconds, for which a cache may keep an answer: a new read of the service shows after it. */
const longest_s = 60;

/** Columns that may be published, by table: anything else is left out of rows. */
const published = new Map(
  Object.entries(contract).map(([name, table]) => [name, publicColumns(table).map(([column]) => column)]),
);

/** Answers a call, and looks ahead for the instant at which the clock changes the answer. */
export function represent(reader: Reader, call: ReaderCall, clock: ViewsClock): Representation {
  const looked = () => {
    const from = clock.seconds();
    const read = (seconds: number) => clock.at(from + seconds, () => answered(reader, call));
    const answer = read(0);
    const body = written(answer, call);
    const at = (seconds: number) => written(read(seconds), call);
    const etag = `${reader.info().feed_id}-${hash('sha256', body, 'base64url').slice(0, 22)}`;
    const matched = call.name === 'search' ? (answer as Found).matched : null;
    return { body, etag, at: from, holds_until: from + lastEqual(body, at), matched };
  };
  return reader.transaction(() => clock.keeping(looked));
}

/**
 * Returns the last second, at most `longest_s`, at which the answer is still the same. Times of a venue begin at full
 * minutes, and what grows old or expires does not come back. So an answer changes once within a minute, and halving
 * finds it.
 */
function lastEqual(body: string, at: (seconds: number) => string): number {
  if (at(longest_s) === body) return longest_s;
  let [same, other] = [0, longest_s];
  while (other - same > 1) {
    const middle = Math.floor((same + other) / 2);
    if (at(middle) === body) same = middle;
    else other = middle;
  }
  return same;
}

function answered(reader: Reader, { name, asked }: ReaderCall): unknown {
  // Safe cast: the arguments were parsed by the schemas of the operation, and the reader checks them again.
  return (reader[name] as (...args: readonly unknown[]) => unknown)(...asked);
}

function written(answer: unknown, { name }: ReaderCall): string {
  const read: { readonly path: string; readonly rows?: string } = httpReads[name];
  return JSON.stringify(answer, read.rows === undefined ? null : (published.get(read.rows) ?? []));
}
