import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/clock.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { configure, moduleOf, run } from '../program.ts';
import type { RoughCase } from '../rough-case.ts';

type Lanes = { laneOf(key: { resource: string; part: number }, reason: string): string };
type Closures = {
  closureTable(db: object): {
    put(closure: object): void;
    confirmed(closure_id: number, at: number): void;
    inForce(product_id: number): { closure_id: number; alternative_product_id: number | null } | null;
  };
};
/** A version that has it wants its tables to be given this. */
type Statements = { writesTo(db: Database.Database): object };
type Coverage = { healGaps(ports: object): void };

export const cases: readonly RoughCase[] = [
  {
    point: '13 closure-alternative',
    claim: 'a second closure of a confirmed one keeps its alternative',
    run: async (subject) => {
      const sandbox = subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 3 }));
      const config = configure(subject, sandbox.url);
      await run(subject, ['--config', config, 'resync', '--products', '--wait'], { ms: 30_000 });
      const { closureTable } = (await import(moduleOf(subject.root, 'src/mirror/closures.ts'))) as Closures;
      const db = new Database(join(subject.directory, 'mirror', 'mirror.db'));
      subject.stack.defer(() => void db.close());
      const product_id = sandbox.products()[0]?.id ?? 0;
      const statements = join(subject.root, 'src/sqlite/statements.ts');
      const given = existsSync(statements) ? ((await import(statements)) as Statements).writesTo(db) : db;
      const closures = closureTable(given);
      const words = { reason: 'out_of_season', expected_reopening: null };
      const closure = { product_id, delivery_id: 1, notified_at: 1000, applied_at: 1000, available_at: null, ...words };
      db.transaction(() => {
        closures.put({ ...closure, alternative_product_id: 7 });
        closures.confirmed(closures.inForce(product_id)?.closure_id ?? 0, 2000);
        closures.put({ ...closure, delivery_id: 2, notified_at: 3000, alternative_product_id: null });
      })();
      const kept = closures.inForce(product_id)?.alternative_product_id ?? null;
      return { green: kept === 7, said: `its alternative is ${kept}` };
    },
  },
  {
    point: '13 missed-closures',
    claim: 'after a gap the list, which shows missed closures, is read before every sweep',
    run: async ({ root }) => {
      const { laneOf } = (await import(moduleOf(root, 'src/domain/lanes.ts'))) as Lanes;
      const lane = laneOf({ resource: 'products', part: 0 }, 'gap-healing');
      return { green: lane === 'notification', said: `it is read in the lane ${lane}` };
    },
  },
  {
    point: '13 gap-dates',
    claim: 'a gap is healed with availability too',
    run: async ({ root }) => {
      const { healGaps } = (await import(moduleOf(root, 'src/sync/coverage.ts'))) as Coverage;
      const brought = new Set<string>();
      const records = {
        bringForward: ({ kinds }: { kinds: readonly { resource: string }[] }) => {
          for (const { resource } of kinds) brought.add(resource);
        },
      };
      const gap = { gap_id: 1, subscription_id: null, from_at: 0, to_at: 1, healed_to: 0, products: 0 };
      const trust = { broken: () => [], mended: () => [], toHeal: () => gap, concerned: () => [1], healed: () => {} };
      healGaps({
        mirror: { transaction: (work: () => void) => work(), trust, records },
        clock: { now: () => 2 },
        log: { info: () => {} },
        policy: {
          ceiling: 10,
          extent: {
            languages: ['en'],
            currencies: ['EUR'],
            windows: [{ part: 0 }],
            resources: new Set(['product_detail', 'checkout_information', 'variants', 'availability']),
          },
        },
      });
      return { green: brought.has('availability'), said: `it reads ${[...brought].join(', ')}` };
    },
  },
];
