import { Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../config/units.ts';
import type { CheckAnswer, CheckedDate } from '../desk/check-answer.ts';
import { type CheckQuestion, deadline, isCaller } from '../desk/check-question.rules.ts';
import type { CheckReason } from '../desk/verdict.rules.ts';
import { systemClock } from '../kernel/clock.ts';
import { CataloguedError, type ExitCode, exitCodes } from '../kernel/errors.ts';
import { ago, duration, printable } from '../kernel/format.ts';
import { moneyText } from '../kernel/values/money.ts';
import { askAnyDaemon } from './daemon-or-quiet.ts';
import { calendarDate, productId, slotTime } from './options.ts';
import { configurationFor } from './setup.ts';
import { type Io, print } from './terminal/io.ts';
import { table, widthOf } from './terminal/table.ts';

interface Options {
  readonly date: string;
  readonly time?: string;
  readonly variant: { variant_id: number; count: number }[];
  readonly expectPrice?: number;
  readonly currency?: string;
  readonly deadline: number;
  readonly caller?: string;
  readonly json?: boolean;
}

export function checkCommand(io: Io): Command {
  return new Command('check')
    .description(
      'Checks live, before an order, whether what the mirror showed still holds, and stores the answer in the mirror. ' +
        'Exit 0: it holds; 1: it does not; 69: the service did not answer; 75: throttled, try again later.',
    )
    .argument('<product>', 'the product id', productId)
    .requiredOption('--date <date>', 'the date at the venue (YYYY-MM-DD)', calendarDate)
    .option('--time <time>', 'the timeslot, HH:MM or whole_day (default: any time of the date)', slotTime)
    .addOption(
      new Option('--variant <id:count...>', 'a variant and its number of tickets; may be repeated')
        .argParser(variant)
        .default([], 'any one ticket'),
    )
    .option(
      '--expect-price <minor>',
      'the price you showed, in minor units: the total of all variants, or of one ticket (default: what the mirror showed)',
      minorUnits,
    )
    .option('--currency <code>', 'the currency to ask in (default: the first of service.currencies)')
    .addOption(
      new Option('--deadline <duration>', 'how long to wait for the service')
        .argParser(wait)
        .default(deadline.usual, duration(deadline.usual)),
    )
    .option('--caller <key>', 'a name for the caller, of your choice: each may cause 30 calls a minute', callerKey)
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued check 973698 --date 2026-12-24\n  catalogued check 973698 --date 2026-12-24 --time 10:00 --variant 4821:2 --variant 4822:1 --expect-price 5550',
    )
    .action(async (product_id: number, options: Options, command: Command) => {
      const loaded = configurationFor(io, command);
      const question = questionOf(product_id, options, loaded.config.service.currencies[0]);
      const patience_ms = options.deadline + 5000;
      io.ifStopped('the service has not answered, so nothing is known about the date', 'ask again before the order');
      const answer = await askAnyDaemon(io, loaded, { operation: 'POST /v1/check', body: question, patience_ms });
      print(io, options, answer, () => render(question, answer, { now: systemClock.now(), width: widthOf(io) }));
      conclude(io, answer);
    });
}

function questionOf(
  product_id: number,
  { date, time, variant: variants, expectPrice, currency: code, deadline: deadline_ms, caller }: Options,
  primary: string,
): CheckQuestion {
  const currency = code?.toUpperCase();
  const expect_price = expectPrice === undefined ? null : { amount: expectPrice, currency: currency ?? primary };
  return {
    product_id,
    date,
    time: time ?? null,
    variants,
    expect_price,
    deadline_ms,
    ...(currency === undefined ? {} : { currency }),
    ...(caller === undefined ? {} : { caller }),
  };
}

function conclude(io: Io, { verdict, reasons: [reason] }: CheckAnswer): void {
  if (verdict === 'holds') return;
  const exit = reason === undefined ? undefined : unanswered[reason];
  if (exit !== undefined) throw new CataloguedError('unanswered', `no live answer: ${reasonText(reason)}`, exit);
  io.answerIsNo();
}

const tryLater = 'ask again later; until then, use what the mirror showed, printed above with its age';
const away: { exitCode: ExitCode; hint: string } = { exitCode: exitCodes.unavailable, hint: tryLater };
const later: { exitCode: ExitCode; hint: string } = { exitCode: exitCodes.retryLater, hint: tryLater };
const unanswered: Partial<Record<CheckReason, { exitCode: ExitCode; hint: string }>> = {
  'service-unreachable': away,
  'service-failed': away,
  'service-refused': away,
  'key-refused': { ...away, hint: 'check service.api_key_file (or CATALOGUED_API_KEY)' },
  deadline: away,
  throttled: later,
  'caller-limit': later,
  stopping: later,
};

function render(
  { product_id, date, time }: CheckQuestion,
  answer: CheckAnswer,
  { now, width }: { readonly now: number; readonly width: number },
): string {
  const { verdict, reasons, mirror, alternatives } = answer;
  const because = reasons.length === 0 ? '' : `: ${reasons.map(reasonText).join(', ')}`;
  const lines = [
    `${verdict.padEnd(9)} ${product_id} on ${date}${time == null ? '' : `, ${time}`}${because}`,
    `${'Now'.padEnd(9)} ${answer.now === null ? 'unknown' : `${describe(answer.now)}, asked ${ago(answer.now.read_at, now)}`}`,
    `${'Mirror'.padEnd(9)} ${mirror === null ? 'had nothing' : `${describe(mirror)}, read ${ago(mirror.checked_at, now)}${mirror.stale ? ', stale' : ''}`}`,
  ];
  if (alternatives.length > 0) {
    const rows = alternatives.map((other) => [
      other.kind === 'product' ? String(other.product_id) : 'the same',
      other.date,
      other.time === null ? '-' : printable(other.time),
      printed(other.price),
      ago(other.checked_at, now),
    ]);
    lines.push('', table(['instead', 'date', 'time', 'price', 'read'], rows, width));
  }
  return `${lines.join('\n')}\n`;
}

function describe({ state, sellable, time, price, slots, max_tickets_per_order }: CheckedDate): string {
  if (state !== 'available') return state.replaceAll('_', ' ');
  if (sellable) return `available${time === null ? '' : ` (${printable(time)})`}, ${printed(price)}`;
  const left = slots
    .flatMap(({ variants }) => variants)
    .map(({ variant_id, max_tickets }) => `${max_tickets ?? 'any number'} of ${variant_id}`);
  const most = max_tickets_per_order === null ? '' : `, at most ${max_tickets_per_order} an order`;
  return slots.length === 1 ? `${left.join(', ')} left${most}` : `available, but not as asked${most}`;
}

function printed(price: CheckedDate['price']): string {
  return price === null ? 'no price' : moneyText(price.amount, price.currency);
}

function reasonText(reason: CheckReason | undefined): string {
  return (reason ?? '').replaceAll('-', ' ');
}

function variant(value: string, previous: Options['variant']): Options['variant'] {
  const [, id = '', count = ''] = /^([1-9]\d{0,15}):([1-9]\d{0,2})$/.exec(value) ?? [];
  if (id === '') throw new InvalidArgumentError('expected ID:COUNT, like 4821:2.');
  if (previous.some(({ variant_id }) => variant_id === Number(id)))
    throw new InvalidArgumentError('this variant is given twice.');
  return [...previous, { variant_id: Number(id), count: Number(count) }];
}

function callerKey(value: string): string {
  if (!isCaller(value)) throw new InvalidArgumentError('expected one to a hundred characters.');
  return value;
}

function minorUnits(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new InvalidArgumentError('expected minor units: 1850 for 18.50 EUR.');
  return Number(value);
}

function wait(value: string): number {
  const ms = parseDuration(value);
  if (ms === null || ms < deadline.least || ms > deadline.most)
    throw new InvalidArgumentError(`expected a duration from ${deadline.least}ms to ${deadline.most / 1000}s.`);
  return ms;
}
