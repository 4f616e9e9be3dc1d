import { join } from 'node:path';
import type { Secrets } from '../../src/config/secrets.ts';
import { type RunningDaemon, startDaemon } from '../../src/daemon/daemon.ts';
import { startSandbox } from './start-sandbox.ts';
import { testConfig } from './test-config.ts';
import { testMachine } from './test-machine.ts';
import { temporaryDirectory } from './test-mirror.ts';

interface FilledDaemon {
  readonly daemon: RunningDaemon;
  /** The directory of its files. */
  readonly path: string;
  /** Where it listens for each. */
  readonly sockets: { readonly admin: string; readonly storefront: string };
}

/** Starts a daemon on real time beside a sandbox of six products, and waits until its mirror is filled; `stack` closes all. */
export async function filledDaemon(
  stack: AsyncDisposableStack,
  config: object = {},
  secrets: Partial<Secrets> = {},
): Promise<FilledDaemon> {
  const { path } = stack.use(temporaryDirectory());
  const sandbox = stack.use(await startSandbox({ products: 6 }));
  const sockets = { admin: join(path, 'state', 'admin.sock'), storefront: join(path, 'storefront.sock') };
  const more = { storefront: { listen: `unix:${sockets.storefront}` }, ...config };
  const daemon = stack.use(await startDaemon(testMachine(), testConfig(path, sandbox.url, more, secrets)));
  await untilFilled(daemon);
  return { daemon, path, sockets };
}

/** Lets a daemon work until its mirror is filled. */
export async function untilFilled(daemon: RunningDaemon): Promise<void> {
  while (daemon.mirror.filledAt() === null) await daemon.tick();
}
