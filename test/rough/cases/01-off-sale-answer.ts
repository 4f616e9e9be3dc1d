import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/clock.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { asNamed, configure, run } from '../program.ts';
import type { RoughCase, Subject } from '../rough-case.ts';

/** A product is closed, a date sells out, it reopens, and its dates still come from a cache of the service. */
async function reopened(subject: Subject, cached: { status: number; body: string }) {
  const sandbox = subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 5 }));
  const config = configure(subject, sandbox.url);
  const cli = (...args: string[]) => run(subject, ['--config', config, ...args]);
  const ask = <Row>(sql: string) => {
    const db = new Database(join(subject.directory, 'mirror/mirror.db'), { readonly: true });
    const rows = db.prepare<[], Row>(asNamed(db, sql)).all();
    db.close();
    return rows;
  };
  const bookableOf = (id: number) =>
    ask<{ date: string }>(`SELECT date FROM bookable_days WHERE product_id = ${id}`).map(({ date }) => date);
  await cli('resync', '--all', '--wait');
  const product = sandbox.products().find(({ id, status }) => status === 'available' && bookableOf(id).length > 20);
  if (product === undefined) throw new Error('no product with dates');
  const bookable = () => bookableOf(product.id);
  const [date = ''] = bookable();
  Object.assign(product, { status: 'unavailable', reason: 'temporary_closure' });
  await cli('resync', '--images', '--wait');
  product.sold_out.add(date);
  Object.assign(product, { status: 'available', reason: null });
  sandbox.faults.add({ kind: 'status', ...cached, path: `/${product.id}/availability` });
  const asked = await cli('resync', '--product', String(product.id), '--wait');
  const meanwhile = bookable();
  const status = await cli('status');
  const [due] = ask<{ at: number }>(
    `SELECT min(due_at) AS at FROM _record WHERE resource = 'availability' AND product_id = ${product.id}`,
  );
  const seconds = Math.round(((due?.at ?? 0) - Date.now()) / 1000);
  sandbox.faults.clear();
  await cli('resync', '--product', String(product.id), '--wait');
  const wrong = bookable().includes(date);
  return {
    green: asked.code === 69 && meanwhile.length === 0 && status.code === 1 && seconds <= 60 && !wrong,
    said:
      `resync --wait ${asked.code}, bookable meanwhile ${meanwhile.length}` +
      `${meanwhile.includes(date) ? ' with the sold-out date' : ''}, status ${status.code}, asked again in ${seconds} s`,
  };
}

export const cases: readonly RoughCase[] = [
  ['sales_enabled: false', { status: 200, body: '{"success":true,"sales_enabled":false,"dates":[],"variants":[]}' }],
  ['sales_enabled: null', { status: 200, body: '{"success":true,"sales_enabled":null,"dates":[],"variants":[]}' }],
  [
    '400 checkout_disabled',
    { status: 400, body: '{"success":false,"error_code":"checkout_disabled","message":"No."}' },
  ],
].map(([name, cached]) => ({
  point: '1',
  claim: `a reopened product is not frozen by an answer of ${name} from the service's cache`,
  run: (subject: Subject) => reopened(subject, cached as { status: number; body: string }),
}));
