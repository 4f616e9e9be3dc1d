import { expect, it } from 'vitest';
import { testMirror } from '../fakes/test-mirror.ts';

it('a mirror of an older version knows as views what it had counted of sales and checks, and surveys anew', () => {
  const surveyed = '{"demand":{"prices":[1],"asked":[1]},"promised":1,"floor":1}';
  using test = testMirror({
    migrations: 32,
    rows: `INSERT INTO _product (product_id, sale_status, first_seen_at, read_at, sold, sold_at, asked, asked_at) VALUES
        (7, 'enabled', 0, 0, 3, 1000, 5, 2000), (8, 'enabled', 0, 0, 0, NULL, 4, 3000), (9, 'enabled', 0, 0, 0, NULL, 0, NULL);
      UPDATE _budget SET demand = '${surveyed}', surveyed_at = 5000`,
  });
  const windows = (product_id: number) => test.mirror.interest.of(product_id).windows;
  expect(windows(7)).toEqual([{ part: -1, views: 35, counted_at: 2000 }]);
  expect(windows(8)).toEqual([{ part: -1, views: 4, counted_at: 3000 }]);
  expect(windows(9)).toEqual([]);
  expect([test.mirror.budget.demand(), test.mirror.budget.surveyedAt()]).toEqual([null, null]);
});
