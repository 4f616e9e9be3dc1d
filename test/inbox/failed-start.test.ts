import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { report } from '../../src/commands/main.ts';
import { createSecret } from '../../src/config/secrets.ts';
import { exitCodes } from '../../src/errors.ts';
import { canary } from '../fakes/canary.ts';
import { capturedIo } from '../fakes/captured-io.ts';
import { freePort } from '../fakes/free-port.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';

it('a start that a full disk ends lets go of the address of the receiver', async () => {
  const port = await freePort();
  let starts = 0;
  const listen = `127.0.0.1:${port}`;
  await using harness = await virtualHarness(
    { products: 1 },
    { receiver: { listen, public_url: `http://${listen}/hooks` } },
    {
      secrets: { receiver_secret: createSecret(canary.master) },
      spoilt: ({ inbox }) => {
        starts += 1;
        if (starts === 2) Object.assign(inbox.addresses, { masterChanged: refused });
      },
    },
  );
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
  const listen = `127.0.0.1:${await freePort()}`;
  let starts = 0;
  await using harness = await virtualHarness(
    { products: 1 },
    { receiver: { listen, public_url: `http://${listen}/hooks` } },
    {
      secrets: { receiver_secret: createSecret(canary.master) },
      spoilt: ({ inbox, mirror }) => {
        starts += 1;
        if (starts !== 2) return;
        const after = inbox.deliveries.after.bind(inbox.deliveries);
        Object.assign(inbox.deliveries, {
          after: (...from: Parameters<typeof after>) => {
            const found = after(...from);
            // The disk is full from here on.
            if (found.length > 0) Object.assign(mirror, { transaction: refused });
            return found;
          },
        });
      },
    },
  );
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

function refused(): never {
  throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
}
