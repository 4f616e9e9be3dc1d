import { expect, test } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { publishedStage } from './stage.ts';

const hour = 3_600_000;
const shop = {
  cadence: { availability: { horizon: 31 } },
  service: { languages: ['en', 'nl'], currencies: ['EUR', 'USD'] },
};

test(
  'views in PostgreSQL show what the views of the mirror show, after a day of changes and a restart too',
  needs('postgres', 'time'),
  async () => {
    await using at = await publishedStage(4, shop);
    const first = await at.publication.publish();
    expect(first).toMatchObject({ state: 1 });
    expect(await at.differing()).toEqual({});
    for (let looks = 0; looks < 2; looks += 1) {
      await at.harness.liveUntil(at.harness.clock.now() + 12 * hour);
      if (looks === 1) await at.harness.restart();
      const next = await at.publication.publish();
      expect(next).toMatchObject({ origin: first.origin, state: looks + 2 });
      expect(next.rows).toBeLessThan(first.rows / 2);
      expect(await at.differing()).toEqual({});
    }
    expect(at.compared()).toBeGreaterThan(5_000);
    // The comparison sees what it is there for.
    await at.postgres.query(
      "UPDATE _product_text SET title = 'wrong' WHERE product_id = (SELECT min(product_id) FROM _product)",
    );
    await at.postgres.query(
      'DELETE FROM _day_document WHERE document_id = (SELECT min(document_id) FROM _day_document)',
    );
    expect(Object.keys(await at.differing())).toEqual(expect.arrayContaining(['availability_slots', 'products']));
  },
);
