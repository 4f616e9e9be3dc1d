import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { DaemonRows } from '../../../src/copies/follow/daemon-rows.ts';
import { follow } from '../../../src/copies/follow/follower.ts';
import type { RowSource } from '../../../src/copies/follow/source.ts';
import type { RowPage } from '../../../src/feed/pages.store.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { addDays, venueToday } from '../../../src/kernel/time/venue.ts';
import { numberAnswers } from '../../fakes/numbered-service.ts';
import { testLog } from '../../fakes/test-log.ts';
import { type FollowStage, followStage, watchLag } from './follow-stage.ts';
import { parts } from './scenarios.ts';
import { type ReadersOptions, type Results, startReaders, type Window } from './start-readers.ts';

/*
 * Readers of a followed copy (docs/copies.md): whole states only, also while the daemon is killed, and
 * soon. One bug that they must see: a follower that commits row by row.
 */

/** As fast as the sandbox answers. */
const fast = 100_000;

/** A daemon beside the service in numbers, and the windows that its answers fill. */
async function numberedStage(products: number) {
  const now = systemClock.now();
  let windows: Window[] = [];
  let answers = () => 0;
  const stage = await followStage(products, (sandbox) => {
    const numbered = numberAnswers(sandbox, now);
    const today = venueToday(numbered.zone, now).earliest;
    answers = numbered.answers;
    windows = sandbox
      .products()
      .flatMap(({ id }) => parts.map(({ first, days }) => ({ product_id: id, from: addDays(today, first), days })));
  });
  return { stage, windows, answers };
}

export interface WhileFollowing {
  readonly results: Results;
  readonly kills: number;
  readonly answers: number;
  /** Milliseconds, in order. */
  readonly lags: readonly number[];
}

/**
 * Everything is read from the service again and again, always different, and the daemon is killed so many times, until the
 * readers of the copy have made so many reads.
 */
export async function whileFollowing({
  reads,
  products,
  kills,
}: {
  reads: number;
  products: number;
  kills: number;
}): Promise<WhileFollowing> {
  const { stage, windows, answers } = await numberedStage(products);
  await using _ = stage;
  await stage.run(fast);
  await stage.follow();
  const before = answers();
  const lag = watchLag(stage);
  const readers = await startReaders(stage.copy, windows);
  let resyncs = 0;
  for (let killed = 0; readers.reads().all < reads || killed < kills || resyncs <= kills; ) {
    if (stage.isRead()) {
      await stage.resyncAll();
      resyncs += 1;
    }
    if (killed < kills && readers.reads().all > ((killed + 0.5) * reads) / kills) {
      await stage.kill();
      await stage.run(fast);
      killed += 1;
    }
    await setTimeout(50);
  }
  await lag.level();
  return { results: await readers.stop(), kills, answers: answers() - before, lags: lag.stop() };
}

/** A follower that commits row by row, while everything is read again and until each reader has made so many reads more. */
export async function besideHastyFollower({ reads, ...options }: ReadersOptions & { reads: number }): Promise<Results> {
  const { stage, windows } = await numberedStage(4);
  await using _ = stage;
  await stage.run(fast);
  const ending = new AbortController();
  const following = follow(
    {
      source: rowByRow(new DaemonRows(stage.from, null)),
      path: stage.copy,
      every: 1,
      clock: systemClock,
      log: testLog('silent').log,
      own: process.pid,
    },
    ending.signal,
  );
  while (!existsSync(stage.copy)) await setTimeout(20);
  const readers = await startReaders(stage.copy, windows, { turns: ['calendar', 'window'], ...options });
  await stage.resyncAll();
  while (!stage.isRead()) await setTimeout(20);
  const enough = readers.reads().fewest + reads;
  while (readers.reads().fewest < enough) await setTimeout(20);
  const results = await readers.stop();
  ending.abort();
  await following;
  return results;
}

/** Each row as if it was a whole state. */
function rowByRow(source: RowSource): RowSource {
  let queue: RowPage[] = [];
  return {
    copy: (path, signal) => source.copy(path, signal),
    after: async (question, signal) => {
      const next = queue.shift();
      if (next !== undefined) return next;
      const page = await source.after(question, signal);
      if (page === 'begun-anew' || page.tables.length === 0) return page;
      const single = page.tables.flatMap((table) => [
        ...table.gone.map((key) => ({ ...table, rows: [], gone: [key] })),
        ...table.rows.map((row) => ({ ...table, rows: [row], gone: [] })),
      ]);
      queue = single.map((table, index) => ({
        ...page,
        whole: true,
        number: page.number - (single.length - 1 - index),
        tables: [table],
      }));
      return queue.shift() ?? page;
    },
  };
}

export interface Lags {
  readonly usual: readonly number[];
  readonly storm: readonly number[];
  readonly notifications: number;
}

/** At ten calls a second, and while so many notifications arrive as fast as they can. */
export async function lagsOf({
  products,
  seconds,
  notifications,
}: {
  products: number;
  seconds: number;
  notifications: number;
}): Promise<Lags> {
  await using stage = await followStage(products);
  await stage.run(fast);
  await stage.run(10);
  await stage.follow();
  const usual = watchLag(stage);
  await stage.resyncAll();
  await setTimeout(1000 * seconds);
  const usually = usual.stop();
  const before = stage.deliveries();
  const storm = watchLag(stage);
  await brew(stage, notifications);
  const arrived = stage.deliveries() - before;
  await storm.level();
  return { usual: usually, storm: storm.stop(), notifications: arrived };
}

/** Products close, open and change, all of them in turn, each time announced. */
async function brew({ sandbox, deliveries }: FollowStage, notifications: number): Promise<void> {
  const { world } = sandbox;
  const ids = sandbox.products().map(({ id }) => id);
  const goal = deliveries() + notifications;
  for (let round = 0; deliveries() < goal; round += 1) {
    const sent = deliveries();
    for (const id of ids) {
      if (round % 3 === 0) world.disable(id);
      else if (round % 3 === 1) world.enable(id);
      else world.edit(id, { field: 'description', value: `of round ${round}` });
    }
    // The service announces of each product only the last change of a kind.
    for (let waited = 0; waited < 100 && deliveries() < sent + 0.9 * ids.length; waited += 1) await setTimeout(50);
  }
}
