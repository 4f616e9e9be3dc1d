import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/clock.ts';
import type { Habits } from '../../../src/sandbox/rough/habits.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { configure, run } from '../program.ts';
import type { RoughCase, Subject } from '../rough-case.ts';

/** Dates that the mirror calls sold out and the service sells, after reads that were answered for other dates. */
async function read(subject: Subject, habits: Partial<Habits>) {
  const sandbox = subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 5 }));
  const config = configure(subject, sandbox.url);
  await run(subject, ['--config', config, 'resync', '--all', '--wait']);
  sandbox.setHabits(habits);
  // It tries again what failed: that is not waited for.
  const asked = await run(subject, ['--config', config, 'resync', '--availability', '--wait'], { ms: 12_000 });
  const db = new Database(join(subject.directory, 'mirror/mirror.db'), { readonly: true });
  const rows = db
    .prepare<[], { product_id: number; date: string }>(
      "SELECT product_id, date FROM availability_days WHERE state = 'sold_out'",
    )
    .all();
  const [{ shown = 0 } = {}] = db.prepare<[], { shown: number }>('SELECT count(*) AS shown FROM bookable_days').all();
  db.close();
  const sold = rows.filter(({ product_id, date }) => {
    const product = sandbox.world.visible().find(({ id }) => id === product_id);
    return product !== undefined && sandbox.world.days(product, date, date, 'EUR').length > 0;
  });
  const ended = asked.code === 0 ? 'read' : asked.code === 'SIGKILL' ? 'tried again' : `ended with ${asked.code}`;
  return { wrong: sold.length, shown, ended };
}

export const cases: readonly RoughCase[] = [
  ...(['ignored', 'shifted'] as const).map((dates) => ({
    point: '2',
    claim: `a service that has start_date and end_date ${dates} turns nothing into sold out`,
    run: async (subject: Subject) => {
      const { wrong, shown, ended } = await read(subject, { dates });
      return { green: wrong === 0 && shown > 0, said: `${wrong} dates falsely sold out, ${shown} bookable; ${ended}` };
    },
  })),
  {
    point: '2',
    claim: 'a service that rounds to whole weeks and repeats dates is read',
    run: async (subject) => {
      const { wrong, shown, ended } = await read(subject, { date_order: 'repeated', dates: 'weeks' });
      return { green: wrong === 0 && ended === 'read', said: `${wrong} falsely sold out, ${shown} bookable; ${ended}` };
    },
  },
];
