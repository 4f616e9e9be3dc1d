import { join } from 'node:path';
import { expect } from 'vitest';
import { follow } from '../../../src/copies/follow/follower.ts';
import { PublishedRows } from '../../../src/copies/follow/published-rows.ts';
import { connectPostgres, type Postgres } from '../../../src/copies/postgres/connect.ts';
import { Publication, type PublicationOptions } from '../../../src/copies/postgres/publication.ts';
import { contractTables } from '../../../src/feed/capture.store.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { openMirrorAt } from '../../fakes/mirror-at.ts';
import { type StartedPostgres, startPostgres } from '../../fakes/start-postgres.ts';
import { testLog } from '../../fakes/test-log.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import { type HarnessOptions, type VirtualHarness, virtualHarness } from '../../fakes/virtual-harness.ts';

/** A filled mirror, a PostgreSQL, and what publishes the one into the other. */
export interface PublishedStage extends AsyncDisposable {
  readonly harness: VirtualHarness;
  readonly mirror: string;
  readonly server: StartedPostgres;
  readonly postgres: Postgres;
  readonly options: PublicationOptions;
  readonly publication: Publication;
  /** The views that differ from the mirror's, in PostgreSQL or in a copy: each with how many rows do. */
  differing(copy?: string): Promise<Record<string, number>>;
  /** Publishes, follows once, and returns the path of the follower's copy: PostgreSQL and it show what the mirror shows. */
  followed(): Promise<string>;
  /** How many rows were compared. */
  compared(): number;
}

export async function publishedStage(
  products: number,
  config: Record<string, unknown> = {},
  overrides: Pick<HarnessOptions, 'machine'> = {},
): Promise<PublishedStage> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(startPostgres());
  const harness = stack.use(
    await virtualHarness({ products }, { rows: { publish: true }, ...config }, { start: Date.now(), ...overrides }),
  );
  await harness.fill();
  const mirror = harness.daemon.config.mirror.path;
  const postgres = stack.use(await connectPostgres({ url: server.url, schema: 'catalogued' }));
  let origins = 0;
  const options = {
    postgres,
    schema: 'catalogued',
    mirror_path: mirror,
    now: harness.clock.now,
    newOrigin: () => `origin ${++origins}`,
  };
  const publication = stack.use(new Publication(options));
  const { path: directory } = stack.use(temporaryDirectory());
  let compared = 0;
  const closing = stack.move();
  const stage: PublishedStage = {
    harness,
    mirror,
    server,
    postgres,
    options,
    publication,
    compared: () => compared,
    differing: async (copy) => {
      const now = harness.clock.now();
      const found: Record<string, number> = {};
      using stack = new DisposableStack();
      const open = (path: string) => stack.adopt(openMirrorAt(path, now), (db) => void db.close());
      const file = open(mirror);
      const other = copy === undefined ? null : open(copy);
      for (const view of sharedViews(file)) {
        const ours = linesOf(file.prepare(`SELECT * FROM ${view}`).all());
        const theirs = linesOf(other?.prepare(`SELECT * FROM ${view}`).all() ?? (await viewAt(postgres, view, now)));
        compared += ours.length;
        const rows = differences(ours, theirs);
        if (rows > 0) found[view] = rows;
      }
      return found;
    },
    followed: async () => {
      await publication.publish();
      const copy = join(directory, 'copy.db');
      const source = new PublishedRows(postgres, 'catalogued');
      const ending = new AbortController();
      const once = { ...systemClock, sleep: async () => ending.abort() };
      const { log } = testLog('silent');
      await follow({ source, path: copy, every: 250, clock: once, log, own: 1 }, ending.signal);
      expect(await stage.differing()).toEqual({});
      expect(await stage.differing(copy)).toEqual({});
      return copy;
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
  return stage;
}

/** Views that both have, and the tables without one. */
function sharedViews(file: ReturnType<typeof openMirrorAt>): string[] {
  const views = file.prepare<[], string>("SELECT name FROM main.sqlite_schema WHERE type = 'view' ORDER BY name");
  return [...views.pluck().all(), ...contractTables, 'product_places'];
}

/** What a view of PostgreSQL shows to a reader whose clock stands at `now`. */
function viewAt(postgres: Postgres, view: string, now: number) {
  return postgres.transaction(async ({ query }) => {
    await query(
      `CREATE OR REPLACE FUNCTION _now() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE RETURN ${now - (now % 1000)}::bigint`,
    );
    return await query(`SELECT * FROM ${view}`);
  });
}

/** Without what only a copy knows: when it was published, and of a table in which state each row was. */
function linesOf(rows: readonly unknown[]): string[] {
  return rows.map((row) => JSON.stringify({ ...(row as object), published_at: undefined, _state: undefined })).sort();
}

/** How many lines only one of the two has. */
function differences(ours: readonly string[], theirs: readonly string[]): number {
  const left = new Map<string, number>();
  for (const line of ours) left.set(line, (left.get(line) ?? 0) + 1);
  for (const line of theirs) left.set(line, (left.get(line) ?? 0) - 1);
  return [...left.values()].reduce((sum, count) => sum + Math.abs(count), 0);
}
