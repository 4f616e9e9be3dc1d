import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { report } from '../../src/commands/main.ts';
import { createSecret } from '../../src/config/secrets.ts';
import { exitCodes } from '../../src/kernel/errors.ts';
import { SyncFailed } from '../../src/kernel/sqlite/failed-sync.ts';
import { canary } from '../fakes/canary.ts';
import { capturedIo } from '../fakes/captured-io.ts';
import { freePort } from '../fakes/free-port.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';

it('a start that a full disk ends lets go of the address of the receiver', async () => {
  const port = await freePort();
  await using harness = await receiving(port, ({ inbox }) => {
    Object.assign(inbox.addresses, { masterChanged: () => refused() });
  });
  const refusals: unknown[] = [];
  await harness.restart({
    meanwhile: async () => {},
    refused: async (error) => {
      refusals.push((error as { code?: string }).code);
      const other = createServer().listen(port, '127.0.0.1');
      await once(other, 'listening');
      other.close();
      await once(other, 'close');
    },
  });
  expect(refusals).toEqual(['SQLITE_FULL']);
});

it('a start that cannot apply what waits in the inbox is refused, and does not end a moment later', async () => {
  await using harness = await receiving(await freePort(), ({ inbox, mirror }) => {
    const after = inbox.deliveries.after.bind(inbox.deliveries);
    Object.assign(inbox.deliveries, {
      after: (...from: Parameters<typeof after>) => {
        const found = after(...from);
        if (found.length > 0) Object.assign(mirror, { transaction: () => refused() });
        return found;
      },
    });
  });
  const body = Buffer.from('{}');
  const from = { subscription_id: 'norland', epoch: 1, peer: '192.0.2.1', content_type: null };
  harness.daemon.inbox.deliveries.store([
    { ...from, received_at: harness.clock.now(), length: body.length, truncated: false, body },
  ]);
  const refusals: unknown[] = [];
  await harness.restart({
    meanwhile: async () => {},
    refused: async (error) => void refusals.push(report(error, capturedIo(), 'run')),
  });
  expect(refusals).toEqual([exitCodes.io]);
  expect(harness.daemon.inbox.deliveries.counts()).toMatchObject({ received: 1, waiting: 0 });
});

it('a lost write of a delivery is answered 503, and ends the daemon', async () => {
  const port = await freePort();
  await using harness = await receiving(port, () => undefined);
  const { inbox, failures } = harness.daemon;
  const lost = new SyncFailed(inbox.path, null);
  Object.assign(inbox.deliveries, { store: () => refused(lost) });
  const token = inbox.addresses.token('norland', inbox.addresses.current('norland', harness.clock.now()));
  expect(await fetch(`http://127.0.0.1:${port}/hooks/${token}`, { method: 'POST' })).toMatchObject({ status: 503 });
  await expect(failures.broken).rejects.toBe(lost);
});

/** A daemon with a receiver, whose files are spoilt at its second start. */
function receiving(port: number, spoil: NonNullable<Parameters<typeof virtualHarness>[2]>['spoilt']) {
  const receiver = { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks` };
  const secrets = { receiver_secret: createSecret(canary.master) };
  let starts = 0;
  const spoilt: typeof spoil = (mirroring) => {
    starts += 1;
    if (starts === 2) spoil?.(mirroring);
  };
  return virtualHarness({ products: 1 }, { receiver }, { secrets, spoilt });
}

function refused(
  error = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' }) as Error,
): never {
  throw error;
}
