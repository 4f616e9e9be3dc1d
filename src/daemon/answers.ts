import { rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Answer } from '../admin/api.ts';
import { listedAtMost, memoryMs, type PageMemory } from '../admin/page/memory.ts';
import type { ProductView } from '../admin/page/product.ts';
import { formTokens } from '../admin/page/resync.ts';
import type { RowCopy } from '../admin/rows.ts';
import type { AdminOptions } from '../admin/server.ts';
import { findProducts } from '../catalogue/find-products.ask.ts';
import { ShownReads } from '../catalogue/product-reads.store.ts';
import type { LoadedConfig } from '../config/load.ts';
import { unwritableMs } from '../copies/postgres/lease.rules.ts';
import { costOfResync, countListed, type ResyncRequest, requestResync } from '../cycle/request-resync.ts';
import { countOnceAndRecheck } from '../desk/orders.ts';
import { ChangeFeed, type FeedChange } from '../feed/changes.store.ts';
import { RowPages } from '../feed/pages.store.ts';
import { copyInChild } from '../files/snapshot/snapshot.ts';
import { instant, systemClock } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { short } from '../kernel/format.ts';
import { readsOf } from '../kernel/sqlite/statements.ts';
import { ShownFacts } from '../mirror/reading.ts';
import { openMirrorForReading } from '../mirror/sql/files.ts';
import { listSubscriptions } from '../push/declared-subscriptions.ts';
import type { ActiveCondition } from '../says/conditions/decide.rules.ts';
import { adapterCheck, serviceChecks, zoneCheck } from '../says/doctor/doctor.ts';
import { conditionChecks, lastReload, secretChanges } from '../says/doctor/in-use.ts';
import { explainProduct } from '../says/explain/explain.ts';
import { explainDate } from '../says/explain/explain-date.ts';
import { processFigures } from '../says/metrics/process-figures.ts';
import { makePlan } from '../schedule/call-plan.ts';
import { refuseDates } from '../schedule/date-reach.ts';
import type { Sync } from '../schedule/sync.ts';
import type { SearchQuestion } from '../storefront/reader.ts';
import type { Kind, Subject } from '../trust/claims.rules.ts';
import type { Daemon } from './context.ts';
import type { JobRuns } from './job-runs.rules.ts';
import type { Mirroring } from './mirroring.ts';
import { probeThrough } from './probing.ts';
import { AnswerCache, encoded } from './reading/kept-answers.ts';
import { ReaderThread } from './reading/thread.ts';
import { hostsOf, noReplay } from './sharing/sharing.ts';
import { settingsOf, subscriptionAnswers } from './subscriptions.ts';

/** The most dates that people are shown: two weeks in two currencies. */
const datesAtMost = 28;

/** Reads the data that the page shows about a product; null: it is not mirrored. */
function productView(
  sync: Sync,
  { feed, shown }: { readonly feed: ChangeFeed; readonly shown: ShownReads },
  product_id: number,
): ProductView | null {
  const explanation = explainProduct(sync, product_id);
  if (explanation === null) return null;
  return {
    explanation,
    days: shown.days({ product_id, from: explanation.today, limit: datesAtMost }),
    images: shown.images({ product_id }),
    changes: feed.newestOf({ product_id, limit: listedAtMost }),
  };
}

/** The answers of the admin interface, for all its listeners. */
export type AdminAnswers = Omit<AdminOptions, 'listen' | 'token' | 'room'>;

/** The result of the last reload. */
export type ReloadOutcome = Answer<'GET /v1/reload'>;

/** Lets a daemon take over another configuration, or keep the current one. */
export interface Reload {
  /** Reads and checks the configuration. If it is valid and differs, it takes over after this call. */
  begin(): ReloadOutcome;
  last(): ReloadOutcome;
}

/** The reload of a daemon without a configuration file: a demo. */
export const noReload: Reload = {
  begin: () => {
    throw new CataloguedError('no-reload', 'this daemon has no configuration file to read again', {
      exitCode: exitCodes.configuration,
    });
  },
  last: () => ({ reloads: 0, asked_at: null, changed: [], refused: null }),
};

/**
 * Connects the admin interface's operations to the parts of a daemon. `resume`: a resync continues an interrupted one of
 * the same scope. Disposing closes its connections to the mirror.
 */
export function answersOf(
  daemon: Daemon,
  loaded: LoadedConfig,
  reload: Reload,
  { resume = false }: { readonly resume?: boolean } = {},
): { readonly answers: AdminAnswers } & AsyncDisposable {
  const { checks, fruitless, receiving, publishing, conditions, status, schedule, stopping } = daemon;
  const { mirror, inbox, files, sync, config, writer } = daemon;
  const { log } = sync;
  const stack = new AsyncDisposableStack();
  const reader = stack.adopt(openMirrorForReading(mirror.path), (db) => {
    db.close();
  });
  const reads = readsOf(reader);
  const facts = new ShownFacts(reads);
  const shown = new ShownReads(reads);
  const feed = new ChangeFeed(reads);
  const pages = new RowPages(reader);
  /**
   * Waits until the newest changes are published. A caller learns nothing that another instance, which continues from
   * the published state, would not know.
   */
  const published = (signal: AbortSignal = stopping) => publishing?.told(pages.newest(), signal);
  const searches = stack.use(new ReaderThread(mirror.path, 'search'));
  // The public key stands in pages: questions with it take neither the thread nor the queue of the shop's own searches.
  const threadOfReads = stack.use(new ReaderThread(mirror.path, 'reads'));
  const threadOfSearches = stack.use(new ReaderThread(mirror.path, 'search'));
  // By the machine's clock, as in the threads and in any reader of the file.
  const kept = new AnswerCache(reader, systemClock.now);
  const figures = stack.use(processFigures(sync.clock.now));
  // Accepts dates from as far back as the change feed reaches to the end of the mirrored dates.
  const withinReach = (date: string): string => {
    refuseDates(sync, { date }, { history_ms: config.retention.changes });
    return date;
  };
  const price = async (wanted: ResyncRequest) => {
    const listed = await countListed(sync, 'fill', wanted, stopping);
    return costOfResync(sync, wanted, config.budget.requests_per_second, { listed });
  };
  const resync = async (wanted: ResyncRequest) => {
    const found = await findProducts(sync, wanted.product_ids, { writer, signal: stopping });
    const { job_id, records, resumed } = await writer.by(() => requestResync(sync, wanted, { resume }));
    await published();
    log.info({ job_id, records, resumed }, 'resync requested');
    const counted = mirror.schedule.jobs.left(job_id);
    const left = costOfResync(sync, wanted, config.budget.requests_per_second, { counted });
    return { job_id, resumed, found, ...left };
  };
  const decide = async (decision: 'approved' | 'rejected', kind: Kind | Subject) => {
    const subjects = await writer.by(() => sync.evidence.decide(kind, decision));
    await published();
    log.warn({ decision, subjects }, 'held claims decided by an operator');
    return { subjects };
  };
  const answers: AdminAnswers = {
    hosts: hostsOf(config),
    log,
    now: sync.clock.now,
    shownStatus: status.shown,
    memory: () => pageMemory(daemon, { feed, started_at: figures.started_at }),
    product: (product_id) => productView(sync, { feed, shown }, product_id),
    find: (text, limit) => searches.search({ text, limit }),
    resync: { price, start: resync, tokens: formTokens(sync.entropy(32), sync.clock.now) },
    processFigures: figures.look,
    ready: () => {
      files.look();
      const trouble = daemon.sharing === null ? null : writer.status().trouble;
      // Another instance can serve better.
      if (trouble !== null && sync.clock.now() - trouble.since >= unwritableMs) return false;
      return mirror.filledAt() !== null && files.isWell('mirror') && files.isWell('inbox') && !stopping.aborted;
    },
    changes: { feed, clock: sync.clock, onChanges: (listener) => mirror.onChanges(listener) },
    copyRows: rowCopies(daemon, () => pages.refuseUnpublished(), published),
    reads: {
      represent: async (call) => {
        const thread = call.name === 'search' || call.name === 'exact' ? threadOfSearches : threadOfReads;
        const ask = () => thread.represent(call);
        // After the mirror is lost the thread reads what stands at its path.
        const found = files.isWell('mirror') ? await kept.of(call, ask) : encoded(await ask());
        const { matched } = found;
        // Safe cast: the question is that of `reader.search`.
        if (matched !== null) fruitless.note(call.asked[0] as SearchQuestion, { matched });
        return found;
      },
    },
    answers: {
      'GET /v1/status': status.shown,
      'GET /v1/conditions': async ({ query: { from } }) => ({
        conditions: (await status.shown()).conditions,
        periods: inbox.conditions.flips({ from: instant(from) }),
      }),
      'POST /v1/conditions/{code}/acknowledge': async ({ path: { code }, body: { because } }) => {
        const facts = await status.shown();
        const done = await writer.by(() => conditions.acknowledge(facts, code, because));
        if (!done) return doesNotHold(code, facts.conditions);
        log.info({ condition: code, because: short(because) }, 'condition acknowledged by an operator');
        return { conditions: (await status.shown()).conditions };
      },
      'GET /v1/plan': () => makePlan(sync),
      'GET /v1/explain/{id}': ({ path: { id }, query: { date } }) => {
        const found = explainProduct(sync, id);
        return date === undefined ? found : explainDate(facts, id, withinReach(date), found?.claims);
      },
      'GET /v1/rows': async ({ query }) => {
        const page = (await publishing?.rows(query, pages)) ?? pages.after(query, sync.clock.now());
        if (page === 'begun-anew') throw begunAnew();
        return page;
      },
      'POST /v1/check': async ({ body }, signal) => {
        refuseDates(sync, { date: body.date });
        return await checks.check(body, signal);
      },
      'POST /v1/search': async ({ body }) => {
        const found = await searches.search(body);
        fruitless.note(body, found);
        return found;
      },
      'POST /v1/orders': ({ body }) => writer.by(() => countOnceAndRecheck(checks, inbox.orders, body, stopping)),
      'POST /v1/seen': ({ body }) => checks.views.seen(body),
      'POST /v1/resync': async ({ body: { dry_run, ...wanted } }) =>
        dry_run ? { job_id: null, resumed: false, found: [], ...(await price(wanted)) } : resync(wanted),
      'GET /v1/jobs/{id}': ({ path: { id } }) => {
        const job = mirror.schedule.jobs.find({ job_id: Number(id) });
        return job === null ? null : { ...job, next_due_at: mirror.schedule.records.nextDueAt(job.job_id) };
      },
      'GET /v1/schedule': () => ({ jobs: schedule.list() }),
      'POST /v1/schedule/{name}/run': async ({ path: { name } }) => {
        log.info({ job: short(name, 40) }, 'job requested by an operator');
        return (await schedule.run(name)) ?? unknownJob(name, schedule.list());
      },
      'POST /v1/reload': () => reload.begin(),
      'GET /v1/reload': () => reload.last(),
      'GET /v1/held': () => ({ held: mirror.evidence.held() }),
      'POST /v1/held/approve': ({ body: { kind } }) => decide('approved', kind),
      'POST /v1/held/reject': ({ body: { kind } }) => decide('rejected', kind),
      'GET /v1/subscriptions': () => listSubscriptions(facts, settingsOf(config)),
      ...subscriptionAnswers(daemon.subscriptions),
      'POST /v1/notifications/replay': async ({ body: { since } }) => {
        if (daemon.sharing !== null) throw noReplay();
        const deliveries = await writer.by(() => inbox.deliveries.replay(instant(since), sync.clock.now()));
        // Not awaited if the mirror cannot be written: the deliveries are stored, and applied later.
        if (writer.status().trouble === null) await receiving?.apply();
        else void receiving?.apply();
        return { deliveries };
      },
      'GET /v1/doctor': async (_, signal) => {
        files.look();
        const probes = {
          config,
          probe: daemon.probe,
          offset: daemon.serviceClock.offset,
          subscriptions: daemon.subscriptions,
          notOffered: daemon.notOffered,
          peers: receiving?.peers ?? null,
        };
        const findings = [
          secretChanges(loaded),
          adapterCheck('adapter in use', loaded.adapter),
          ...lastReload(reload.last().refused),
          zoneCheck(daemon.zones.releases, daemon.zones.differing),
          ...(await serviceChecks(probes, signal)),
        ];
        return [...findings, ...conditionChecks((await status.shown()).conditions, findings)];
      },
      'POST /v1/probe': (_, signal) => probeThrough(daemon, config, AbortSignal.any([signal, stopping])),
    },
  };
  return { answers, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

function unknownJob(name: string, jobs: readonly JobRuns[]): never {
  const names = jobs.map((job) => job.name).join(', ');
  throw new CataloguedError(
    'unknown-job',
    `there is no job ${JSON.stringify(short(name, 40))}; the jobs are ${names}`,
    { exitCode: exitCodes.usage, hint: 'see when each of them runs: catalogued jobs' },
  );
}

function doesNotHold(code: string, held: readonly ActiveCondition[]): never {
  const named = held.map((each) => each.code).join(', ');
  throw new CataloguedError(
    'unknown-condition',
    `the condition ${JSON.stringify(short(code, 40))} is not shown now; ${named === '' ? 'none is shown' : `these are shown: ${named}`}`,
    { exitCode: exitCodes.usage, hint: 'see the conditions: catalogued status' },
  );
}

/** Reads the data that the page shows in addition to the status. Leaves out data of a file that is lost or damaged. */
function pageMemory(
  { mirror, inbox, files, sync }: Mirroring,
  { feed, started_at }: { readonly feed: ChangeFeed; readonly started_at: number },
): PageMemory {
  const [mirrored, received] = [files.isWell('mirror'), files.isWell('inbox')];
  const { conditions, deliveries } = inbox;
  const from = instant(sync.clock.now() - memoryMs);
  const titleOf = ({ product_id }: FeedChange) => mirror.catalogue.products.shown(product_id)?.title ?? null;
  return {
    started_at,
    conditions: received ? { watched_since: conditions.watchedSince(), periods: conditions.flips({ from }) } : null,
    resyncs: mirrored ? mirror.schedule.jobs.unfinished() : [],
    changes: mirrored
      ? feed.newest({ limit: listedAtMost }).map((change) => ({ ...change, title: titleOf(change) }))
      : [],
    deliveries: received ? deliveries.list({ since: null, state: null, limit: listedAtMost }) : [],
  };
}

/**
 * Returns a function that makes copies with which followers begin, in a separate process, one at a time. A second
 * request meanwhile is refused (503). The copy's name is removed before it is sent, so that nothing is left of it even
 * if the daemon is killed. `refuse` throws if no rows are published; if `made` rejects, the copy is not sent.
 */
function rowCopies(
  { mirror, config, sync: { clock }, publishing, stopping }: Daemon,
  refuse: () => void,
  made: () => Promise<void> | undefined,
): () => Promise<RowCopy> {
  let under_way = false;
  return async () => {
    refuse();
    if (under_way) throw busy();
    under_way = true;
    const path = join(config.mirror.state_dir, 'follow.db');
    try {
      const published_at = clock.now();
      const standing = (await publishing?.standing()) ?? null;
      const { bytes } = await copyInChild(mirror.path, path, stopping, standing);
      await made();
      return { file: await open(path, 'r'), bytes, published_at };
    } finally {
      rmSync(path, { force: true });
      under_way = false;
    }
  };
}

function begunAnew(): CataloguedError {
  return new CataloguedError('rows-begun-anew', 'these rows are forgotten, or of another file', {
    exitCode: exitCodes.data,
    hint: 'begin with a new copy: GET /v1/rows/copy',
  });
}

function busy(): CataloguedError {
  return new CataloguedError('copy-under-way', 'a copy is being made for another follower', {
    exitCode: exitCodes.retryLater,
    hint: 'ask again in a few seconds',
  });
}
