import { Command } from 'commander';
import { policyOf } from '../daemon/policy.ts';
import { notMirrored } from '../desk/check.ts';
import { systemClock } from '../kernel/clock.ts';
import { secondText } from '../kernel/format.ts';
import { moneyText } from '../kernel/values/money.ts';
import { openMirrorFacts } from '../mirror/reading.ts';
import { type Explanation, explainProduct } from '../says/explain/explain.ts';
import { claimTexts } from '../says/explain/explain-claims.ts';
import { type DateExplanation, explainDate } from '../says/explain/explain-date.ts';
import { explainedFacts, explainedSections, titleOf } from '../says/explain/explain-text.ts';
import { refuseDates } from '../schedule/date-reach.ts';
import { calendarDate, productId } from './options.ts';
import { configurationFor } from './setup.ts';
import type { Io } from './terminal/io.ts';
import { documentLines, printFolded, table } from './terminal/table.ts';

export function explainCommand(io: Io): Command {
  return new Command('explain')
    .description(
      'Explains one product: when and why each part of it was read, when and why it will be read next, and what storefronts are shown.',
    )
    .argument('<product>', 'its id', productId)
    .option(
      '--date <date>',
      'show the history of this date: what the mirror showed, when, and which read changed it',
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
      const policy = policyOf(config, (resource) => mirror.schedule.offers.offers(resource));
      const facts = { mirror, clock: systemClock, policy };
      const found = explainProduct(facts, product_id);
      if (found === null) throw notMirrored(product_id);
      if (options.date !== undefined) {
        refuseDates(facts, { date: options.date }, { history_ms: config.retention.changes });
        const told = explainDate(mirror, product_id, options.date, found.claims);
        printFolded(io, options, told, (width) => renderDate(told, found.title, systemClock.now(), width));
        return;
      }
      printFolded(io, options, found, (width) => render(found, systemClock.now(), width));
    });
}

function render(found: Explanation, now: number, width: number): string {
  const facts = [['Product', `${found.product_id}  ${titleOf(found.title)}`], ...explainedFacts(found, now)];
  const { reads, refused, claims, closures } = explainedSections(found, now);
  return `${[
    ...facts.map(([name = '', value]) => `${name.padEnd(10)}${value}`),
    ...documentLines([reads, refused, claims, closures], width),
  ].join('\n')}\n`;
}

function renderDate(told: DateExplanation, title: string | null, at: number, width: number): string {
  const { product_id, date, now, history, claims } = told;
  const shown = now.map(
    ({ currency, state, checked_at, stale }) =>
      `Now ${state} (${currency}), read ${secondText(checked_at)}${stale === 1 ? ', which is too long ago' : ''}`,
  );
  const lines = [
    `Product ${product_id}  ${titleOf(title)}`,
    ...(shown.length === 0 ? [`Nothing is known about ${date}: it is in the past, or has never been read.`] : shown),
  ];
  lines.push(...claimTexts(claims, at));
  const rows = history.map(({ currency, from, to, state, lowest_price, reason }) => [
    from === null ? 'its first read' : secondText(from),
    to === null ? 'now' : secondText(to),
    state ?? '-',
    lowest_price === null ? '-' : moneyText(lowest_price, currency),
    reason ?? '-',
  ]);
  if (rows.length > 0)
    lines.push('', table([`${date} from`, 'to', 'the mirror said', 'cheapest ticket', 'read because'], rows, width));
  return `${lines.join('\n')}\n`;
}
