import { Command, InvalidArgumentError, Option } from 'commander';
import type { LoadedConfig } from '../config/load.ts';
import { parseDuration } from '../config/units.ts';
import { isOneOfSeveral, noReplay } from '../daemon/sharing/sharing.ts';
import { type Instant, instant, systemClock } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { counted, duration, number, printable, printableLines, secondText } from '../kernel/format.ts';
import { acquireLock } from '../kernel/sqlite/lock.ts';
import { isDate } from '../kernel/time/venue.ts';
import { deliveryText } from '../push/delivery-text.rules.ts';
import type { Delivery, ListedDelivery } from '../receiver/delivery.ts';
import type { DeliveryCounts } from '../receiver/delivery-reads.store.ts';
import { openInbox, openInboxForReading } from '../receiver/inbox.ts';
import type { DeliveryState } from '../receiver/tables.ts';
import { askDaemon, configurationFor } from './setup.ts';
import { type Io, print } from './terminal/io.ts';
import { table, widthOf } from './terminal/table.ts';

/** The most characters of a body that are shown. */
const shownAtMost = 4096;
const bytesALine = 16;
const deepest = 20;

/**
 * Returns a body for a terminal: JSON broken into lines with every value as it was written, other text unchanged,
 * anything else as a hex dump. Characters that could control the terminal become escapes.
 */
export function renderBody(body: Buffer): string {
  const text = textOf(body);
  if (text === null) return hexDump(body.subarray(0, shownAtMost / 4), body.length);
  const shown = printableLines(/^\s*[[{]/.test(text) ? broken(text) : text.slice(0, shownAtMost));
  return shown.length < shownAtMost ? shown : `${shown.slice(0, shownAtMost)}\n… of ${body.length} bytes`;
}

/**
 * Returns the body as text, inflated if it is gzip or deflate; null if it is not UTF-8 or contains NUL. A character cut off
 * at the end is left out.
 */
function textOf(body: Buffer): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body, { stream: true });
    return text.includes('\0') ? null : text;
  } catch {
    const read = deliveryText(body);
    return 'text' in read ? read.text : null;
  }
}

/** Breaks lines of what looks like JSON, without reading it as JSON: numbers keep their digits, mistakes stay. */
function broken(text: string): string {
  let [result, depth, quoted] = ['', 0, false];
  const newLine = () => `\n${'  '.repeat(Math.min(Math.max(depth, 0), deepest))}`;
  for (let at = 0; at < text.length && result.length < shownAtMost; at += 1) {
    const char = text[at] ?? '';
    if (quoted) {
      result += char === '\\' ? char + (text[++at] ?? '') : char;
      quoted = char !== '"';
    } else if (char === '"') {
      result += char;
      quoted = true;
    } else if (char === '{' || char === '[') {
      depth += 1;
      const next = text.slice(at + 1).match(/^\s*([}\]])/);
      result += next === null ? char + newLine() : char;
    } else if (char === '}' || char === ']') {
      depth -= 1;
      result += /[{[]$/.test(result) ? char : newLine() + char;
    } else if (char === ',') result += char + newLine();
    else if (char === ':') result += ': ';
    else if (!/\s/.test(char)) result += char;
  }
  return result;
}

function hexDump(bytes: Buffer, length: number): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += bytesALine) {
    const part = bytes.subarray(at, at + bytesALine);
    const hex = [...part].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const ascii = part.toString('latin1').replace(/[^\x20-\x7e]/g, '.');
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(3 * bytesALine - 1)}  ${ascii}`);
  }
  return `${lines.join('\n')}${length > bytes.length ? `\n… of ${length} bytes` : ''}`;
}

const states: readonly DeliveryState[] = ['waiting', 'applied', 'superseded', 'quarantined'];

interface ListOptions {
  readonly since?: Instant;
  readonly state?: DeliveryState;
  readonly limit: number;
  readonly json?: boolean;
}

export function notificationsCommand(io: Io): Command {
  const command = new Command('notifications').description(
    'Shows every delivery that the service sent, unchanged, and its outcome. Deliveries are kept for retention.deliveries.',
  );
  command
    .command('list')
    .description('Lists deliveries, newest first, and counts all that were ever received.')
    .option('--since <time>', 'received since this time: 6h, 7d, 2026-11-21 or 2026-11-21T08:00:00Z', time)
    .addOption(new Option('--state <state>', 'list only deliveries in this state').choices(states))
    .option('--limit <count>', 'list at most this many', count, 50)
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued notifications list --since 6h\n  catalogued notifications list --state quarantined --json | jq .deliveries',
    )
    .action(({ since, state, limit, json }: ListOptions, own: Command) => {
      const { config } = configurationFor(io, own);
      using inbox = openInboxForReading(config.mirror.inbox_path);
      const deliveries = inbox.list({ since: since ?? null, state: state ?? null, limit });
      const found = { counts: inbox.counts(), deliveries };
      print(io, { json }, found, () => renderList(found, systemClock.now(), widthOf(io)));
    });
  command
    .command('show')
    .description('Shows one delivery and the first 4 kB of its body, as a hex dump if it is not text.')
    .argument('<number>', 'the number of the delivery in the list', count)
    .option('--json', 'print JSON with the whole body; the fields are a contract (schema/contract.json)')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued notifications show 4711\n  catalogued notifications show 4711 --json | jq -r .text | jq .',
    )
    .action((delivery_id: number, { json }: { json?: boolean }, own: Command) => {
      const { config } = configurationFor(io, own);
      using inbox = openInboxForReading(config.mirror.inbox_path);
      const found = inbox.find(delivery_id);
      if (found === null) throw unknownDelivery(delivery_id);
      print(io, { json }, asJson(found), () => render(found));
    });
  command
    .command('replay')
    .description(
      'Applies again every delivery received since a time, in the same order, as copies with new numbers. Their records are read from the service; until then announced closures take effect.',
    )
    .requiredOption('--since <time>', 'received since this time: 6h, 7d, 2026-11-21 or 2026-11-21T08:00:00Z', time)
    .option('--dry-run', 'count the deliveries, and change nothing')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued notifications replay --since 2h --dry-run\n  catalogued notifications replay --since 2026-11-21T08:00:00Z',
    )
    .action(async ({ since, dryRun }: { since: Instant; dryRun?: boolean }, own: Command) => {
      const loaded = configurationFor(io, own);
      if (dryRun) {
        using inbox = openInboxForReading(loaded.config.mirror.inbox_path);
        const { deliveries, gone } = inbox.replayable(since);
        const cannot =
          gone === 0 ? '' : ` ${number(gone)} cannot be replayed: their bodies are gone (retention.deliveries_bytes).`;
        io.stdout.write(`${counted(deliveries, 'delivery', 'deliveries')} would be applied again.${cannot}\n`);
        return;
      }
      const { deliveries, running } = await replay(io, loaded, since);
      const when = running ? 'now' : 'when the daemon runs';
      io.stdout.write(
        `${counted(deliveries, 'delivery', 'deliveries')} ${deliveries === 1 ? 'is' : 'are'} applied again ${when}.\n`,
      );
    });
  return command;
}

/** Replays through the daemon if one runs, else here under the lock. */
async function replay(io: Io, loaded: LoadedConfig, since: Instant): Promise<{ deliveries: number; running: boolean }> {
  const { config, secrets } = loaded;
  if (isOneOfSeveral(loaded)) throw noReplay();
  const answer = await askDaemon(io, loaded, { operation: 'POST /v1/notifications/replay', body: { since } });
  if (answer !== null) return { deliveries: answer.deliveries, running: true };
  const { state_dir, inbox_path } = config.mirror;
  // Refuses a missing inbox before opening could create one.
  openInboxForReading(inbox_path)[Symbol.dispose]();
  using _ = acquireLock(state_dir);
  const now = systemClock.now();
  using inbox = openInbox(inbox_path, {
    master: secrets.receiver_secret,
    now,
    deliveries_bytes: config.retention.deliveries_bytes,
  });
  const deliveries = inbox.deliveries.replay(since, now);
  return { deliveries, running: false };
}

function unknownDelivery(delivery_id: number): CataloguedError {
  return new CataloguedError('unknown-delivery', `there is no delivery ${delivery_id}`, {
    exitCode: exitCodes.usage,
    hint: 'see the existing ones with: catalogued notifications list',
  });
}

function renderList(
  { counts, deliveries }: { counts: DeliveryCounts; deliveries: readonly ListedDelivery[] },
  now: number,
  width: number,
): string {
  const parts = states.map((state) => `${number(counts[state])} ${state}`).join(', ');
  const summary = `${counted(counts.received, 'delivery', 'deliveries')} received: ${parts}.`;
  if (deliveries.length === 0) return `${summary}\n`;
  const rows = deliveries.map((each) => [
    String(each.delivery_id),
    `${duration(now - each.received_at)} ago`,
    each.subscription_id,
    each.peer,
    `${number(each.length)}${each.truncated ? ', cut' : ''}`,
    each.state,
    each.replay_of === null ? (each.reason ?? '-') : `${each.reason ?? '-'} (again ${each.replay_of})`,
  ]);
  const headings = ['number', 'received', 'subscription', 'from', 'bytes', 'state', 'because'];
  return `${summary}\n\n${table(headings, rows, width)}\n`;
}

function render(found: Delivery): string {
  const settled = found.settled_at === null ? '' : ` since ${secondText(found.settled_at)}`;
  const facts = [
    ['Delivery', `${found.delivery_id}${found.replay_of === null ? '' : `, which repeats ${found.replay_of}`}`],
    ['Received', `${secondText(found.received_at)} from ${printable(found.peer)}`],
    ['Address', `${found.subscription_id}, epoch ${found.epoch}`],
    ['State', `${found.state}${settled}${found.reason === null ? '' : `: ${found.reason}`}`],
    ['Type', found.content_type === null ? 'not said' : printable(found.content_type)],
    ['Bytes', `${number(found.length)}${found.truncated ? `, cut to ${number(found.body.length)}` : ''}`],
    ['SHA-256', found.sha256],
  ].map(([name = '', value]) => `${name.padEnd(10)}${value}`);
  const body = found.body_gone
    ? 'Its body was deleted to stay within retention.deliveries_bytes.'
    : renderBody(found.body);
  return `${[...facts, '', body].join('\n')}\n`;
}

/** Returns a delivery for JSON: the body as base64, and as text too if it is UTF-8. */
function asJson({ body, ...facts }: Delivery): object {
  return { ...facts, text: textOf(body), base64: body.toString('base64') };
}

function time(value: string): Instant {
  const ago = parseDuration(value);
  if (ago !== null) return instant(systemClock.now() - ago);
  const [date = '', clock = ''] = value.split('T');
  const isTime = clock === '' || /^\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(clock);
  const at = isDate(date) && isTime ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) throw new InvalidArgumentError('expected a time: 6h, 7d, 2026-11-21 or 2026-11-21T08:00:00Z.');
  return instant(at);
}

function count(value: string): number {
  if (!/^[1-9]\d{0,14}$/.test(value)) throw new InvalidArgumentError('expected a whole number.');
  return Number(value);
}
