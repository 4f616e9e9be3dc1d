import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Command } from 'commander';
import { systemClock } from '../clock.ts';
import { type LoadedConfig, parseConfig } from '../config.ts';
import { type Daemon, startDaemon } from '../daemon.ts';
import { createLog } from '../log.ts';
import { type Sandbox, startSandbox } from '../sandbox/sandbox.ts';
import { aborted } from './aborted.ts';
import type { Io } from './io.ts';
import { number, progressPrinter } from './progress.ts';

interface Options {
  readonly products: string;
  readonly directory: string;
}

export function demoCommand(io: Io): Command {
  return new Command('demo')
    .description(
      'Starts a simulated service and a daemon that mirrors it. Needs no account, no configuration and no network.',
    )
    .option('--products <count>', 'how large the simulated catalogue is', '400')
    .option('--directory <path>', 'where the mirror goes', './data/demo')
    .addHelpText('after', '\nExamples:\n  catalogued demo\n  catalogued demo --products 2000 --directory /tmp/demo')
    .action(async ({ products, directory }: Options) => {
      const key = randomUUID();
      await using sandbox = await startSandbox({
        clock: systemClock,
        seed: 7,
        products: Number(products) || 400,
        key,
        live: true,
      });
      io.stdout.write(
        `A simulated service with ${number(sandbox.products().length)} products answers on ${sandbox.url}\n`,
      );
      await using daemon = await startDaemon(demoConfig(directory, sandbox, key), createLog('error', io.stderr));
      await Promise.race([filled(io, daemon), daemon.broken]);
      if (io.signal.aborted) return;
      io.stdout.write(introduction(daemon, directory));
      await Promise.race([aborted(io.signal), daemon.broken]);
      io.stdout.write('Stopped. The mirror stays, and can be read without us.\n');
    });
}

/** The embedded defaults, pointed at the sandbox: it is ours, so it may be asked as fast as it can. */
function demoConfig(directory: string, sandbox: Sandbox, key: string): LoadedConfig {
  const files = {
    path: join(directory, 'mirror.db'),
    state_dir: join(directory, 'state'),
    inbox_path: join(directory, 'state', 'inbox.db'),
  };
  const text = JSON.stringify({
    service: { base_url: sandbox.url, user_agent: 'catalogued demo' },
    mirror: files,
    admin: { listen: `unix:${join(files.state_dir, 'admin.sock')}` },
    backup: { directory: join(directory, 'backup') },
    budget: { requests_per_second: 2000, concurrency: 4 },
  });
  const secret = { reveal: () => key, fingerprint: 'demo' };
  return {
    ...parseConfig(text),
    file: 'the demo',
    secrets: { api_key: secret, signing_key: null, receiver_secret: null, admin_token: null },
  };
}

async function filled(io: Io, { wiring }: Daemon): Promise<void> {
  const printer = progressPrinter(io);
  while (wiring.mirror.filledAt() === null && !io.signal.aborted) {
    await systemClock.sleep(250, io.signal).catch(() => undefined);
    const { records, never_fetched } = wiring.mirror.records.fill();
    const { calls } = wiring.limiter.state();
    const note = `${number(wiring.mirror.products.count())} products`;
    printer.show({ phase: 'filling', done: records - never_fetched, total: records, calls, note }, systemClock.now());
  }
  printer.end();
}

function introduction({ wiring, admin }: Daemon, directory: string): string {
  const { path, products } = wiring.mirror;
  const [product_id] = products.ids();
  const socket = join(directory, 'state', 'admin.sock');
  return `
The mirror is filled and is being kept true: ${number(products.count())} products in ${path}

Addresses
  the mirror       ${path}   (any language with SQLite; open it read-only)
  the daemon       ${admin}   (curl --unix-socket ${socket} http://localhost/v1/status)
  the service      ${wiring.config.service.base_url}   (simulated)

Queries to try, in another terminal
  sqlite3 -box ${path} "SELECT product_id, title, sale_status, from_price, currency FROM products WHERE language = 'en' AND sellable LIMIT 5"
  sqlite3 -box ${path} "SELECT date, state, lowest_price, max_tickets FROM availability_days WHERE product_id = ${product_id} AND currency = 'EUR' LIMIT 7"
  sqlite3 -box ${path} "SELECT p.title, b.date, b.lowest_price FROM bookable_days b JOIN products p USING (product_id) WHERE b.currency = 'EUR' AND b.date = date('now', '+3 days') AND p.language = 'en' ORDER BY b.lowest_price LIMIT 5"

Stop with Ctrl-C.
`;
}
