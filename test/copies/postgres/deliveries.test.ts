import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../../src/copies/postgres/connect.ts';
import { SharedDeliveries } from '../../../src/copies/postgres/deliveries.ts';
import { joinInstances } from '../../../src/copies/postgres/instances.ts';
import { Copying } from '../../../src/daemon/sharing/copying.ts';
import { instant } from '../../../src/kernel/clock.ts';
import { openInbox } from '../../../src/receiver/inbox.ts';
import { needs } from '../../fakes/needs.ts';
import { type StartedPostgres, startPostgres } from '../../fakes/start-postgres.ts';
import { testLog } from '../../fakes/test-log.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';

describe('deliveries in PostgreSQL', needs('postgres', 'time'), () => {
  const stack = new AsyncDisposableStack();
  let server: StartedPostgres;
  let directory = '';
  let database: Postgres;
  let shared: SharedDeliveries;
  let schemas = 0;
  beforeAll(() => {
    server = stack.use(startPostgres());
    directory = stack.use(temporaryDirectory()).path;
  });
  beforeEach(async () => {
    const schema = `s${++schemas}`;
    database = stack.use(await connectPostgres({ url: server.url, schema, connections: 2 }));
    await joinInstances(database, schema, { pair_id: 'p', key_fingerprint: schema });
    shared = new SharedDeliveries(database);
  });
  afterAll(() => stack.disposeAsync());

  let clock = 0;
  const store = (...bodies: string[]) => {
    clock += 1;
    const from = { received_at: instant(clock), subscription_id: 's', epoch: 1, peer: 'p', content_type: null };
    return shared.store(
      bodies.map((body) => ({ ...from, length: body.length, truncated: false, body: Buffer.from(body) })),
    );
  };
  /** A leader's inbox, and what copies into it. */
  function leader() {
    const path = `${directory}/${schemas}.inbox.db`;
    const inbox = stack.use(openInbox(path, { master: null, now: instant(0), pair_id: 'p' }));
    const { log, lines } = testLog('warn');
    const none = () => undefined;
    const copying = stack.use(new Copying({ shared, inbox, log, copied: none, writer: { now: (work) => work() } }));
    return {
      copy: async () => {
        await copying.copy();
        const found = inbox.deliveries.after(0, 100);
        return found.map(({ delivery_id, body }) => `${delivery_id} ${body}`);
      },
      warnings: () => lines().map(({ msg, again }) => `${again}: ${msg}`),
    };
  }
  /** As a replica that was promoted without the last commits. */
  const forgetFrom = (delivery_id: number) =>
    database.query(`DELETE FROM _delivery WHERE delivery_id >= ${delivery_id};
      UPDATE _numbering SET last = ${delivery_id - 1}`);

  it('are copied once each, in their order, under the numbers that they were given', async () => {
    const { copy, warnings } = leader();
    await store('one', 'two');
    expect(await copy()).toEqual(['1 one', '2 two']);
    await store('three');
    expect(await copy()).toEqual(['1 one', '2 two', '3 three']);
    expect(warnings()).toEqual([]);
  });

  it.each([
    ['fewer', ['five']],
    ['as many', ['five', 'six']],
    ['more', ['five', 'six', 'seven']],
  ])('that come under numbers which a failover has forgotten are copied all the same, %s of them', async (_, came) => {
    const { copy, warnings } = leader();
    await store('one', 'two');
    await store('three', 'four');
    const before = await copy();
    await forgetFrom(3);
    await store(...came);
    const after = await copy();
    expect(after.slice(0, 4)).toEqual(before);
    expect(after.slice(4).map((each) => each.split(' ')[1])).toEqual(came);
    expect(warnings()).toEqual([expect.stringMatching(/^[123]: the database has forgotten what it had confirmed/)]);
    await store('later');
    expect((await copy()).at(-1)).toMatch(/ later$/);
    expect(warnings()).toHaveLength(1);
  });

  it('that were settled and pruned on both sides are not taken for forgotten', async () => {
    const { copy, warnings } = leader();
    await store('one');
    await copy();
    await shared.prune(clock + 1);
    await store('two');
    expect(await copy()).toEqual(['1 one', '2 two']);
    expect(warnings()).toEqual([]);
  });
});
