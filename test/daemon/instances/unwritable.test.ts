import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { needs } from '../../fakes/needs.ts';
import { missingInDatabase } from './found.ts';
import { posting } from './posting.ts';
import { type Instance, patient, type Stage, sharedNow, stage } from './stage.ts';

describe('a leader whose files cannot be written', needs('postgres', 'time'), () => {
  /** The first of two instances leads, and the other one does not run yet. */
  async function leading(at: Stage): Promise<Instance> {
    at.instances[0].start();
    return await at.leading();
  }

  /** Takes the write lock of the leader's mirror, as a program that forgot its transaction. */
  function lockOut(leader: Instance) {
    const db = new Database(leader.mirror);
    db.exec('BEGIN IMMEDIATE');
    return { [Symbol.dispose]: () => db.close() };
  }
  const readyz = (instance: Instance) => fetch(`${instance.admin}/readyz`).then(({ status }) => status);

  it('resigns within 40 seconds for one that stands by, loses nothing, and is ready again once it can follow', async () => {
    // Calls enough for minutes; a machine that runs everything else copies their mirror in time.
    await using at = await stage({ products: 1000 });
    const first = await leading(at);
    at.other(first).start();
    await at.other(first).standsBy();
    await at.addressed();
    const posts = posting(at.instances, 50);
    await expect.poll(() => posts.acknowledged.length, patient).toBeGreaterThan(20);
    // On a machine that starves its processes the first one may have lost the lease meanwhile.
    const [leader, other] = await at.roles();
    const since = sharedNow();
    const lock = lockOut(leader);
    const taken_over_ms = (await at.firstCall(other, since)).at - since;
    expect(taken_over_ms).toBeGreaterThan(30_000);
    // Promised are 40; a machine that runs everything else is late with its timers and its processes.
    expect(taken_over_ms).toBeLessThan(50_000);
    expect(leader.output()).toContain(
      'the files of this instance cannot be written: it resigns for one that stands by',
    );
    await expect.poll(() => readyz(leader).catch(() => 0), patient).toBe(503);
    await posts.stop();
    expect(await missingInDatabase(at.database, posts.acknowledged)).toEqual([]);
    lock[Symbol.dispose]();
    await leader.standsBy();
  });

  it('leads on and is not ready where none stands by (control)', async () => {
    await using at = await stage({ products: 12 });
    const leader = await leading(at);
    await leader.ready();
    using _ = lockOut(leader);
    await expect.poll(() => readyz(leader), patient).toBe(503);
    await setTimeout(5000);
    const [row] = await at.database.query<{ name: string; holder: string | null }>('SELECT name, holder FROM _leader');
    expect(row).toEqual({ name: leader.name, holder: expect.any(String) });
    expect(leader.output()).not.toContain('it resigns');
  });
});
