import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publicationOf } from '../../src/database/publication.ts';
import { keepPublishing } from '../../src/database/publisher.ts';
import { needs } from '../fakes/needs.ts';
import { testLog } from '../fakes/test-log.ts';
import { type PublishedStage, publishedStage } from './stage.ts';

const day = 24 * 3_600_000;

describe('rows that a person deleted in PostgreSQL', needs('postgres'), () => {
  const stack = new AsyncDisposableStack();
  let at: PublishedStage;
  beforeAll(async () => {
    at = stack.use(await publishedStage(3, { cadence: { availability: { horizon: 31 } } }));
    await at.publication.publish();
  });
  afterAll(() => stack.disposeAsync());
  const spoil = () =>
    at.postgres.query('DELETE FROM _product WHERE product_id = (SELECT min(product_id) FROM _product)');

  it('are published again when a daemon starts, which says how many were missing', async () => {
    await spoil();
    expect(await at.differing()).not.toEqual({});
    const { log, lines } = testLog('info');
    using publication = publicationOf(at.options);
    await keepPublishing({ publication, clock: at.harness.clock, log, every: 1 }).publishDue();
    expect(await at.differing()).toEqual({});
    expect(lines()).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        msg: 'rows in PostgreSQL were not those of the mirror: published again',
        tables: { _product: { mirror: 3, database: 2 } },
      }),
    );
  });

  it('are published again a day after the last count, and also those that a person added', async () => {
    let now: number = at.harness.clock.now();
    using publication = publicationOf({ ...at.options, now: () => now });
    expect(await publication.publish()).toMatchObject({ repaired: {} });
    await spoil();
    now += day - 1;
    expect(await publication.publish()).toMatchObject({ repaired: {} });
    expect(await at.differing()).not.toEqual({});
    now += 1;
    expect(await publication.publish()).toMatchObject({ repaired: { _product: { mirror: 3, database: 2 } } });
    expect(await at.differing()).toEqual({});
    await at.postgres.query('INSERT INTO product_tags SELECT product_id, -1 FROM product_tags LIMIT 1');
    now += day;
    expect(Object.keys((await publication.publish()).repaired)).toEqual(['product_tags']);
    expect(await at.differing()).toEqual({});
  });

  it('are published again with a table that a person dropped', async () => {
    let now: number = at.harness.clock.now();
    using publication = publicationOf({ ...at.options, now: () => now });
    await publication.publish();
    await at.postgres.query('DROP TABLE product_tags CASCADE');
    now += day;
    expect(await publication.publish()).toMatchObject({ whole: true });
    expect(await at.differing()).toEqual({});
  });
});
