import { Argument, Command, InvalidArgumentError } from 'commander';
import { systemClock } from '../kernel/clock.ts';
import { duration } from '../kernel/format.ts';
import { openMirrorFacts } from '../mirror/reading.ts';
import { isSubject, type Kind, type Subject, subjectNames, subjects } from '../trust/claims.rules.ts';
import {
  amountTexts,
  claimText,
  decisionAt,
  type HeldClaims,
  isOpen,
  progressText,
  whatToType,
} from '../trust/hold.rules.ts';
import { askAnyDaemon } from './daemon-or-quiet.ts';
import { configurationFor } from './setup.ts';
import type { Io } from './terminal/io.ts';
import { printFolded, table } from './terminal/table.ts';

export function heldCommand(io: Io): Command {
  const command = new Command('held').description(
    'Shows and decides held answers: so many took something away or changed alike at once that they are not believed. The mirror keeps what it had, as stale, until the service takes it back, confirms it for hours, or you decide.',
  );
  command
    .command('list', { isDefault: true })
    .description('Lists the held kinds: since when, how many records, three examples, and the commands to decide.')
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText('after', '\nExamples:\n  catalogued held list\n  catalogued held list --json | jq .held[].subject')
    .action((options: { json?: boolean }, own: Command) => {
      const { config } = configurationFor(io, own);
      using mirror = openMirrorFacts(config.mirror.path);
      const found = { held: mirror.evidence.held() };
      printFolded(io, options, found, (width) => render(found.held, systemClock.now(), width));
    });
  for (const [name, does, done] of decisions)
    command
      .command(name)
      .description(does)
      .addArgument(
        new Argument(
          '<kind>',
          `the held kind: ${subjectNames.join(', ')}; less or price: all kinds of that group`,
        ).argParser(kindNamed),
      )
      .addHelpText('after', `\nExamples:\n  catalogued held ${name} sale-status\n  catalogued held ${name} price`)
      .action(async (kind: Kind | Subject, _: object, own: Command) => {
        const call = { operation: `POST /v1/held/${name}`, body: { kind } } as const;
        const decided = await askAnyDaemon(io, configurationFor(io, own), call);
        for (const subject of decided.subjects) io.stdout.write(`${subject}, ${subjects[subject].text}: ${done}.\n`);
      });
  return command;
}

const decisions = [
  [
    'approve',
    'Believes what is held, for 24 hours: each record is asked once more, and then shown as the service says.',
    'asked once more, and believed for 24 hours',
  ],
  ['reject', 'Keeps what the mirror shows, as stale, for 24 hours.', 'kept as shown for 24 hours'],
] as const;

function kindNamed(value: string): Kind | Subject {
  if (value === 'less' || value === 'price' || isSubject(value)) return value;
  throw new InvalidArgumentError(`expected less, price, ${subjectNames.join(', ')}.`);
}

function render(held: readonly HeldClaims[], now: number, width: number): string {
  return held.length === 0 ? 'Nothing is held.\n' : held.map((each) => renderOne(each, now, width)).join('\n');
}

function renderOne(held: HeldClaims, now: number, width: number): string {
  const { subject, since, examples, decided_until } = held;
  const left =
    decided_until === null || decisionAt(held, now) === null ? '' : ` (for ${duration(decided_until - now)} more)`;
  const rows = examples.map((each) => [
    String(each.product_id),
    each.title ?? '-',
    each.edition,
    ...amountTexts(subject, each.edition, each),
  ]);
  return [
    `${subject}: ${claimText(held)}`,
    `For ${duration(now - since)}: ${progressText(held, now)}${left}.`,
    ...(rows.length === 0 ? [] : ['', table(['product', 'title', 'edition', 'shown', 'answered'], rows, width)]),
    ...(isOpen(held) ? ['', ...whatToType(subject).map((line) => `  ${line}`)] : []),
    '',
  ].join('\n');
}
