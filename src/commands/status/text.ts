import { dirname } from 'node:path';
import type { BackupStatus } from '../../backup/keep.ts';
import { errorRateGoal } from '../../domain/checks/error-rate.ts';
import type { ConditionCode } from '../../domain/conditions/table.ts';
import { limitOf } from '../../domain/evidence/claims.ts';
import { type HeldClaims, stateText } from '../../domain/evidence/hold.ts';
import { unreadableText } from '../../domain/evidence/unreadable.ts';
import { type JobRuns, jobTrouble } from '../../domain/schedule/job-runs.ts';
import { nameOf } from '../../domain/schedule/offer.ts';
import { ago, counted, duration, megabytes, number, printable } from '../../format.ts';
import type { Freshness, SubscriptionStatus } from '../../mirror/status/status.ts';
import type { SnapshotStatus } from '../../snapshot/snapshot.ts';
import { unshared } from '../../sqlite/directory.ts';
import type {
  DaemonStatus,
  DatabaseStatus,
  InboxStatus,
  LiveStatus,
  ProcessStatus,
} from '../../status/daemon-status.ts';
import { bookableText, changesText } from '../../status/on-sale-text.ts';
import { cannotTell, outdatedText } from '../../status/outdated-share.ts';
import { asOfText } from '../../status/status-line.ts';
import { conditionSays } from '../../status/verdict.ts';
import { signalText, walksText } from '../../sync/reports/signal-text.ts';
import { table } from '../terminal/table.ts';

/** Status as the command shows it. What only a running daemon knows is null if none answers. */
export type ShownStatus = Omit<DaemonStatus, keyof ProcessStatus> & {
  readonly [Name in keyof ProcessStatus]: ProcessStatus[Name] | null;
} & {
  /** False: a daemon listens but does not answer; null: none runs. */
  readonly daemon_answers: boolean | null;
};

/** Returns the status as people read it. */
export function statusText(status: ShownStatus, now: number, width?: number): string {
  const { records } = status;
  const lines = [
    ...underHeadings(facts(status, now)),
    '',
    table(
      ['resource', 'tier', 'records', 'fresh', 'stale', 'expired', 'oldest read', 'target', 'met'],
      status.freshness.map((line) => freshnessRow(line, now)),
      width,
    ),
  ];
  for (const each of status.unreadable) lines.push(`Unread    ${unreadableText(each)}`);
  if (status.held.length > 0)
    lines.push(
      '',
      table(
        ['held', 'records', 'of', 'limit', 'since', 'state'],
        status.held.map((each) => heldRow(each, now)),
        width,
      ),
    );
  if (status.subscriptions.length > 0) {
    const headings = ['subscription', 'type', 'status', 'covers', 'last delivery', 'trust'];
    lines.push(
      '',
      table(
        headings,
        status.subscriptions.map((each) => subscriptionRow(each, now)),
        width,
      ),
    );
  }
  if (status.failures.length > 0) {
    const rows = status.failures.map(({ records: count, resource, failure }) => [number(count), resource, failure]);
    lines.push(
      '',
      `Failing: ${counted(records.failing, 'record')}, ${number(records.quarantined)} of them in quarantine`,
      table(['records', 'resource', 'last failure'], rows, width),
    );
  }
  return `${lines.join('\n')}\n`;
}

/** Returns the lines above the tables, each with its heading; one without belongs to the line above it. */
function facts(status: ShownStatus, now: number): string[] {
  const { products, records, daemon } = status;
  return [
    `Mirror    ${status.path}, ${megabytes(status.file_bytes)} and ${megabytes(status.wal_bytes)} of write-ahead log${aged(status, now)}`,
    `Filled    ${status.filled_at === null ? `not yet: ${number(records.never_fetched)} of ${counted(records.all, 'record')} ${records.never_fetched === 1 ? 'was' : 'were'} never read` : ago(status.filled_at, now)}`,
    `Products  ${number(products.visible)} visible, ${number(products.sellable)} sellable, ${number(products.withdrawn)} withdrawn; ${counted(status.images, 'image')}`,
    `Bookable  ${bookableText(status.bookable, now)}`,
    `Changed   ${changed(status.last_hour)}`,
    truth(status, now),
    ...errors(status),
    ...signals(status),
    ...troubles(status, now),
    ...describeSharing(status.path),
    ...describeDatabase(status.database),
    ...describeSnapshot(status.snapshot, now),
    describeBackup(status.backup, now),
    ...when(daemon !== null, `Daemon    ${daemon === null ? '' : describeDaemon(daemon, now)}`),
    ...(shown(status, 'job-failing') ? [] : (status.jobs ?? [])).flatMap((job) => {
      const trouble = jobTrouble(job, now);
      return trouble === null ? [] : [`Jobs      ${trouble}`];
    }),
    ...waitingJobs(status.jobs ?? []),
    ...when(
      status.storefront !== null,
      `Shops     ${status.storefront?.listen}: checks, orders and changes for storefronts`,
    ),
    ...notifications(status, now),
    ...status.not_offered.flatMap(({ path, since, refusal, set }) =>
      when(
        // A condition says the other.
        refusal === 'path',
        `Missing   ${nameOf[path]}: not offered by the service, noticed ${ago(since, now)}; asked again by itself unless you set ${set}`,
      ),
    ),
  ];
}

const headingWidth = 10;

/** Returns a line for each reason for which jobs do nothing, as `catalogued jobs` shows it. */
function waitingJobs(jobs: readonly JobRuns[]): string[] {
  const byReason = Map.groupBy(jobs, ({ kept_from }) => kept_from);
  return [...byReason].flatMap(([reason, { length }]) =>
    reason === null ? [] : [`Jobs      ${number(length)} ${length === 1 ? 'waits' : 'wait'}: ${printable(reason)}`],
  );
}

function aged(status: ShownStatus, now: number): string {
  const text = asOfText(status, now);
  return text === null ? '' : `; ${text}`;
}

/** Puts what has one heading together, where that comes first, and writes the heading once. */
function underHeadings(lines: readonly string[]): string[] {
  const found = new Map<string, string[]>();
  let heading = '';
  for (const line of lines) {
    const own = line.slice(0, headingWidth).trim();
    heading = own || heading;
    const above = found.get(heading);
    if (above === undefined) found.set(heading, [line]);
    else above.push(' '.repeat(headingWidth) + line.slice(headingWidth));
  }
  return [...found.values()].flat();
}

function describeSharing(path: string): string[] {
  const advice = unshared(dirname(path));
  return advice === null ? [] : [`Sharing   ${advice}`];
}

function describeBackup(
  { directory, copies, made_at, bytes, tried_at, tried_failure, late, failure }: BackupStatus,
  now: number,
): string {
  const lateness = late === 0 ? '' : `, LATE${failure === null ? '' : `: ${printable(failure)}`}`;
  if (made_at === null) return `Backup    none yet in ${directory}${lateness}`;
  const tried =
    tried_at === null
      ? 'not restored on trial yet'
      : `${tried_failure === null ? 'restored on trial' : 'CANNOT be restored, tried'} ${ago(tried_at, now)}`;
  return `Backup    ${ago(made_at, now)}, ${megabytes(bytes ?? 0)}, ${tried}; ${number(copies)} kept in ${directory}${lateness}`;
}

function describeDatabase(database: DatabaseStatus | null): string[] {
  if (database === null) return [];
  const { state, lag_ms, leads, standbys } = database;
  const published =
    state === null
      ? 'nothing published since the start'
      : `state ${number(state)} published${lag_ms === 0 ? '' : `, ${duration(lag_ms ?? 0)} old`}`;
  const standing = standbys === null ? '' : `; ${number(standbys)} more stand by`;
  return [
    `Database  ${published}${leads === null ? '' : `; ${leads.name} leads, term ${number(leads.term)}${standing}`}`,
  ];
}

function describeSnapshot(snapshot: SnapshotStatus | null, now: number): string[] {
  if (snapshot === null) return [];
  const { path, published_at, bytes, every_ms, late, failure } = snapshot;
  const age =
    published_at === null ? 'never published' : `published ${ago(published_at, now)}, ${megabytes(bytes ?? 0)}`;
  const lateness = late === 1 ? `, LATE: one is due every ${duration(every_ms)}` : '';
  return [
    `Snapshot  ${age}: ${path}${lateness}`,
    ...when(failure !== null, `          the last attempt failed: ${printable(failure ?? '')}`),
  ];
}

/** Returns the lines about what needs a person. */
function troubles({ conditions, unconfirmed_images }: ShownStatus, now: number): string[] {
  const late = unconfirmed_images.map(
    ({ product_id, images, hidden_from }) =>
      `          ${product_id}: ${counted(images, 'image')}, ${hidden_from > now ? `hidden in ${duration(hidden_from - now)}` : `hidden ${ago(hidden_from, now)}`}`,
  );
  return conditions.flatMap((each) => [
    `${each.about.padEnd(headingWidth)}${conditionSays(each, now)}`,
    // A cause hides the condition, but not which products it is about.
    ...when(late.length > 0 && [each.code, ...each.explains].includes('images-unverified'), late.join('\n')),
  ]);
}

function shown({ conditions }: ShownStatus, wanted: ConditionCode): boolean {
  return conditions.some(({ code }) => code === wanted);
}

/** Returns the lines about notifications: closures, gaps and the inbox. */
function notifications({ closures, gaps, inbox }: ShownStatus, now: number): string[] {
  const received =
    inbox === null || inbox === undefined
      ? []
      : [
          `Inbox     ${counted(inbox.received, 'delivery', 'deliveries')}: ${number(inbox.applied)} applied, ${number(inbox.superseded)} superseded, ${number(inbox.quarantined)} in quarantine, ${number(inbox.waiting)} waiting${inbox.last_delivery_at === null ? '' : `; the last ${ago(inbox.last_delivery_at, now)}`}`,
          `          ${room(inbox)}`,
        ];
  const open = closures.unconfirmed + closures.held;
  const lasting = gaps.map(
    ({ subscription_id, from_at, to_at, products }) =>
      `Gap       nothing came ${subscription_id === null ? '' : `from ${subscription_id} `}for ${duration((to_at ?? now) - from_at)}${to_at === null ? ', still lasting' : `: ${number(products)} products made due so far`}`,
  );
  return [
    ...received,
    ...when(
      open > 0,
      `Closures  ${counted(closures.unconfirmed, 'product')} off sale until a read confirms the closure, ${number(closures.held)} held back`,
    ),
    ...lasting,
  ];
}

/** Describes how much of their space the deliveries use. */
function room({ stored_bytes, budget_bytes, bodies_gone }: InboxStatus): string {
  const gone = bodies_gone === 0 ? '' : `; ${number(bodies_gone)} bodies deleted early`;
  return `${megabytes(stored_bytes)} of ${megabytes(budget_bytes)}${gone}`;
}

/** Describes what changed in the last hour. */
function changed(hour: ShownStatus['last_hour']): string {
  const text = changesText(hour);
  return text === null
    ? 'nothing in the last hour'
    : `in the last hour, of ${counted(hour.products, 'product')}: ${text}`;
}

/** Returns the line about the share of outdated data among what shoppers see. */
function truth({ truth: measured }: ShownStatus, now: number): string {
  const { audited, from_at, to_at, by_tier } = measured;
  const text = outdatedText(measured);
  if (text === null || from_at === null || to_at === null) return `Outdated  ${cannotTell(measured)}`;
  const tiers = by_tier.map((row) => `${row.tier} ${outdatedText(row) ?? 'not known yet'}`);
  const until = to_at < now ? `, until ${ago(to_at, now)}` : '';
  return `Outdated  ${text} of what shoppers see, by ${counted(audited, 'random read')} in ${duration(to_at - from_at)}${until}; ${tiers.join(', ')}`;
}

/** Returns the lines about how often checks and orders found the mirror wrong; none before the first. */
function errors({ error_rate }: ShownStatus): string[] {
  const { checks, wrong, orders, orders_wrong, rate, by_tier, worst } = error_rate;
  if (rate === null) return [];
  const tiers = by_tier.flatMap((row) => (row.rate === null ? [] : [`${row.tier} ${percent(row.rate)}`]));
  const products = worst
    .slice(0, 3)
    .map((row) => `${row.product_id} (${row.wrong + row.orders_wrong} of ${row.checks + row.orders})`);
  return [
    `Errors    ${percent(rate)}: the mirror was wrong in ${number(wrong)} of ${counted(checks, 'check')} and ${number(orders_wrong)} of ${counted(orders, 'order')}; ${tiers.join(', ')}; the goal is below ${100 * errorRateGoal} %`,
    ...when(products.length > 0, `          most often wrong: ${products.join(', ')}`),
  ];
}

/** Returns the line about what the list shows of the changes of dates; none before the first was found. */
function signals({ list_signal: { near, far, walked_every_ms } }: ShownStatus): string[] {
  if (near.changes + far.changes === 0) return [];
  return [
    `Signals   near dates: ${signalText(near)}; ${walksText(walked_every_ms)}`,
    ...when(far.changes > 0, `          far dates: ${signalText(far)}`),
  ];
}

function heldRow(held: HeldClaims, now: number): string[] {
  const { subject, able, claiming, since } = held;
  return [subject, number(claiming), number(able), number(limitOf(able)), ago(since, now), stateText(held, now)];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function subscriptionRow(
  { subscription_id, type, status, covered_products, last_delivery_at, trust, trusted }: SubscriptionStatus,
  now: number,
): string[] {
  const share = trust === null ? '-' : `${Math.round(trust * 100)} %`;
  return [
    subscription_id,
    type,
    status ?? 'not asked yet',
    covered_products === null ? 'what you sell' : number(covered_products),
    last_delivery_at === null ? 'none' : ago(last_delivery_at, now),
    trusted === 1 ? share : `${share}, NOT TRUSTED`,
  ];
}

function when(condition: boolean, line: string): string[] {
  return condition ? [line] : [];
}

function freshnessRow(
  { resource, tier, records, fresh, stale, expired, oldest_checked_at, target_ms, met }: Freshness,
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
    duration(target_ms),
    met ? 'yes' : 'NO',
  ];
}

function describeDaemon(
  { lanes, unreachable_since, away, not_before, told_until, calls, rate, ceiling, throttled }: LiveStatus,
  now: number,
): string {
  if (unreachable_since !== null)
    return `running; the service has ${away?.how === 'unusable' ? 'given no usable answer' : 'been unreachable'} for ${duration(now - unreachable_since)}`;
  const busy = Object.entries(lanes)
    .filter(([, count]) => count > 0)
    .map(([lane, count]) => `${lane} ${number(count)}`);
  const left = (until: number | null) => (until !== null && until > now ? duration(until - now) : null);
  const [told, own] = [left(told_until), left(not_before)];
  const pause = told !== null ? `, told to wait ${told}` : own !== null ? `, pausing for ${own}` : '';
  return `running; ${counted(calls, 'call')} since its start, at most ${rate.toFixed(1)} of ${ceiling}/s, throttled ${counted(throttled, 'time')}${pause}${busy.length > 0 ? `\n          lanes: ${busy.join(', ')}` : ''}`;
}
