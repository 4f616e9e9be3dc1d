import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { roll } from '../../src/sandbox/random.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { startChild } from './child.ts';
import { type Posted, postDeliveries } from './posters.ts';
import { type Operation, readTrace, tracing } from './trace.ts';
import { verifyFile } from './verify.ts';

/*
 * What a power cut can leave behind (reliability 1.3, after ALICE and SQLite's own crash tests): everything that was
 * synced, and of the rest nothing, a beginning, some writes, or some sectors.
 */

export interface PowerLoss {
  readonly images: number;
  readonly acknowledged: number;
  /** Images that SQLite finds damaged, or that hold half a commit. */
  readonly corrupt: number;
  /** Images that lack a delivery which was acknowledged before the cut. */
  readonly lost: number;
}

/** strace itself may miss the end of a call that the kill came upon: such a trace is taken once more. */
const attempts = 5;

/** Traces a receiver that takes deliveries, and cuts its power at random moments. */
export async function powerLoss(images: number, mode: 'traced' | 'traced-normal', seed: number): Promise<PowerLoss> {
  let missed = '';
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const { operations, acknowledged, traced } = await traceDeliveries(mode);
    if (traced === acknowledged) return { ...cutPower(operations, images, seed), acknowledged };
    missed = `the trace shows ${traced} of ${acknowledged} answers`;
  }
  throw new Error(missed);
}

async function traceDeliveries(mode: 'traced' | 'traced-normal') {
  using directory = temporaryDirectory();
  const output = join(directory.path, 'trace');
  const child = await startChild(directory.path, mode, tracing(output));
  if (child.pid === null) throw new Error(`the receiver ended with ${await child.ended} under strace`);
  const posted: Posted = { acknowledged: new Set(), answers: [] };
  await postDeliveries(child, { posters: 4, each: 75, posted });
  child.kill();
  await child.ended;
  const operations = readTrace(output, join(directory.path, 'inbox.db'));
  const traced = operations.filter(({ kind }) => kind === 'acknowledged').length;
  return { operations, acknowledged: posted.acknowledged.size, traced };
}

/** Cuts at `images` random moments after the first delivery arrived, and looks at what is left each time. */
function cutPower(operations: readonly Operation[], images: number, seed: number): Omit<PowerLoss, 'acknowledged'> {
  const first = operations.findIndex(({ kind }) => kind === 'acknowledged');
  const cuts = Array.from(
    { length: images },
    (_, n) => first + Math.floor(roll(seed, n) * (operations.length - first)),
  );
  cuts.sort((a, b) => a - b);
  const disk = new Map<string, FileOnDisk>();
  const acknowledged = new Set<number>();
  const result = { images, corrupt: 0, lost: 0 };
  const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'catalogued-power-'));
  try {
    let done = 0;
    for (const [image, cut] of cuts.entries()) {
      for (; done <= cut; done += 1) apply(disk, acknowledged, operations[done] as Operation);
      const chance = (...of: readonly number[]) => roll(seed, 'image', image, ...of);
      for (const name of readdirSync(root)) rmSync(join(root, name));
      for (const [index, [path, file]] of [...disk].entries())
        writeFileSync(
          join(root, path.slice(path.lastIndexOf('/') + 1)),
          leftOf(file, (...of) => chance(index, ...of)),
        );
      const { lost, damage } = verifyFile(join(root, 'inbox.db'), acknowledged);
      if (damage !== null) result.corrupt += 1;
      if (lost > 0) result.lost += 1;
    }
    return result;
  } finally {
    rmSync(root, { recursive: true });
  }
}

type Change = Extract<Operation, { kind: 'write' | 'truncate' }>;

interface FileOnDisk {
  /** What the last sync has made durable. */
  durable: Buffer;
  /** What came after it. */
  pending: Change[];
}

function apply(disk: Map<string, FileOnDisk>, acknowledged: Set<number>, operation: Operation): void {
  if (operation.kind === 'acknowledged') {
    acknowledged.add(operation.id);
    return;
  }
  if (operation.kind === 'remove') {
    disk.delete(operation.path);
    return;
  }
  const file = disk.get(operation.path) ?? { durable: Buffer.alloc(0), pending: [] };
  disk.set(operation.path, file);
  if (operation.kind !== 'sync') {
    file.pending.push(operation);
    return;
  }
  file.durable = file.pending.reduce(changed, file.durable);
  file.pending = [];
}

const sector = 512;

/** One of the ways in which unsynced changes reach a disk, or do not. */
function leftOf({ durable, pending }: FileOnDisk, chance: (...of: number[]) => number): Buffer {
  const way = Math.floor(4 * chance(0));
  if (way === 0) return durable;
  if (way === 1) return pending.slice(0, Math.floor(chance(1) * (pending.length + 1))).reduce(changed, durable);
  if (way === 2) return pending.filter((_, index) => chance(2, index) < 0.5).reduce(changed, durable);
  return pending
    .flatMap((change) => (change.kind === 'truncate' ? [change] : sectorsOf(change)))
    .filter((_, index) => chance(3, index) < 0.5)
    .reduce(changed, durable);
}

function sectorsOf({ path, offset, bytes }: Extract<Change, { kind: 'write' }>): Change[] {
  const parts: Change[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + sector - ((offset + at) % sector));
    parts.push({ kind: 'write', path, offset: offset + at, bytes: bytes.subarray(at, end) });
    at = end;
  }
  return parts;
}

function changed(content: Buffer, change: Change): Buffer {
  const size = change.kind === 'truncate' ? change.size : Math.max(content.length, change.offset + change.bytes.length);
  const result = Buffer.alloc(size);
  content.copy(result, 0, 0, size);
  if (change.kind === 'write') change.bytes.copy(result, change.offset);
  return result;
}
