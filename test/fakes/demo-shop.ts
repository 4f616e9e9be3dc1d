import { join } from 'node:path';
import { Breaking, DaemonLog } from '../../src/commands/sandbox/breaking.ts';
import { startShopServer } from '../../src/commands/sandbox/shop/server.ts';
import { createSecret } from '../../src/config/secrets.ts';
import { type RunningDaemon, startDaemon } from '../../src/daemon/daemon.ts';
import { newId, systemClock, systemEntropy } from '../../src/kernel/clock.ts';
import { createLog } from '../../src/kernel/log.ts';
import { startImageHost } from '../../src/sandbox/images/image-host.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { Reader } from '../../src/storefront/reader.ts';
import { untilFilled } from '../fakes/filled-daemon.ts';
import { canary } from './canary.ts';
import { freePort } from './free-port.ts';
import { openReader } from './reader.ts';
import { startSandbox } from './start-sandbox.ts';
import { testConfig } from './test-config.ts';
import { testMachine } from './test-machine.ts';
import { temporaryDirectory } from './test-mirror.ts';

/** The demo's shop beside a live daemon, and the buttons that break the service. */
export interface DemoShop {
  readonly sandbox: Sandbox;
  readonly daemon: RunningDaemon;
  readonly reader: Reader;
  readonly breaking: Breaking;
  readonly url: string;
  /** Address of the operator's page. */
  readonly page: string;
  /** A product on sale with several images. */
  readonly product_id: number;
  /** A date of it with tickets: the last one that is on sale. */
  readonly date: string;
}

/** Starts all of it, and fills the mirror. Disposing the stack ends it. */
export async function startDemoShop(stack: AsyncDisposableStack): Promise<DemoShop> {
  const { path } = stack.use(temporaryDirectory());
  const images = stack.use(await startImageHost({ clock: systemClock, seed: 1 }));
  const origin = { image_origin: images.url };
  const sandbox = stack.use(await startSandbox({ products: 24, hold_ms: 0, ...origin }));
  const chosen = sandbox.products().find((each) => each.status === 'available' && each.images.length > 1);
  const product_id = chosen?.id ?? 0;
  const door = `unix:${join(path, 'storefront.sock')}`;
  const log = new DaemonLog();
  const port = await freePort();
  const more = {
    storefront: { listen: door },
    images: { hosts: ['127.0.0.1'] },
    signing: { body: 'json' },
    receiver: { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks` },
    subscriptions: [{ id: 'all', type: 'product_ids', entities: 'mirrored' }],
  };
  const config = testConfig(path, sandbox.url, more, { receiver_secret: createSecret(canary.master) });
  const daemon = stack.use(
    await startDaemon(testMachine({ log: createLog('info', log) }), config, {
      admin: [{ listen: '127.0.0.1:0', token: 'not needed' }],
    }),
  );
  await untilFilled(daemon);
  await daemon.schedule.run('subscriptions');
  const reader = stack.use(openReader(daemon.config.mirror.path, { daemon: { listen: door } }));
  const date = reader.calendar(product_id).findLast((day) => day.state === 'available')?.date ?? '';
  const page = daemon.admin[1] ?? '';
  const breaking = new Breaking({ sandbox, reader, page });
  const shop = { reader, today: () => '2026-01-01', orderId: () => newId(systemEntropy) };
  const server = stack.use(await startShopServer({ shop, breaking, log, page, product_id, image_origin: images.url }));
  return { sandbox, daemon, reader, breaking, url: server.url, page, product_id, date };
}
