import { describe, expect, it } from 'vitest';
import { type Shown, Stage } from './stage.ts';

describe('a filled mirror', () => {
  it('shows every product and date that the service sells, at its price, and none that it does not sell', async () => {
    await using stage = await Stage.open({ service: ['--products', '8'] });
    await stage.filled();
    const ids = await stage.service.get<number[]>('/sandbox/products');
    const mirrored = stage.rows<{ product_id: number }>('SELECT product_id FROM products ORDER BY 1');
    expect(mirrored.map(({ product_id }) => product_id)).toEqual(ids);
    const shown = await Promise.all(ids.map((id) => stage.service.shown(id)));
    expect(shown.map((each) => differing(stage, each))).toEqual(ids.map(() => []));
    // The comparison sees another price, and one date that is sold out (control).
    const selling = shown.find(({ sale_status }) => sale_status === 'available');
    if (selling === undefined) throw new Error('nothing is on sale');
    const soldOut = selling.days.map((day, index) => (index === 5 ? { ...day, sold_out: !day.sold_out } : day));
    expect(differing(stage, { ...selling, from_price: selling.from_price + 1, days: soldOut })).toEqual([
      'price',
      'dates',
    ]);
  });
});

/** Names what a storefront shows otherwise than the service. */
function differing(stage: Stage, { product_id, today, days, from_price, sale_status }: Shown): string[] {
  const [product] = stage.rows<{ from_price: number; sellable: number }>(
    'SELECT from_price, sellable FROM products WHERE product_id = ?',
    product_id,
  );
  const dates = stage.rows<{ date: string }>(
    "SELECT date FROM availability_days WHERE product_id = ? AND state = 'available' AND date > ? ORDER BY date",
    product_id,
    today,
  );
  // Of today the times that have begun are gone, at an hour that the test does not choose.
  const sold = days.filter(({ date, sold_out }) => date > today && !sold_out).map(({ date }) => date);
  return [
    ...(product?.from_price === from_price ? [] : ['price']),
    ...((product?.sellable === 1) === (sale_status === 'available') ? [] : ['sellable']),
    ...(dates.map(({ date }) => date).join() === sold.join() ? [] : ['dates']),
  ];
}
