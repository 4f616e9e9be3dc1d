import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Shown } from '../oracle/shown.ts';
import { happens, Stage } from './stage.ts';

interface Dated {
  readonly product_id: number;
  readonly date: string;
}

const keyOf = ({ product_id, date }: Dated) => `${product_id} ${date}`;

/** Dates that a shop would call sold out although the service sells them. */
function falselySoldOut(soldOut: readonly Dated[], shown: readonly Shown[]): readonly Dated[] {
  const sold = new Set(
    shown.flatMap(({ product_id, days }) =>
      days.filter((day) => !day.sold_out).map(({ date }) => keyOf({ product_id, date })),
    ),
  );
  return soldOut.filter((each) => sold.has(keyOf(each)));
}

describe('dates', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ service: ['--products', '12'] });
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  it('that a service sells are never sold out, whatever other dates it answers for', async () => {
    const shown = await Promise.all((await stage.service.products()).map((id) => stage.service.shown(id)));
    const soldOut = () =>
      stage.rows<Dated>("SELECT product_id, date FROM availability_days WHERE state = 'sold_out' ORDER BY 1, 2");
    await stage.service.quirks({ dates: 'ignored' });
    await stage.live();
    // Of a service that ignores the dates it is asked for, the first month is known, and nothing of the others.
    await stage.rowsOnce('SELECT DISTINCT product_id FROM bookable_days', (rows) => rows.length >= 8);
    await happens(
      async () => (await stage.service.calls()).by_kind['/v2/products/{id}/availability'] ?? 0,
      (calls) => calls >= 3 * shown.length,
    );
    expect(falselySoldOut(soldOut(), shown)).toEqual([]);
    for (const dates of ['shifted', 'weeks']) {
      await stage.service.quirks({ dates });
      await stage.run('resync', '--availability');
      const before = (await stage.service.calls()).calls;
      await happens(
        async () => (await stage.service.calls()).calls,
        (calls) => calls >= before + 8,
      );
      expect(falselySoldOut(soldOut(), shown)).toEqual([]);
    }
    await stage.service.quirks({ dates: 'honoured' });
    expect((await stage.run('resync', '--all', '--wait')).code).toBe(0);
    expect(falselySoldOut(soldOut(), shown)).toEqual([]);
    // There are dates that are sold out, and one of them that the service sold would be seen (control).
    const [one] = soldOut();
    if (one === undefined) throw new Error('nothing is sold out');
    const selling = shown.map((each) =>
      each.product_id === one.product_id
        ? { ...each, days: each.days.map((day) => (day.date === one.date ? { ...day, sold_out: false } : day)) }
        : each,
    );
    expect(falselySoldOut(soldOut(), selling)).toEqual([one]);
  });

  it('that are answered as closed though their product is on sale are not bookable, are asked for within two minutes, and then are', async () => {
    const [{ product_id: closed } = { product_id: 0 }] = stage.rows<Dated>(
      'SELECT product_id FROM products WHERE sellable = 0',
    );
    const bookable = (id: number) =>
      stage.rows<Dated>('SELECT date FROM bookable_days WHERE product_id = ? ORDER BY 1', id).map(({ date }) => date);
    const resync = (id: number, what: string) => stage.run('resync', '--product', `${id}`, what, '--wait');
    // A cache of the service still answers for its dates as it did while it was closed.
    await stage.service.quirks({ faults: [{ kind: 'off-sale', path: `/${closed}/availability` }] });
    await stage.service.post(`/sandbox/products/${closed}/enable`, {});
    expect((await resync(closed, '--products')).code).toBe(0);
    expect(stage.rows('SELECT sellable FROM products WHERE product_id = ?', closed)).toEqual([{ sellable: 1 }]);
    expect(bookable(closed)).toEqual([]);
    const { records } = await stage.ask<{ records: { resource: string; due_at: number }[] }>(`/v1/explain/${closed}`);
    const due = records.filter(({ resource }) => resource === 'availability').map(({ due_at }) => due_at);
    expect(Math.max(...due)).toBeLessThanOrEqual(Date.now() + 120_000);

    await stage.service.quirks({ faults: [] });
    expect((await resync(closed, '--availability')).code).toBe(0);
    const { today, days } = await stage.service.shown(closed);
    const sold = days.filter(({ date, sold_out }) => date > today && !sold_out).map(({ date }) => date);
    expect(bookable(closed).filter((date) => date > today)).toEqual(sold);
  });
});
