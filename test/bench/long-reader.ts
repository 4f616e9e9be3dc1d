import { performance } from 'node:perf_hooks';
import Database from 'better-sqlite3';
import { walSizeOf } from '../../src/kernel/sqlite/database-file.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { type TestMirror, testMirror } from '../fakes/test-mirror.ts';
import { count, type Line, median, quantile } from './measure.ts';

/*
 * Commits beside a reader that holds its transaction open, so that no checkpoint gets past it. What a reader of ten minutes
 * would meet at a partner's rate, 15 commits a second, is written as fast as it goes, and the line says how long that took.
 */

const commits = 9_000;
const products = 2_000;
/** As the daemon asks for a checkpoint while it reads (sync-cycle.ts). */
const checkpointEvery = 100;

interface Written {
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly seconds: number;
}

export async function longReaderLines(): Promise<Line[]> {
  using test = testMirror();
  const { mirror } = test;
  for (let first = 0; first < products; first += 500)
    putProducts(
      { mirror },
      Array.from({ length: 500 }, (_, index) => productOf(first + index + 1)),
    );
  write(test, commits / 10, 1);
  // Before and after: whatever a neighbour of the machine does falls upon both.
  const before = write(test, commits / 2, 2);
  const reader = new Database(mirror.path, { readonly: true });
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM products').get();
  const beside = write(test, commits, 3);
  const most = walSizeOf(mirror.path) / 1024 / 1024;
  reader.exec('ROLLBACK');
  reader.close();
  const began = performance.now();
  mirror.checkpoint('plenty');
  const stall = performance.now() - began;
  write(test, checkpointEvery, 4);
  const after = walSizeOf(mirror.path) / 1024 / 1024;
  const later = write(test, commits / 2, 5);
  const alone = { p50: (before.p50 + later.p50) / 2, p99: (before.p99 + later.p99) / 2 };
  const ratio = beside.p50 / alone.p50;
  return [
    {
      what: `${count(commits)} commits (ten minutes of 15 a second) beside a reader that held its transaction for ${beside.seconds.toFixed(0)} s, against none`,
      value: `p50 ${beside.p50.toFixed(2)} ms / ${alone.p50.toFixed(2)} ms = ${ratio.toFixed(2)} ×; p99 ${beside.p99.toFixed(2)}, ${alone.p99.toFixed(2)} ms`,
      target: '≤ 1.5 ×',
      met: ratio <= 1.5,
    },
    {
      what: 'the WAL after them, and once that reader is gone',
      value: `${most.toFixed(0)} MiB, then ${after.toFixed(0)} MiB after a checkpoint of ${stall.toFixed(0)} ms`,
      target: '≤ 64 MiB once it is gone',
      met: after <= 64,
    },
  ];
}

/** Stores another price of one product at a time, each in a durable transaction of its own. */
function write({ mirror }: TestMirror, times: number, price: number): Written {
  const taken: number[] = [];
  const began = performance.now();
  for (let nth = 0; nth < times; nth += 1) {
    const entry = productOf(1 + (nth % products), { from_price: 1_000 * price + Math.floor(nth / products) });
    const started = performance.now();
    putProducts({ mirror }, [entry]);
    taken.push(performance.now() - started);
    if (nth % checkpointEvery === 0) mirror.checkpoint('plenty');
  }
  const seconds = (performance.now() - began) / 1000;
  return { p50: median(taken), p99: quantile(taken, 0.99), seconds };
}
