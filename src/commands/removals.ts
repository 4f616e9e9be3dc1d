import { Command, Option } from 'commander';
import { systemClock } from '../clock.ts';
import type { LoadedConfig } from '../config/load.ts';
import { isMissing } from '../domain/sale/absence.ts';
import { duration, number } from '../format.ts';
import type { AbsentProduct, Hold } from '../mirror/catalogue/removals.ts';
import { openMirrorFacts } from '../mirror/reading.ts';
import { approveRemovals, rejectRemovals } from '../sync/records/absence.ts';
import { daemonOrHere } from './daemon-or-here.ts';
import { productIds } from './options.ts';
import { configurationFor } from './setup.ts';
import type { Io } from './terminal/io.ts';
import { table, widthOf } from './terminal/table.ts';

export function removalsCommand(io: Io): Command {
  const command = new Command('removals').description(
    'Shows products that the service no longer lists. A few are withdrawn once their own read agrees; many at once are held until three complete lists agree or a person decides.',
  );
  command
    .command('list')
    .description('Lists the missing products, since when they are missing, and what their own read answers.')
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText('after', '\nExamples:\n  catalogued removals list\n  catalogued removals list --json | jq .products')
    .action((options: { json?: boolean }, own: Command) => {
      const { config } = configurationFor(io, own);
      using mirror = openMirrorFacts(config.mirror.path);
      const found = { hold: mirror.removals.openHold(), products: mirror.removals.list() };
      io.stdout.write(
        options.json ? `${JSON.stringify(found, null, 2)}\n` : render(found, systemClock.now(), widthOf(io)),
      );
    });
  command
    .command('approve')
    .description('Withdraws the held products: all of them, or those named.')
    .addOption(
      new Option('--product <id>', 'withdraw only this product; may be repeated')
        .argParser(productIds)
        .default([], 'all that are held'),
    )
    .addHelpText('after', '\nExamples:\n  catalogued removals approve\n  catalogued removals approve --product 973698')
    .action(async ({ product }: { product: number[] }, own: Command) => {
      const count = await decide(io, configurationFor(io, own), 'approve', product);
      io.stdout.write(`${number(count)} products withdrawn.\n`);
    });
  command
    .command('reject')
    .description(
      'Keeps the held products; they count as missing again only after three more complete lists without them.',
    )
    .addHelpText('after', '\nExamples:\n  catalogued removals reject\n  catalogued --config my.yaml removals reject')
    .action(async (_: object, own: Command) => {
      const count = await decide(io, configurationFor(io, own), 'reject', []);
      io.stdout.write(`${number(count)} products stay.\n`);
    });
  return command;
}

async function decide(
  io: Io,
  loaded: LoadedConfig,
  decision: 'approve' | 'reject',
  product_ids: readonly number[],
): Promise<number> {
  const { products } = await daemonOrHere(
    { io, loaded },
    { operation: `POST /v1/removals/${decision}`, body: { product_ids } },
    ({ ports }) => ({
      products: decision === 'approve' ? approveRemovals(ports, product_ids) : rejectRemovals(ports),
    }),
  );
  return products;
}

function render(
  { hold, products }: { hold: Hold | null; products: readonly AbsentProduct[] },
  now: number,
  width: number,
): string {
  const state =
    hold === null
      ? `${number(products.length)} products are missing from the list; nothing is held.`
      : `Held for ${duration(now - hold.opened_at)}: ${number(products.length)} products are missing from the list. ${hold.lists} of the 3 lists needed agree so far.`;
  const rows = products.map((product) => [
    String(product.product_id),
    product.title ?? '-',
    `${duration(now - product.first_missing_at)} ago`,
    String(product.missing_walks),
    product.answer ?? 'not asked yet',
    removalOf(product, hold),
  ]);
  const headings = ['product', 'title', 'missing since', 'lists without it', 'its own read', 'removal'];
  return products.length === 0 ? `${state}\n` : `${state}\n\n${table(headings, rows, width)}\n`;
}

function removalOf(product: AbsentProduct, hold: Hold | null): string {
  if (product.release !== null) return product.release;
  if (!isMissing(product)) return 'rejected';
  return hold === null ? '-' : 'held';
}
