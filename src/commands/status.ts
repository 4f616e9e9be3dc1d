import { Command } from 'commander';
import { AdminRefusal, adminClient } from '../admin/client.ts';
import { systemClock } from '../clock.ts';
import { configPath, loadConfig } from '../config.ts';
import { quarantineAfter } from '../domain/backoff.ts';
import { AnswerIsNo } from '../main.ts';
import { openMirrorForReading } from '../mirror/files.ts';
import { type Freshness, type MirrorStatus, readStatus } from '../mirror/status.ts';
import type { LiveStatus } from '../status.ts';
import type { Io } from './io.ts';
import { duration, megabytes, number } from './progress.ts';
import { table } from './table.ts';

type Status = MirrorStatus & { readonly daemon: LiveStatus | null };

export function statusCommand(io: Io): Command {
  return new Command('status')
    .description(
      'What is mirrored, how old it is, and which promises are kept. Exit 0: all kept; 1: not filled, or one is broken.',
    )
    .option('--json', 'as JSON: the fields are a contract (schema/contract.json)')
    .addHelpText('after', '\nExamples:\n  catalogued status\n  catalogued status --json | jq .freshness')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { config, secrets } = loadConfig({
        file: configPath(command.optsWithGlobals<{ config?: string }>().config, io.env),
        env: io.env,
      });
      const db = openMirrorForReading(config.mirror.path);
      let mirror: MirrorStatus;
      try {
        mirror = readStatus(db, quarantineAfter);
      } finally {
        db.close();
      }
      const status: Status = { ...mirror, daemon: await askDaemon(config.admin.listen, secrets.admin_token) };
      const now = systemClock.now();
      io.stdout.write(options.json ? `${JSON.stringify(status, null, 2)}\n` : render(status, now));
      if (!isGood(status)) throw new AnswerIsNo();
    });
}

async function askDaemon(listen: string, token: Parameters<typeof adminClient>[1]): Promise<LiveStatus | null> {
  try {
    return (await adminClient(listen, token).call<{ daemon: LiveStatus }>('GET', '/v1/status'))?.daemon ?? null;
  } catch (error) {
    if (error instanceof AdminRefusal) return null;
    throw error;
  }
}

function isGood(status: Status): boolean {
  return (
    status.filled_at !== null &&
    status.freshness.every(({ kept }) => kept === 1) &&
    status.removals === null &&
    status.alarms.length === 0 &&
    (status.daemon?.key_refused ?? null) === null
  );
}

function render(status: Status, now: number): string {
  const { products, records, daemon } = status;
  const lines = [
    `Mirror    ${status.path}, ${megabytes(status.file_bytes)} and ${megabytes(status.wal_bytes)} of write-ahead log`,
    `Filled    ${status.filled_at === null ? `not yet: ${number(records.never_fetched)} of ${number(records.all)} records were never read` : ago(status.filled_at, now)}`,
    `Products  ${number(products.visible)} visible, ${number(products.sellable)} sellable, ${number(products.withdrawn)} withdrawn; ${number(status.images)} images`,
    ...troubles(status, now),
    `Daemon    ${daemon === null ? 'not running: nothing is being refreshed' : describeDaemon(daemon, now)}`,
    '',
    table(
      ['resource', 'tier', 'records', 'fresh', 'stale', 'expired', 'oldest read', 'promise', 'kept'],
      status.freshness.map((line) => freshnessRow(line, now)),
    ),
  ];
  if (status.failures.length > 0) {
    const rows = status.failures.map(({ records: count, resource, failure }) => [number(count), resource, failure]);
    lines.push(
      '',
      `Failing: ${number(records.failing)} records, ${number(records.quarantined)} of them in quarantine`,
      table(['records', 'resource', 'last failure'], rows),
    );
  }
  return `${lines.join('\n')}\n`;
}

const subscriptionTroubles: Readonly<Record<string, string>> = {
  'subscription-broken': 'has not been sending',
  'subscription-failing': 'could not be changed',
  'subscription-taken': 'has been called to an address that is not ours',
};

/** What waits for a person. */
function troubles({ removals, alarms }: Status, now: number): string[] {
  const held =
    removals === null
      ? []
      : [
          `Removals  ${number(removals.held)} products held for ${duration(now - removals.since)}: catalogued removals list`,
        ];
  const vanished = alarms
    .filter(({ kind }) => kind === 'images-vanished')
    .map(
      ({ raised_at, products }) =>
        `Images    all images of ${number(products)} products vanished from the list ${ago(raised_at, now)}: each is shown until 14 days after it was confirmed`,
    );
  const subscriptions = alarms
    .filter(({ kind }) => kind in subscriptionTroubles)
    .map(({ kind, raised_at, products }) => {
      const covers = products === 0 ? '' : ` (it covers ${number(products)} products)`;
      return `Alarm     a subscription ${subscriptionTroubles[kind]} for ${duration(now - raised_at)}${covers}: catalogued subscription list`;
    });
  return [...held, ...vanished, ...subscriptions];
}

function freshnessRow(
  { resource, tier, records, fresh, stale, expired, oldest_checked_at, promise_ms, kept }: Freshness,
  now: number,
) {
  const oldest = oldest_checked_at === null ? '-' : oldest_checked_at === 0 ? 'never' : ago(oldest_checked_at, now);
  return [
    resource,
    tier ?? '',
    number(records),
    number(fresh),
    number(stale),
    number(expired),
    oldest,
    duration(promise_ms),
    kept ? 'yes' : 'NO',
  ];
}

function describeDaemon(
  { key_refused, lanes, unreachable_since, not_before, calls, rate, ceiling, throttled }: LiveStatus,
  now: number,
): string {
  if (key_refused !== null) return `running, but the service refuses the key: ${key_refused}`;
  if (unreachable_since !== null)
    return `running; the service has not been reachable for ${duration(now - unreachable_since)}`;
  const busy = Object.entries(lanes)
    .filter(([, count]) => count > 0)
    .map(([lane, count]) => `${lane} ${number(count)}`);
  const pause = not_before !== null && not_before > now ? `, told to wait ${duration(not_before - now)}` : '';
  return `running; ${number(calls)} calls since its start, at most ${rate.toFixed(1)} of ${ceiling}/s, throttled ${number(throttled)} times${pause}${busy.length > 0 ? `\n          lanes: ${busy.join(', ')}` : ''}`;
}

function ago(at: number, now: number): string {
  return `${duration(now - at)} ago`;
}
