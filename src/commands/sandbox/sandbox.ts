import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import { readDocument } from '../../config/document.ts';
import { parseDuration } from '../../config/units.ts';
import { systemClock } from '../../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { counted } from '../../kernel/format.ts';
import { startImageHost } from '../../sandbox/images/image-host.ts';
import { readRecording } from '../../sandbox/reads/recording.ts';
import { spoiltKinds } from '../../sandbox/rough/faults.ts';
import { all, type Quirks, quirkValues, refuseQuirks } from '../../sandbox/rough/quirks.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { readCatalogue } from '../../sandbox/world/catalogue-file.ts';
import { editableFields } from '../../sandbox/world/edits.ts';
import type { Io } from '../terminal/io.ts';
import { aborted } from '../terminal/io.ts';

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
  readonly quirks?: string;
  readonly recorded?: string;
  readonly live?: boolean;
  readonly hold?: number;
  readonly signingKey?: string;
  readonly legacy?: string;
  readonly imagesPort?: number;
}

const quirksHelp = quirkValues.map(([name, says]) => `  ${name.padEnd(14)} ${says}`).join('\n');

const notes = `
Examples:
  catalogued sandbox --products 500
  catalogued sandbox --throttle 15 --faults 0.05 --drift 0.1      # a bad day
  catalogued sandbox --quirks all                                 # with every quirk seen in the wild
  catalogued sandbox --quirks rough.yaml                          # dates: weeks, cached_ms: 6000, limit: 30 …
  catalogued sandbox --recorded ./recorded                        # the answers that a probe saved
  catalogued sandbox --hold 10s --signing-key partner.pub.pem     # early notifications, signed subscriptions

Endpoints of the sandbox itself, which the service does not have:
  GET  /sandbox/state?product_id=…         what the service shows now, to compare with
  GET  /sandbox/calls, /sandbox/products, /sandbox/subscriptions, /sandbox/quirks
  POST /sandbox/quirks                     {"limit": 30, "faults": []}: from now on
  POST /sandbox/products/ID/disable        {"reason": "out_of_season", "expected_reopening": "within_month", "alternative": ID}
  POST /sandbox/products/ID/enable
  POST /sandbox/products/ID/edit           {"field": "description", "value": "…"}
  POST /sandbox/subscriptions/ID/sending   {"sending": "none"}: stays active but sends nothing; "all": sends again

Quirks (shares are from 0 to 1; a quirk is off unless named; all turns every one on):
${quirksHelp}

Faults are answers that go wrong or lie. Each has a kind, and may have a share
(of: records, the same ones while it lasts, or answers), a path (a regular
expression over path and query), and a time since it was set (from_ms, until_ms;
flap_ms: on and off for so long). In a file, or in POST /sandbox/quirks:
faults:
  - { kind: no-dates, share: 0.5, until_ms: 3600000 }
  - { kind: off-sale }                                # list, product and dates
  - { kind: off-sale, path: '^/v2/products[?]' }              # the list alone
  - { kind: prices, factor: 0.01 }
  - { kind: currency, currency: USD }
  - { kind: no-texts }
  - { kind: no-variants, flap_ms: 60000 }
  - { kind: status, status: 401, path: /703295/checkout }     # one record
  - { kind: status, status: 403, path: '^/v2/experiences' }   # one path
  - { kind: status, status: 429, headers: { retry-after: '60' } }
  - { kind: status, status: 503, of: answers, share: 0.01 }
Other kinds: ${spoiltKinds.join(', ')}.

What can be edited: ${editableFields.join(', ')}.
Subscriptions: PUT and GET /v2/product-change-notification/ID, POST …/ID/reactivate. Deliveries that are not answered
with 200 are tried again after 20, 40, 80, 160 and 320 seconds; then the subscription is degraded (each notification
is sent once more, and no oftener), and after thirty days cancelled.`;

export function sandboxCommand(io: Io): Command {
  return new Command('sandbox')
    .description(
      'Runs only the simulated service: every read endpoint and change notifications over HTTP. The same seed gives the same catalogue.',
    )
    .option('--products <count>', 'number of products', whole, 7500)
    .option('--seed <number>', 'another number gives another catalogue', whole, 7)
    .option('--port <port>', 'where to listen', port, 9000)
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .option('--key <key>', 'the API key that callers must send (default: accept any, or none)')
    .option(
      '--catalogue <file>',
      'serve real entries from this file: an array of {id, name, type, city, country, price, rating, status, description}, or recorded {product} answers',
    )
    .option('--throttle <per-second>', 'answer 429 above this many calls a second (default: never)', whole)
    .option('--drift <share>', 'how often the list shifts while it is paged, from 0 to 1', share, 0)
    .option('--faults <share>', 'the share of answers that go wrong, from 0 to 1', share, 0)
    .option('--quirks <all|file>', 'behave like a real service: all quirks, or those of a YAML or JSON file')
    .option('--recorded <dir>', 'serve the answers of a real service that catalogued probe --record saved')
    .option('--live', 'let dates sell out as they come near (default: dates do not change)')
    .option('--hold <duration>', 'how long to hold changes of a product before announcing them (default: 5m)', held)
    .option(
      '--signing-key <file>',
      'require subscriptions signed for this public key: PEM, or the ssh-rsa line (default: accept plain JSON)',
    )
    .option('--legacy <url>', 'send notifications of the older system to this URL (default: send none)', address)
    .option('--images-port <port>', 'serve the images too, on a port of their own (default: serve none)', port)
    .addHelpText('after', notes)
    .action(async (given: Options) => {
      io.runsUntilStopped();
      await serve(io, given);
    });
}

/** Serves until the signal ends it. */
async function serve(io: Io, given: Options): Promise<void> {
  const { catalogue, throttle, faults, quirks, recorded, key, live, hold, signingKey, legacy, imagesPort, ...options } =
    given;
  const entries = catalogue === undefined ? {} : { catalogue: readCatalogue(catalogue) };
  const { host, seed } = options;
  await using images =
    imagesPort === undefined ? null : await startImageHost({ clock: systemClock, seed, host, port: imagesPort });
  await using sandbox = await startSandbox({
    ...options,
    image_origin: images?.url ?? null,
    ...entries,
    ...(recorded === undefined ? {} : { recorded: readRecording(recorded) }),
    clock: systemClock,
    key: key ?? null,
    throttle: throttle === undefined ? null : { per_second: throttle },
    faults: faults === 0 ? [] : [{ kind: 'any', of: 'answers', share: faults }],
    quirks: quirks === undefined ? {} : readQuirks(quirks),
    live: live ?? false,
    ...(hold === undefined ? {} : { hold_ms: hold }),
    signing_public_key: signingKey === undefined ? null : readKey(signingKey),
    legacy_callback_url: legacy ?? null,
  });
  const [first] = sandbox.world.visible();
  io.stdout.write(
    `The sandbox serves ${counted(sandbox.products().length, 'product')} on ${sandbox.url}\n` +
      `Point catalogued at it:  service: { base_url: "${sandbox.url}"${key === undefined ? ', profile: { authorization: { header: null } }' : ''} }\n` +
      `Try: curl '${sandbox.url}/v2/products?page_size=2'\n` +
      `     curl '${sandbox.url}/v2/products/${first?.id}/availability'\n` +
      `     curl '${sandbox.url}/sandbox/state?product_id=${first?.id}'\n` +
      `     curl -d '{"reason":"out_of_season"}' ${sandbox.url}/sandbox/products/${first?.id}/disable\n${images === null ? '' : `Its images are on ${images.url}; they are handed on with  images: { hosts: [${host}] }\n`}`,
  );
  await aborted(io.signal);
}

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('expected a whole number.');
  return Number(text);
}

function port(text: string): number {
  const value = whole(text);
  if (value > 65_535) throw new InvalidArgumentError('expected a port from 0 to 65535.');
  return value;
}

function address(text: string): string {
  if (!/^https?:$/.test(URL.parse(text)?.protocol ?? ''))
    throw new InvalidArgumentError('expected an address like http://127.0.0.1:8480/hooks.');
  return text;
}

function held(text: string): number {
  const ms = parseDuration(text);
  if (ms === null) throw new InvalidArgumentError('expected a duration like 10s or 5m.');
  return ms;
}

function readKey(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new CataloguedError('sandbox-signing-key', `there is no signing key at ${path}`, {
      exitCode: exitCodes.data,
      hint: 'name a file with a public key: PEM, or the ssh-rsa line',
      cause,
    });
  }
}

function share(text: string): number {
  const value = Number(text);
  if (!(value >= 0 && value <= 1)) throw new InvalidArgumentError('expected a share from 0 to 1.');
  return value;
}

/**
 * Returns the quirks that `--quirks` names: all of them, or those in a YAML or JSON file. Throws (78) for a file that
 * cannot be used.
 */
function readQuirks(given: string): Partial<Quirks> {
  if (given === 'all') return all;
  let text: string;
  try {
    text = readFileSync(given, 'utf8');
  } catch (cause) {
    throw refused(`cannot read quirks from ${given}`, cause);
  }
  const { values, problems } = readDocument(text);
  const [problem] = problems;
  const wrong = problem?.text ?? refuseQuirks(values);
  if (wrong !== null && wrong !== undefined)
    throw refused(`${given}${problem?.line ? `, line ${problem.line}` : ''}: ${wrong}`);
  return values as Partial<Quirks>;
}

function refused(message: string, cause?: unknown): CataloguedError {
  return new CataloguedError('sandbox-quirks', message, {
    exitCode: exitCodes.configuration,
    hint: 'pass all, or a file like: { cached_ms: 6000, dates: weeks, faults: [{ kind: no-dates, share: 0.5 }] }',
    ...(cause === undefined ? {} : { cause }),
  });
}
