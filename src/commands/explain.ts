import { Command } from 'commander';
import { systemClock } from '../clock.ts';
import { policyOf } from '../daemon/policy.ts';
import { duration, printable, short } from '../format.ts';
import { openMirrorFacts } from '../mirror/reading.ts';
import { notMirrored } from '../sync/checks/check.ts';
import { refuseDates } from '../sync/records/date-reach.ts';
import { type ExplainedRecord, type Explanation, explainProduct } from '../sync/reports/explain.ts';
import { type DateExplanation, explainDate } from '../sync/reports/explain-date.ts';
import { calendarDate, productId } from './options.ts';
import { configurationFor } from './setup.ts';
import type { Io } from './terminal/io.ts';
import { table, widthOf } from './terminal/table.ts';

export function explainCommand(io: Io): Command {
  return new Command('explain')
    .description(
      'Explains one product: when and why each part of it was read, when and why it will be read next, and what storefronts are shown.',
    )
    .argument('<product>', 'its id', productId)
    .option(
      '--date <date>',
      'show the history of this date: what the mirror said, during which time, and the read behind it',
      calendarDate,
    )
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued explain 973698\n  catalogued explain 973698 --date 2026-12-24\n  catalogued explain 973698 --json | jq .records',
    )
    .action((product_id: number, options: { json?: boolean; date?: string }, command: Command) => {
      const { config } = configurationFor(io, command);
      using mirror = openMirrorFacts(config.mirror.path);
      const policy = policyOf(config, mirror.offers.offers);
      const found = explainProduct({ mirror, clock: systemClock, policy }, product_id);
      if (found === null) throw notMirrored(product_id);
      if (options.date !== undefined) {
        refuseDates({ clock: systemClock, policy }, { date: options.date }, { history_ms: config.retention.changes });
        const told = explainDate(mirror, product_id, options.date);
        io.stdout.write(
          options.json ? `${JSON.stringify(told, null, 2)}\n` : renderDate(told, found.title, widthOf(io)),
        );
        return;
      }
      io.stdout.write(
        options.json ? `${JSON.stringify(found, null, 2)}\n` : render(found, systemClock.now(), widthOf(io)),
      );
    });
}

function render(found: Explanation, now: number, width: number): string {
  const { images, records } = found;
  const facts = [
    ['Product', `${found.product_id}  ${heading(found.title)}`],
    ['Shown', shownAs(found, now)],
    ...contradiction(found, now),
    ['Category', `${found.category ?? 'none'}; a stale copy does ${found.weight.toFixed(1)} times the usual harm`],
    ['Venue', `${found.timezone ?? 'time zone unknown, so a day of margin at both ends'}, today is ${found.today}`],
    ['Images', imagesShown(images, now)],
    [
      'Covered',
      found.covered ? 'yes: a working subscription announces its changes' : 'no: changes are found only by reading',
    ],
    ...found.notices.map(({ change_type, subscription_id, received_at }) => [
      'Notified',
      `${duration(now - received_at)} ago: ${change_type} (${subscription_id})`,
    ]),
    ['Costs', `${found.calls_per_day.toFixed(1)} calls a day`],
  ].map(([name = '', value]) => `${name.padEnd(10)}${value}`);
  const headings = ['part', 'last read', 'because', 'next', 'because', 'lane', 'changes a day', 'failures'];
  const failing = records.filter(({ failure }) => failure !== null);
  return `${[
    ...facts,
    '',
    table(
      headings,
      records.map((record) => row(record, now)),
      width,
    ),
    ...records
      .filter(({ unanswered_at }) => unanswered_at !== null)
      .map(
        (each) =>
          `${each.from} to ${each.to} (${each.edition}): not all of these dates are answered, for ${duration(now - (each.unanswered_at ?? now))}`,
      ),
    ...(found.closures.length === 0 ? [] : ['', closuresTable(found.closures, now, width)]),
    ...failing.map(
      ({ resource, failure, failures }) => `${resource} failed ${failures} times, last: ${printable(failure ?? '')}`,
    ),
  ].join('\n')}\n`;
}

function closuresTable(closures: Explanation['closures'], now: number, width: number): string {
  return table(
    ['closed by notification', 'reason', 'expected back', 'alternative', 'state'],
    closures.map((closure) => [
      `${duration(now - closure.notified_at)} ago`,
      closure.reason ?? '-',
      closure.expected_reopening ?? '-',
      String(closure.alternative_product_id ?? '-'),
      closure.state,
    ]),
    width,
  );
}

function shownAs(
  { withdrawn_at, sellable, sale_status, disabled_reason, expected_reopening }: Explanation,
  now: number,
): string {
  if (withdrawn_at !== null) return `no: withdrawn ${duration(now - withdrawn_at)} ago`;
  if (sellable) return 'yes, on sale';
  const reason = disabled_reason === null ? '' : `: ${printable(disabled_reason)}`;
  const reopening = expected_reopening === null ? '' : `, expected back ${printable(expected_reopening)}`;
  return `yes, not on sale (${sale_status}${reason}${reopening})`;
}

/** Describes the contradiction of a product whose own read says on sale but whose dates do not. */
function contradiction({ dates_off_at, sellable, records }: Explanation, now: number): string[][] {
  if (dates_off_at === null || !sellable) return [];
  const next = Math.min(...records.filter(({ off_sale_at }) => off_sale_at !== null).map(({ due_at }) => due_at));
  const again = next <= now ? 'now' : `in ${duration(next - now)}, at ${instant(next)}`;
  const since = duration(now - dates_off_at);
  return [
    [
      'Dates',
      `availability says not on sale for ${since}, but the product's own read says enabled: read again ${again}`,
    ],
  ];
}

function imagesShown({ shown, verified_at, hidden_from }: Explanation['images'], now: number): string {
  if (verified_at === null || hidden_from === null) return 'none: never confirmed';
  const until =
    hidden_from > now
      ? `hidden in ${duration(hidden_from - now)} unless confirmed again`
      : 'hidden: not confirmed for 14 days';
  return `${shown}, confirmed ${duration(now - verified_at)} ago, ${until}`;
}

function row(record: ExplainedRecord, now: number): string[] {
  const { from, to, edition, fetched_at, due_at, failures } = record;
  const part = from === null ? record.resource : `${from} to ${to}`;
  return [
    `${part} (${edition})`,
    fetched_at === null ? 'never' : `${duration(now - fetched_at)} ago`,
    record.fetched_reason ?? '-',
    due_at <= now ? 'now' : `in ${duration(due_at - now)}`,
    record.due_reason,
    record.lane,
    record.changes_per_day === null ? '-' : record.changes_per_day.toFixed(2),
    failures === 0 ? '-' : String(failures),
  ];
}

function renderDate({ product_id, date, now, history }: DateExplanation, title: string | null, width: number): string {
  const shown = now.map(
    ({ currency, state, checked_at, stale }) =>
      `Now ${state} (${currency}), read ${instant(checked_at)}${stale === 1 ? ', which is too long ago' : ''}`,
  );
  const lines = [
    `Product ${product_id}  ${heading(title)}`,
    ...(shown.length === 0 ? [`Nothing is known about ${date}: it is in the past, or has never been read.`] : shown),
  ];
  const rows = history.map(({ currency, from, to, state, lowest_price, reason }) => [
    from === null ? 'its first read' : instant(from),
    to === null ? 'now' : instant(to),
    state ?? '-',
    lowest_price === null ? '-' : `${lowest_price} ${currency} minor units`,
    reason ?? '-',
  ]);
  if (rows.length > 0)
    lines.push('', table([`${date} from`, 'to', 'the mirror said', 'lowest price', 'read because'], rows, width));
  return `${lines.join('\n')}\n`;
}

function heading(title: string | null): string {
  return title === null ? '(no title)' : short(printable(title));
}

function instant(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}
