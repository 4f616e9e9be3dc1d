import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { createSecret } from '../../src/config/secrets.ts';
import { canary } from '../fakes/canary.ts';
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

function refused(): never {
  throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
}
