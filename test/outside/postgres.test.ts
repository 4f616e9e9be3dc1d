import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { cli } from '../fakes/built-program.ts';
import { freePort } from '../fakes/free-port.ts';
import { needs } from '../fakes/needs.ts';
import { type RunningCli, runCli, startCli } from '../fakes/run-cli.ts';
import { startPostgres } from '../fakes/start-postgres.ts';
import { ask, happens, Service } from './stage.ts';

type Row = Readonly<Record<string, unknown>>;

/** A daemon with files of its own, as on a host of its own. */
interface Instance {
  readonly mirror: string;
  readonly config: string;
  readonly admin: string;
  readonly running: RunningCli;
  /** Counts the calls of the service that it has made. */
  calls(): number;
}

const views = [
  'products',
  'product_prices',
  'variants',
  'images',
  'experiences',
  'availability_days',
  'availability_slots',
];
const { views: described } = JSON.parse(readFileSync(join(dirname(cli), '../schema/contract.json'), 'utf8')) as {
  views: Record<string, { columns: Record<string, { clock?: true }> }>;
};
/** Columns that the clock does not change. */
const columnsOf = (view: string) =>
  Object.entries(described[view]?.columns ?? {}).flatMap(([name, { clock }]) => (clock === true ? [] : [`"${name}"`]));

/** PostgreSQL returns whole numbers as text. */
const linesOf = (rows: readonly Row[]) => rows.map((row) => Object.values(row).map(String).join('|')).sort();

describe('two instances that share a PostgreSQL', needs('postgres'), () => {
  const stack = new AsyncDisposableStack();
  const token = 'the-token-of-operators-of-both-instances';
  let service: Service;
  let client: pg.Client;
  let env: Record<string, string>;
  let product_id: number;
  let leader: Instance;
  let other: Instance;

  beforeAll(async () => {
    const server = stack.use(startPostgres());
    env = { CATALOGUED_DATABASE_URL: server.url, CATALOGUED_ADMIN_TOKEN: token };
    const directory = mkdtempSync(join(tmpdir(), 'outside-'));
    stack.defer(() => rmSync(directory, { recursive: true, force: true }));
    service = stack.use(await Service.start(directory, ['--products', '3']));
    [product_id] = (await service.get<[number]>('/sandbox/products')) as [number];
    leader = await started(join(directory, 'a'));
    await happens(() => isReady(leader), Boolean);
    other = await started(join(directory, 'b'));
    await happens(() => isReady(other), Boolean);
    client = new pg.Client({ connectionString: server.url, options: '-c search_path=catalogued' });
    await client.connect();
    stack.defer(() => client.end());
  });
  afterAll(() => stack.disposeAsync());

  async function started(directory: string): Promise<Instance> {
    const admin = `127.0.0.1:${await freePort()}`;
    let calls = 0;
    const door = createServer(async (incoming, response) => {
      calls += 1;
      const answer = await ask(service.url, incoming.url ?? '/');
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.text);
    }).listen(0, '127.0.0.1');
    await once(door, 'listening');
    stack.defer(() => door.closeAllConnections());
    stack.defer(() => void door.close());
    mkdirSync(directory);
    const [config, mirror] = [join(directory, 'catalogued.yaml'), join(directory, 'mirror', 'mirror.db')];
    const settings = {
      service: {
        base_url: `http://127.0.0.1:${(door.address() as AddressInfo).port}`,
        profile: { authorization: { header: null } },
      },
      mirror: { path: mirror, state_dir: join(directory, 'state') },
      budget: { requests_per_second: 1000, share: 0, audit: 0 },
      backup: { at: null },
      admin: { listen: admin },
      instance: { name: directory.at(-1), advertise: `http://${admin}` },
    };
    writeFileSync(config, stringify(settings));
    const running = startCli(['--config', config, 'run'], { cwd: directory, env });
    stack.defer(async () => {
      running.child.kill('SIGCONT');
      await running.end('SIGKILL');
    });
    return { mirror, config, admin: `http://${admin}`, running, calls: () => calls };
  }

  const isReady = ({ admin }: Instance) =>
    ask(admin, '/readyz').then(
      ({ status }) => status === 200,
      () => false,
    );

  function rowsIn<Rows extends Row>({ mirror }: Instance, sql: string): Rows[] {
    const db = new Database(mirror, { readonly: true });
    try {
      return db.prepare<[], Rows>(sql).all();
    } finally {
      db.close();
    }
  }

  const published = async (sql: string) => (await client.query<Row>(sql)).rows;
  const titleSql = () => `SELECT title FROM products WHERE product_id = ${product_id}`;

  /** The service changes a title, and an instance is told to read it: who leads does. */
  async function retitled(at: Instance, title: string): Promise<void> {
    await service.post(`/sandbox/products/${product_id}/edit`, { field: 'title', value: title });
    const question = {
      headers: { authorization: `Bearer ${token}` },
      body: { resources: ['products'], product_ids: [product_id] },
    };
    // While nobody leads, no instance can take it.
    await happens(
      () =>
        ask(at.admin, '/v1/resync', question).then(
          ({ status }) => status,
          () => 0,
        ),
      (status) => status === 200,
    );
    await happens(
      () => published(titleSql()),
      ([row]) => row?.title === title,
    );
    await happens(
      () => rowsIn(at, titleSql()),
      ([row]) => row?.title === title,
    );
  }

  it('publish what the mirror shows, row by row, and readers see whole states only', async () => {
    const states = new Set<string>();
    let isOver = false;
    const reading = (async () => {
      while (!isOver) {
        const [row] = await published(
          `SELECT title, (SELECT count(*) FROM changes WHERE kind = 'product_changed') AS changes, pg_sleep(0.01) IS NULL
           FROM products WHERE product_id = ${product_id}`,
        );
        states.add(`${String(row?.title)}, ${String(row?.changes)}`);
      }
    })();
    for (const number of [1, 2, 3]) await retitled(number === 2 ? other : leader, `State ${number}`);
    isOver = true;
    await reading;
    expect([...states].slice(1)).toEqual(['State 1, 1', 'State 2, 2', 'State 3, 3']);
    const differing = async (missing = '') => {
      const found: string[] = [];
      for (const view of views) {
        const sql = `SELECT ${columnsOf(view)} FROM ${view}`;
        const ours = linesOf(rowsIn(leader, sql));
        expect(ours.length, view).toBeGreaterThan(0);
        if (linesOf(await published(`${sql} ${view === missing ? 'OFFSET 1' : ''}`)).join() !== ours.join())
          found.push(view);
      }
      return found;
    };
    expect(await differing()).toEqual([]);
    // A row that is missing is seen (control).
    expect(await differing('images')).toEqual(['images']);
    const verify = await runCli(['--config', leader.config, 'database', 'verify'], {
      cwd: dirname(leader.config),
      env,
    });
    expect(verify.code).toBe(0);
  });

  it('have one that calls the service: another takes over when it stands still, and it calls nothing when it wakes up', async () => {
    expect([leader.calls() > 0, other.calls()]).toEqual([true, 0]);
    leader.running.child.kill('SIGSTOP');
    await retitled(other, 'Read by the other one');
    const before = leader.calls();
    expect(other.calls()).toBeGreaterThan(0);
    leader.running.child.kill('SIGCONT');
    await happens(
      () => rowsIn(leader, titleSql()),
      ([row]) => row?.title === 'Read by the other one',
    );
    await happens(() => isReady(leader), Boolean);
    expect(leader.calls()).toBe(before);
    // And back, when the other one is killed.
    await other.running.end('SIGKILL');
    await retitled(leader, 'Read by the first one again');
    expect(leader.calls()).toBeGreaterThan(before);
  });
});
