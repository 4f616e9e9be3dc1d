import { parentPort, workerData } from 'node:worker_threads';
import type { Instant } from '../../kernel/clock.ts';
import { openMirrorForReading } from '../../mirror/sql/files.ts';
import { type StatusAnswer, StatusReads } from './status.store.ts';

/*
 * The thread of `StatusReader`: a connection of its own, and an answer for each message, which is the instant that counts as now.
 */
const db = openMirrorForReading(String(workerData));
// It counts through everything, and nothing it has read is asked for again: a page cache of 2 MiB.
db.pragma('cache_size = -2000');
const status = new StatusReads(db);
parentPort?.on('message', (now: Instant) => parentPort?.postMessage(answer(now)));

function answer(now: Instant): StatusAnswer {
  try {
    return { status: status.read(now) };
  } catch (error) {
    return { error: error as Error };
  }
}
