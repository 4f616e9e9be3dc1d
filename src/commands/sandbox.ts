import { Command, InvalidArgumentError } from 'commander';
import { systemClock } from '../clock.ts';
import { readCatalogue } from '../sandbox/catalogue-file.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import { aborted } from './aborted.ts';
import type { Io } from './io.ts';
import { number } from './progress.ts';

interface Options {
  readonly products: number;
  readonly seed: number;
  readonly port: number;
  readonly host: string;
  readonly key?: string;
  readonly catalogue?: string;
  readonly throttle?: number;
  readonly drift: number;
  readonly faults: number;
  readonly live?: boolean;
}

export function sandboxCommand(io: Io): Command {
  return new Command('sandbox')
    .description(
      'The simulated service alone: every read endpoint over HTTP, always the same catalogue for the same seed.',
    )
    .option('--products <count>', 'how many products', whole, 7500)
    .option('--seed <number>', 'another seed, another catalogue', whole, 7)
    .option('--port <port>', 'where to listen', whole, 9000)
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .option('--key <key>', 'the key that callers must send (default: any, or none)')
    .option(
      '--catalogue <file>',
      'serve these real entries: an array of {id, name, type, city, country, price, rating, status, description}, or recorded {product} answers',
    )
    .option('--throttle <per-second>', 'answer 429 above this many calls a second (default: never)', whole)
    .option('--drift <share>', 'how often the list shifts while it is paged, from 0 to 1', share, 0)
    .option('--faults <share>', 'the share of answers that go wrong, from 0 to 1', share, 0)
    .option('--live', 'days sell out as they near (default: a date stays as it is)')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued sandbox --products 500\n  catalogued sandbox --throttle 15 --faults 0.05 --drift 0.1      # a bad day\n\nIts own endpoints: /sandbox/state?product_id=… (what it shows, to compare with), /sandbox/calls, /sandbox/products',
    )
    .action(async ({ catalogue, throttle, faults, key, live, ...options }: Options) => {
      const entries = catalogue === undefined ? {} : { catalogue: readCatalogue(catalogue) };
      await using sandbox = await startSandbox({
        ...options,
        ...entries,
        clock: systemClock,
        key: key ?? null,
        throttle: throttle === undefined ? null : { per_second: throttle },
        fault_share: faults,
        live: live ?? false,
      });
      const [first] = sandbox.world.visible();
      io.stdout.write(
        `The sandbox serves ${number(sandbox.products().length)} products on ${sandbox.url}\n` +
          `Point catalogued at it:  service: { base_url: "${sandbox.url}"${key === undefined ? ', profile: { authorization: { header: null } }' : ''} }\n` +
          `Try: curl '${sandbox.url}/v2/products?page_size=2'\n` +
          `     curl '${sandbox.url}/v2/products/${first?.id}/availability'\n` +
          `     curl '${sandbox.url}/sandbox/state?product_id=${first?.id}'\n`,
      );
      await aborted(io.signal);
    });
}

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('expected a whole number.');
  return Number(text);
}

function share(text: string): number {
  const value = Number(text);
  if (!(value >= 0 && value <= 1)) throw new InvalidArgumentError('expected a share from 0 to 1.');
  return value;
}
