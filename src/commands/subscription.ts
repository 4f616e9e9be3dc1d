import { Command } from 'commander';
import type { Answer, Body } from '../admin/api.ts';
import type { AdminCall } from '../admin/client.ts';
import type { LoadedConfig } from '../config/load.ts';
import { settingsOf } from '../daemon/subscriptions.ts';
import { systemClock } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { duration, number, printable, short } from '../kernel/format.ts';
import { openMirrorFacts } from '../mirror/reading.ts';
import { listSubscriptions } from '../push/declared-subscriptions.ts';
import type { Attempt } from '../push/subscription.ask.ts';
import type { Application, Comparison } from '../push/subscriptions.ts';
import { askQuietDaemon } from './daemon-or-quiet.ts';
import { askDaemon, configurationFor } from './setup.ts';
import { type Io, print } from './terminal/io.ts';
import { table, widthOf } from './terminal/table.ts';

/** Printed while every declaration waits for the first walk over the lists. */
const nothingRead = 'Nothing to do: no product has been read yet.\n';
/** Longest wait in milliseconds: the service is asked about each of possibly many subscriptions. */
const patienceMs = 10 * 60_000;

export function subscriptionCommand(io: Io): Command {
  const command = new Command('subscription').description(
    'Compares the declared subscriptions to change notifications with those the service has, and applies the difference.',
  );
  addList(command, io);
  addShow(command, io);
  addApply(command, io);
  addReactivate(command, io);
  addRotate(command, io);
  return command;
}

function addList(command: Command, io: Io): void {
  command
    .command('list')
    .description(
      'Lists the declared subscriptions, their last known state, and the products on sale that no working subscription covers.',
    )
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued subscription list\n  catalogued subscription list --json | jq .uncovered',
    )
    .action((options: { json?: boolean }, own: Command) => {
      const { config } = configurationFor(io, own);
      using mirror = openMirrorFacts(config.mirror.path);
      const list = listSubscriptions(mirror, settingsOf(config));
      const now = systemClock.now();
      print(io, options, list, () => renderList(list, { now, width: widthOf(io) }));
    });
}

function addShow(command: Command, io: Io): void {
  command
    .command('show')
    .argument('[id]', 'the id of a declaration or of one of its parts (default: all)')
    .description(
      'Shows each declared subscription beside the one that the service has. Exit 0: nothing differs; 1: something does.',
    )
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText('after', '\nExamples:\n  catalogued subscription show\n  catalogued subscription show all-2 --json')
    .action(async (id: string | undefined, options: { json?: boolean }, own: Command) => {
      const body = { subscription_id: id ?? null };
      const compared = await ask(io, configurationFor(io, own), 'compare', body);
      print(io, options, compared, () =>
        compared.length === 0 ? nothingRead : compared.map((each) => renderComparison(each, widthOf(io))).join('\n'),
      );
      requireAnswers(
        compared.map(({ subscription_id, failure }) => ({ subscription_id, done: failure === null, message: failure })),
      );
      if (compared.some(({ differences }) => differences.length > 0)) io.answerIsNo();
    });
}

function addApply(command: Command, io: Io): void {
  command
    .command('apply')
    .description('Sends the service every subscription that differs from its declaration, and no other.')
    .option('--dry-run', 'print what would be sent, and send nothing')
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText('after', '\nExamples:\n  catalogued subscription apply --dry-run\n  catalogued subscription apply')
    .action(async (options: { dryRun?: boolean; json?: boolean }, own: Command) => {
      const run = options.dryRun ? 'dry' : 'now';
      const body = { dry_run: run === 'dry' };
      const applied = await ask(io, configurationFor(io, own), 'apply', body);
      print(io, options, applied, () => renderApplied(applied, run, widthOf(io)));
      requireAnswers(applied);
    });
}

function addReactivate(command: Command, io: Io): void {
  command
    .command('reactivate')
    .argument('<id>', 'the id of a declaration or of one of its parts')
    .description(
      'Asks the service to resume a subscription that it has stopped serving; if it offers no such call, sends the whole subscription again.',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued subscription reactivate all\n  catalogued subscription reactivate all-2',
    )
    .action(async (id: string, _: object, own: Command) => {
      const body = { subscription_id: id };
      const attempts = await ask(io, configurationFor(io, own), 'reactivate', body);
      io.stdout.write(renderAttempts(attempts, 'reactivated'));
      requireAnswers(attempts);
    });
}

function addRotate(command: Command, io: Io): void {
  command
    .command('rotate')
    .argument('[id]', 'the id of a declaration or of one of its parts (default: all)')
    .description(
      'Replaces the callback address: the receiver accepts the new one at once, then it is sent to the service. The old one stays valid for receiver.grace.',
    )
    .addHelpText('after', '\nExamples:\n  catalogued subscription rotate\n  catalogued subscription rotate all')
    .action(async (id: string | undefined, _: object, own: Command) => {
      const body = { subscription_id: id ?? null };
      const attempts = await ask(io, configurationFor(io, own), 'rotate', body);
      io.stdout.write(attempts.length === 0 ? nothingRead : renderAttempts(attempts, 'has a new callback address'));
      requireAnswers(attempts);
    });
}

async function ask<Route extends 'compare' | 'apply' | 'reactivate' | 'rotate'>(
  io: Io,
  loaded: LoadedConfig,
  route: Route,
  body: Body<`POST /v1/subscriptions/${Route}`>,
): Promise<Answer<`POST /v1/subscriptions/${Route}`>> {
  const operation = `POST /v1/subscriptions/${route}` as const;
  const call: AdminCall<`POST /v1/subscriptions/${Route}`> = { operation, body, patience_ms: patienceMs };
  const answer = await askDaemon(io, loaded, call);
  if (answer !== null) return answer;
  const own = await askQuietDaemon(io, loaded, call);
  if (route !== 'compare')
    io.stderr.write('Warning: no daemon runs; what the service sends is lost until one does (catalogued run)\n');
  return own;
}

/** Throws (69) with every attempt that the service rejected or did not answer. */
function requireAnswers(attempts: readonly Attempt[]): void {
  const failed = attempts.filter(({ done }) => !done);
  if (failed.length === 0) return;
  throw new CataloguedError('subscription-failed', 'the service rejected or did not answer:', {
    exitCode: exitCodes.unavailable,
    details: failed.map(({ subscription_id, message }) => `${subscription_id}: ${printable(message ?? 'no answer')}`),
    hint: 'catalogued doctor looks at the key, the clock and the public address; a running daemon tries again by itself',
  });
}

function renderList(
  { subscriptions, waiting, uncovered }: Answer<'GET /v1/subscriptions'>,
  { now, width }: { readonly now: number; readonly width: number },
): string {
  const rows = subscriptions.map((each) => listRow(each, now));
  const headings = [
    'subscription',
    'type',
    'entities',
    'covers',
    'status',
    'trust',
    'last delivery',
    'looked at',
    'differs',
  ];
  const failures = subscriptions
    .filter(({ failure }) => failure !== null)
    .map(({ subscription_id, failure }) => `${subscription_id}: ${printable(failure ?? '')}`);
  const bare = uncovered.products.map(
    ({ product_id, title }) => `  ${product_id}  ${title === null ? '(no title)' : short(printable(title))}`,
  );
  const more = uncovered.count - uncovered.products.length;
  const lines = [
    ...(rows.length > 0 ? [table(headings, rows, width)] : waiting.length > 0 ? [] : ['No subscription is declared.']),
    ...waiting.map((id) => `${id} is sent once every mirrored product has been read.`),
    ...(failures.length === 0 ? [] : ['', ...failures]),
    '',
    `Products on sale that no working subscription covers: ${number(uncovered.count)}`,
    ...bare,
    ...(more > 0 ? [`  and ${number(more)} more`] : []),
  ];
  return `${lines.join('\n')}\n`;
}

function listRow(each: Answer<'GET /v1/subscriptions'>['subscriptions'][number], now: number): string[] {
  const { subscription_id, declared_id, type, entities, covered_products, status, trust, differences } = each;
  const ago = (at: number | null) => (at === null ? '-' : `${duration(now - at)} ago`);
  return [
    subscription_id,
    type,
    entities === null ? '-' : number(entities),
    covered_products === null ? '-' : number(covered_products),
    status ?? '-',
    trust === null ? '-' : `${Math.floor(trust * 100)} %`,
    ago(each.last_delivery_at),
    ago(each.checked_at),
    declared_id === null ? 'no longer declared' : differences.length === 0 ? 'no' : differences.join('; '),
  ];
}

function renderComparison(
  { subscription_id, declared, service, differences, ...rest }: Comparison,
  width: number,
): string {
  const { failure, last_attempt } = rest;
  const entities = (ids: readonly number[] | null | undefined) =>
    ids == null ? '-' : `${number(ids.length)} entities`;
  const rows = [
    ['type', declared?.type ?? '-', service?.held_type ?? '-'],
    ['entity_ids', entities(declared?.entity_ids), entities(service?.entity_ids)],
    ['change_types', declared?.change_types.join(' ') ?? '-', service?.change_types?.join(' ') ?? '-'],
    ['status', '-', service?.status ?? 'not there'],
  ];
  const verdict =
    failure !== null
      ? `The service could not be asked: ${printable(failure)}`
      : differences.length === 0
        ? 'Nothing differs.'
        : `Differs: ${printable(differences.join('; '))}`;
  return `${table([subscription_id, 'declared', 'the service'], rows, width)}\n${verdict}\n${last_attempt === null ? '' : `The last attempt: ${printable(last_attempt)}\n`}`;
}

function renderApplied(applied: readonly Application[], run: 'now' | 'dry', width: number): string {
  const texts = {
    create: ['would create', 'created'],
    update: ['would update', 'updated'],
    none: ['nothing', 'nothing'],
  } as const;
  const rows = applied.map(({ subscription_id, action, differences, request, done }) => {
    const ids = (request as { entity_ids?: readonly number[] } | null)?.entity_ids;
    const outcome = done ? texts[action][run === 'dry' ? 0 : 1] : 'failed';
    return [subscription_id, outcome, ids === undefined ? '-' : number(ids.length), differences.join('; ') || '-'];
  });
  return rows.length === 0
    ? nothingRead
    : `${table(['subscription', run === 'dry' ? 'dry run' : 'done', 'entities', 'differs'], rows, width)}\n`;
}

function renderAttempts(attempts: readonly Attempt[], done: string): string {
  const lines = attempts.filter((each) => each.done).map(({ subscription_id }) => `${subscription_id} ${done}.\n`);
  return lines.join('');
}
