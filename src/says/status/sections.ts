import { imageLimitMs } from '../../catalogue/image.rules.ts';
import { type JobRuns, jobDuration, jobNext, jobPeriod, jobTrouble } from '../../daemon/job-runs.rules.ts';
import { errorRateGoal, type ReportCounts } from '../../desk/error-rate.rules.ts';
import type { BackupStatus } from '../../files/backup/keep.ts';
import type { SnapshotStatus } from '../../files/snapshot/snapshot.ts';
import { type Listing, listing, marked, type Section, say, type Words } from '../../kernel/document-section.ts';
import { ago, counted, duration, megabytes, number, percent, printable, resourceLabel } from '../../kernel/format.ts';
import { nameOf } from '../../schedule/offer.rules.ts';
import { signalText, walksText } from '../../schedule/signal.rules.ts';
import { limitOf } from '../../trust/claims.rules.ts';
import { cannotTell, outdatedText } from '../../trust/error-estimate.rules.ts';
import { amountTexts, claimText, type HeldClaims, isOpen, stateText, whatToType } from '../../trust/hold.rules.ts';
import { unreadableText } from '../../trust/unreadable.rules.ts';
import { ageLabel, nearFirst } from '../conditions/ages.rules.ts';
import type { DaemonStatus, DatabaseStatus, InboxStatus, LiveStatus, ProcessStatus } from './daemon-status.ts';
import type { BookableDays, LastHour, OnSale } from './on-sale.store.ts';
import type { ErrorRate, Freshness, MirrorStatus, SubscriptionStatus, Truth } from './status.store.ts';
import { asOfText, neverReadText } from './verdict.ts';

/** A status of which what only a running daemon knows is null where none answers. */
export type ShownStatus = Omit<DaemonStatus, keyof ProcessStatus> & {
  readonly [Name in keyof ProcessStatus]: ProcessStatus[Name] | null;
};

/** Status as the command prints it. */
export type PrintedStatus = ShownStatus & {
  /** False: a daemon listens but does not answer; null: none runs. */
  readonly daemon_answers: boolean | null;
};

/** Returns the sections of a status by their subjects; null: there is nothing to say of it. */
export function statusSections(status: ShownStatus, now: number) {
  const { filled_at, records, products, daemon, database, storefront, snapshot, jobs } = status;
  const aged = asOfText(status, now);
  return {
    mirror: line(
      'Mirror',
      `${status.path}, ${megabytes(status.file_bytes)} and ${megabytes(status.wal_bytes)} of write-ahead log${aged === null ? '' : `; ${aged}`}`,
    ),
    filled: line('Filled', filled_at === null ? `not yet. ${neverReadText(records)}` : ago(filled_at, now)),
    products: line(
      'Products',
      `${number(products.visible)} visible, ${number(products.sellable)} sellable, ${number(products.withdrawn)} withdrawn; ${counted(status.images, 'image')}`,
    ),
    bookable: line('Bookable', bookableText(status.bookable, now)),
    changed: line('Changed', changedText(status.last_hour)),
    outdated: outdated(status.truth, now),
    errors: errors(status.error_rate),
    signals: signals(status.list_signal),
    database: database === null ? null : line('Database', databaseText(database)),
    snapshot: snapshot === null ? null : snapshots(snapshot, now),
    backup: backups(status.backup, now),
    calls: daemon === null ? null : calls(daemon, now),
    jobTroubles: some('Jobs', jobs?.flatMap((job) => jobTrouble(job, now) ?? []) ?? []),
    waitingJobs: some('Jobs', waitingJobs(jobs ?? [])),
    shops: storefront && line('Shops', `${storefront.listen}: checks, orders and changes for storefronts`),
    notifications: notifications(status, now),
    closures: closures(status.closures),
    gaps: some(
      'Gap',
      status.gaps.map((gap) => gapText(gap, now)),
    ),
    missing: missing(status.not_offered, now),
    unreadable: some('Unread', status.unreadable.map(unreadableText)),
    freshness: nearFirst(status.freshness),
    held: held(status.held, now),
    images: images(status, now),
    failing: failing(status),
  };
}

export type StatusSections = ReturnType<typeof statusSections>;

function line(title: string, says: Words): Section {
  return { title, says: [says] };
}

function some(title: string, says: readonly Words[]): Section | null {
  return says.length === 0 ? null : { title, says };
}

function changedText(hour: ShownStatus['last_hour']): string {
  const text = changesText(hour);
  return text === null
    ? 'nothing in the last hour'
    : `in the last hour, of ${counted(hour.products, 'product')}: ${text}`;
}

/** Says which share of what shoppers see is outdated, in total and by tier. */
function outdated(truth: Truth, now: number): Section {
  const { audited, from_at, to_at, by_tier } = truth;
  const text = outdatedText(truth);
  const about = { about: 'Outdated', title: 'Outdated data shown' };
  const tiers = by_tier.map((row) => `${row.tier} ${outdatedText(row) ?? 'not known yet'}`).join(', ');
  const table = listing('By tier of the date', by_tier, {
    tier: ({ tier }) => tier,
    'random reads': (row) => row.audited,
    outdated: (row) => outdatedText(row) ?? none('not known yet'),
  });
  const tables = by_tier.length === 0 ? [] : [{ ...table, line: text === null ? '' : tiers }];
  if (text === null || from_at === null || to_at === null) return { ...about, says: [none(cannotTell(truth))], tables };
  const until = to_at < now ? `, until ${ago(to_at, now)}` : '';
  const reads = `${counted(audited, 'random read')} in ${duration(to_at - from_at)}${until}`;
  return { ...about, says: [`${text} of what shoppers see, by ${reads}`], tables };
}

/** Says how often checks and orders found the mirror wrong. */
function errors(rate: ErrorRate): Section {
  const { checks, wrong, orders, orders_wrong, by_tier, worst } = rate;
  const about = { about: 'Errors', title: 'Availability error rate' };
  if (rate.rate === null)
    return { ...about, says: [none('none yet: no check and no order has shown whether the mirror was right')] };
  const tiers = by_tier.flatMap((row) => (row.rate === null ? [] : [`${row.tier} ${percent(row.rate)}`]));
  const products = worst
    .slice(0, 3)
    .map((row) => `${row.product_id} (${number(row.wrong + row.orders_wrong)} of ${number(row.checks + row.orders)})`);
  return {
    ...about,
    says: [
      `${percent(rate.rate)}: the mirror was wrong in ${number(wrong)} of ${counted(checks, 'check')} and ${number(orders_wrong)} of ${counted(orders, 'order')}; the goal is below ${100 * errorRateGoal} %`,
      ...uncounted(rate),
    ],
    tables: [
      {
        ...listing('By tier of the date', by_tier, { tier: ({ tier }) => tier, ...errorColumns }),
        line: tiers.join(', '),
      },
      ...(worst.length === 0
        ? []
        : [
            {
              ...listing('Products that were wrong most often', worst, { product: productOf, ...errorColumns }),
              line: `most often wrong: ${products.join(', ')}`,
            },
          ]),
    ],
  };
}

const errorColumns = {
  'checks and orders': ({ checks, orders }: ReportCounts) => checks + orders,
  wrong: ({ wrong, orders_wrong }: ReportCounts) => unlessNone(wrong + orders_wrong, 'some'),
  share: (row: ReportCounts) => wrongShare(row) ?? none('none yet'),
};

function productOf({ product_id }: { readonly product_id: number }): Words {
  return marked('product', String(product_id));
}

function wrongShare({ checks, wrong, orders, orders_wrong }: ReportCounts): string | null {
  return checks + orders === 0 ? null : percent((wrong + orders_wrong) / (checks + orders));
}

/** Names the checks that count in no share, because they show nothing about the mirror. */
export function uncounted({
  unknown,
  unanswered,
}: {
  readonly unknown: number;
  readonly unanswered: number;
}): string[] {
  return unknown + unanswered === 0
    ? []
    : [
        `Not counted: ${number(unknown)} about dates that the mirror did not have, ${number(unanswered)} that the service did not answer`,
      ];
}

/** Says what the list shows of the changes of dates; null before the first was found. */
function signals({ near, far, walked_every_ms }: MirrorStatus['list_signal']): Section | null {
  if (near.changes + far.changes === 0) return null;
  const says = [`near dates: ${signalText(near)}; ${walksText(walked_every_ms)}`];
  return { ...line('Signals', ''), says: far.changes === 0 ? says : [...says, `far dates: ${signalText(far)}`] };
}

function databaseText({ state, lag_ms, leads, standbys }: DatabaseStatus): string {
  const published =
    state === null
      ? 'nothing published since the start'
      : `state ${number(state)} published${lag_ms === 0 ? '' : `, ${duration(lag_ms ?? 0)} old`}`;
  const standing = standbys === null ? '' : `; ${number(standbys)} more stand by`;
  return `${published}${leads === null ? '' : `; ${leads.name} leads, term ${number(leads.term)}${standing}`}`;
}

function snapshots({ path, published_at, bytes, every_ms, late, failure }: SnapshotStatus, now: number): Section {
  const age =
    published_at === null ? 'never published' : `published ${ago(published_at, now)}, ${megabytes(bytes ?? 0)}`;
  return {
    about: 'Snapshot',
    title: 'Snapshot for readers on other hosts',
    says: [
      say`${age}: ${code(path)}; one is due every ${duration(every_ms)}${lateness(late)}`,
      ...lastFailure(failure),
    ],
  };
}

function backups(backup: BackupStatus, now: number): Section {
  const { directory, copies, made_at, bytes, late, failure, tried_at, tried_failure } = backup;
  const tried =
    tried_at === null
      ? 'not restored on trial yet'
      : tried_failure === null
        ? `restored on trial ${ago(tried_at, now)}`
        : [bad('cannot be restored'), `, tried ${ago(tried_at, now)}`];
  const made =
    made_at === null
      ? say`none yet in ${code(directory)}${lateness(late)}`
      : say`${ago(made_at, now)}, ${megabytes(bytes ?? 0)}, ${tried}; ${number(copies)} kept in ${code(directory)}${lateness(late)}`;
  const trial = tried_failure === null ? [] : [say`the trial failed: ${code(tried_failure)}`];
  return { about: 'Backup', title: 'Backups', says: [made, ...lastFailure(failure), ...trial] };
}

function lateness(late: 0 | 1): Words {
  return late === 0 ? '' : [', ', bad('late')];
}

function lastFailure(failure: string | null): Words[] {
  return failure === null ? [] : [say`the last attempt failed: ${code(failure)}`];
}

/** Says how the service is called, and why it is not called now. */
function calls(daemon: LiveStatus, now: number): Section {
  const { not_before, rate, ceiling, throttled } = daemon;
  const lanes = Object.entries(daemon.lanes);
  const busy = lanes.filter(([, count]) => count > 0);
  const most = Math.max(...lanes.map(([, count]) => count));
  const called = `${counted(daemon.calls, 'call')} since its start, ${number(daemon.calls_in_flight)} under way, at most ${rate.toFixed(1)} of ${ceiling}/s, throttled ${counted(throttled, 'time')}`;
  const pause = not_before !== null && not_before > now ? `pausing for ${duration(not_before - now)}` : null;
  const trouble = serviceText(daemon, now) ?? pause;
  const table = listing('By lane', lanes, {
    lane: ([lane]) => lane,
    share: ([, count]) => ({ fresh: count === 0 ? 0 : count / most, label: null }),
    calls: ([, count]) => count,
  });
  const inLine = `lanes: ${busy.map(([lane, count]) => `${lane} ${number(count)}`).join(', ')}`;
  return {
    about: 'Daemon',
    title: 'Calls to the service',
    says: [`running; ${called}${trouble === null ? '' : `; ${trouble}`}`],
    tables: [{ ...table, line: busy.length === 0 ? '' : inLine }],
  };
}

/** Says why the service is not called now; null if it may be. */
export function serviceText({ unreachable_since, away, told_until }: LiveStatus, now: number): string | null {
  if (unreachable_since !== null)
    return `the service has ${away?.how === 'unusable' ? 'given no usable answer' : 'been unreachable'} for ${duration(now - unreachable_since)}; readers notice nothing until freshness targets are missed`;
  return told_until !== null && told_until > now
    ? `the service asks us to wait another ${duration(told_until - now)}`
    : null;
}

/** Counts the jobs that do nothing, by what they wait for. */
function waitingJobs(jobs: readonly JobRuns[]): string[] {
  return [...Map.groupBy(jobs, ({ kept_from }) => kept_from)].flatMap(([reason, { length }]) =>
    reason === null ? [] : [`${number(length)} ${length === 1 ? 'waits' : 'wait'}: ${printable(reason)}`],
  );
}

/** Returns the jobs of a daemon as a table. */
export function jobsTable(jobs: readonly JobRuns[], now: number): Listing {
  return listing("The daemon's jobs since its start", jobs, {
    job: ({ name }) => name,
    every: jobPeriod,
    'last run': ({ last_run_at: at }) => (at === null ? none('none yet') : ago(at, now)),
    took: (job) => jobDuration(job, now) ?? none('none yet'),
    next: (job) => jobNext(job, now),
    state: jobState,
  });
}

function jobState({ failure, kept_from, overdue, runs }: JobRuns): Words {
  if (failure !== null) return [bad('failed'), ' ', code(failure)];
  if (kept_from !== null) return [marked('some', 'waits'), ' ', code(kept_from)];
  if (overdue === 1) return marked('some', 'overdue');
  return runs === 0 ? none('not run yet') : marked('yes', '✓ ok');
}

function notifications({ inbox, subscriptions }: ShownStatus, now: number): Section {
  const received = inbox === null ? [] : deliveries(inbox, now);
  const about = { about: 'Inbox', title: 'Notifications' };
  if (subscriptions.length === 0) return { ...about, says: [...received, none('no subscription is declared')] };
  const table = listing('Subscriptions', subscriptions, {
    subscription: ({ subscription_id }) => subscription_id,
    type: ({ type }) => type,
    status: ({ status }) => subscriptionState(status),
    covers: ({ covered_products }) => covered_products ?? 'what you sell',
    'last delivery': ({ last_delivery_at: at }) => (at === null ? none('none yet') : ago(at, now)),
    trust,
  });
  return { ...about, says: received, tables: [table] };
}

function deliveries(inbox: InboxStatus, now: number): Words[] {
  const { received, applied, superseded, quarantined, waiting, last_delivery_at, bodies_gone } = inbox;
  if (inbox.receiver === null && received === 0) return [none('no receiver runs: changes are found only by reading')];
  const last = last_delivery_at === null ? '' : `; the last ${ago(last_delivery_at, now)}`;
  const gone = bodies_gone === 0 ? '' : say`; ${unlessNone(bodies_gone, 'some')} bodies deleted early`;
  return [
    say`${counted(received, 'delivery', 'deliveries')}: ${number(applied)} applied, ${number(superseded)} superseded, ${unlessNone(quarantined, 'some')} in quarantine, ${number(waiting)} waiting${last}`,
    say`${megabytes(inbox.stored_bytes)} of ${megabytes(inbox.budget_bytes)}${gone}`,
  ];
}

function subscriptionState(status: string | null): Words {
  if (status === null) return none('not asked yet');
  return status === 'active' || status === 'accepted' ? marked('yes', status) : bad(status);
}

function trust({ trust: share, trusted }: SubscriptionStatus): Words {
  const text = share === null ? none('none yet') : `${Math.round(share * 100)} %`;
  return trusted === 1 ? text : [text, ' ', bad('not trusted')];
}

function closures({ unconfirmed, held: back }: MirrorStatus['closures']): Section | null {
  if (unconfirmed + back === 0) return null;
  return line(
    'Closures',
    `${counted(unconfirmed, 'product')} off sale until a read confirms the closure, ${number(back)} held back until their reads, because there are too many`,
  );
}

function gapText({ subscription_id, from_at, to_at, products }: MirrorStatus['gaps'][number], now: number): string {
  const from = subscription_id === null ? '' : `from ${subscription_id} `;
  const until = to_at === null ? ', still lasting' : `: ${number(products)} products made due so far`;
  return `nothing came ${from}for ${duration((to_at ?? now) - from_at)}${until}`;
}

/** Names the paths that the service does not have. Of those that the key may not read, a condition tells. */
function missing(not_offered: MirrorStatus['not_offered'], now: number): Section | null {
  return some(
    'Missing',
    not_offered
      .filter(({ refusal }) => refusal === 'path')
      .map(
        ({ path, since, set }) =>
          `${nameOf[path]}: not offered by the service, noticed ${ago(since, now)}; asked again by itself unless you set ${set}`,
      ),
  );
}

/** Returns how old records may become, and how many are younger; until the first fill has ended no target is missed. */
export function targetsTable(lines: readonly Freshness[], filled_at: number | null, now: number): Listing {
  return listing('How old records may become, and how many are younger', lines, {
    what: ageLabel,
    target: ({ target_ms }) => duration(target_ms),
    records: ({ records }) => records,
    share: shares,
    fresh: ({ fresh }) => fresh,
    stale: ({ stale }) => unlessNone(stale, 'some'),
    expired: ({ expired }) => unlessNone(expired, 'no'),
    oldest: ({ oldest_checked_at }) => oldest(oldest_checked_at, now),
    met: ({ met }) => (met === 1 ? marked('yes', '✓ met') : filled_at === null ? none('filling') : bad('missed')),
  });
}

function shares({ records, fresh, stale, expired }: Freshness) {
  const share = (count: number) => (records === 0 ? 0 : count / records);
  return { fresh: share(fresh), stale: share(stale), expired: share(expired), label: null };
}

function oldest(at: number | null, now: number): Words {
  if (at === null) return none('none');
  return at === 0 ? marked('some', 'never') : ago(at, now);
}

/** Says what is held, how many records claim it, and the commands that decide; null: nothing is held. */
function held(claims: readonly HeldClaims[], now: number): Section | null {
  if (claims.length === 0) return null;
  const table = listing('Too many answers take these away at once', claims, {
    claimed: (each) => [`${claimText(each)} `, code(each.subject)],
    records: ({ claiming, able }) => `${number(claiming)} of ${number(able)}`,
    limit: ({ able }) => limitOf(able),
    since: ({ since }) => ago(since, now),
    state: (each) => stateText(each, now),
    examples: examplesOf,
    'to decide, type': (each) => (isOpen(each) ? toType(each) : ''),
  });
  return { title: 'Held', says: [], tables: [{ ...table, onPage: ['examples', 'to decide, type'] }] };
}

function examplesOf({ subject, examples }: HeldClaims): Words {
  return examples.map((each, index) => {
    const [shown, said] = amountTexts(subject, each.edition, each);
    return say`${index === 0 ? '' : '; '}${marked('product', String(each.product_id))}: ${shown}, answered ${said}`;
  });
}

function toType({ subject }: HeldClaims): Words {
  return whatToType(subject).flatMap((each) => [marked('typed', each), ' ']);
}

function images({ images: shown, oldest_image_at, unconfirmed_images }: ShownStatus, now: number): Section {
  if (oldest_image_at === null) return line('Images', none('no image is shown'));
  const hidden = (at: number) => (at > now ? `in ${duration(at - now)}` : ago(at, now));
  const table = listing('Not confirmed for 12 days: the next to be hidden', unconfirmed_images, {
    product: productOf,
    images: (row) => row.images,
    confirmed: ({ verified_at }) => ago(verified_at, now),
    hidden: ({ hidden_from }) => hidden(hidden_from),
  });
  return {
    title: 'Images',
    says: [
      `${number(shown)} are shown. The oldest was confirmed ${ago(oldest_image_at, now)}; unless it is confirmed again, it is hidden ${hidden(oldest_image_at + imageLimitMs)}`,
    ],
    tables: unconfirmed_images.length === 0 ? [] : [table],
  };
}

function failing({ records, failures }: ShownStatus): Section | null {
  if (records.failing === 0 && failures.length === 0) return null;
  const table = listing('Why they failed', failures, {
    resource: ({ resource }) => resourceLabel(resource),
    records: (row) => row.records,
    'last failure': ({ failure }) => code(failure),
  });
  const says = `the last read of ${counted(records.failing, 'record')} failed; ${number(records.quarantined)} of them, in quarantine, are retried once a day`;
  return { ...line('Failing', says), tables: failures.length === 0 ? [] : [table] };
}

/** Returns a count that stands out unless it is 0. */
function unlessNone(count: number, as: 'some' | 'no'): Words {
  return count === 0 ? '0' : marked(as, number(count));
}

function none(words: string): Words {
  return marked('none', words);
}

function bad(words: string): Words {
  return marked('no', `✗ ${words}`);
}

function code(words: string): Words {
  return marked('code', words);
}

/** Returns the figure to compare with: `12,100 a week ago`; null: no hour was recorded. */
export function earlierText(earlier: OnSale | null, figure: 'sellable' | 'days', now: number): string | null {
  if (earlier === null) return null;
  const at = ago(earlier.counted_at, now);
  return `${number(earlier[figure])} ${at === '7 d ago' ? 'a week ago' : at}`;
}

/** Returns the number of bookable days, and of a week ago. */
function bookableText({ currency, days, earlier }: BookableDays, now: number): string {
  const before = earlierText(earlier, 'days', now);
  return `${counted(days, 'day')} in ${currency ?? 'no currency yet'}${before === null ? '' : `; ${before}`}`;
}

/** Names of one product and of several, by what became of it. */
const turnoverNames: readonly (readonly [of: keyof LastHour['turnover'], one: string, several: string])[] = [
  ['first_filled', 'product by the first fill', 'products by the first fill'],
  ['added', 'new product', 'new products'],
  ['withdrawn', 'product withdrawn', 'products withdrawn'],
  ['returned', 'product returned', 'products returned'],
  ['closed', 'product closed', 'products closed'],
  ['reopened', 'product opened', 'products opened'],
];

/** Names of one change and of several, by kinds of the feed. Changes without a name are counted together. */
const names: readonly (readonly [kinds: readonly string[], one: string, several: string])[] = [
  [['date_sold_out'], 'date sold out', 'dates sold out'],
  [['date_back'], 'date back', 'dates back'],
  [['date_added'], 'new date', 'new dates'],
  // Without those that the exchange rate has moved.
  [['price_changed', 'prices_changed'], 'price', 'prices'],
  [['held'], 'product held', 'products held'],
  [['image_added', 'image_withdrawn', 'image_credit_changed', 'images_changed'], 'image', 'images'],
];

/**
 * Returns the changes of the last hour: `2 dates sold out, 28 prices, 4 others`; null: there were none. A product that
 * was closed and opened again counts once, as opened.
 */
export function changesText({ changes, kinds, turnover, prices_by_rate }: LastHour): string | null {
  if (changes === 0) return null;
  const counted = (of: readonly string[]) =>
    kinds.filter(({ kind }) => of.includes(kind)).reduce((sum, each) => sum + each.changes, 0);
  const named = [
    ...turnoverNames.map(([of, one, several]) => ({ count: turnover[of], one, several })),
    ...names.map(([of, one, several]) => ({
      count: counted(of) - (of.includes('price_changed') ? prices_by_rate : 0),
      one,
      several,
    })),
    { count: prices_by_rate, one: 'price by the exchange rate', several: 'prices by the exchange rate' },
  ];
  const others = changes - named.reduce((sum, { count }) => sum + count, 0);
  return [...named, { count: others, one: 'other', several: 'others' }]
    .filter(({ count }) => count > 0)
    .map(({ count, one, several }) => `${number(count)} ${count === 1 ? one : several}`)
    .join(', ');
}
