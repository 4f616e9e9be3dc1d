import { expect, it } from 'vitest';
import { happens, Stage } from './stage.ts';

/** Answers that nobody can use, one kind for each product. */
const unusable = [
  { kind: 'status', status: 500 },
  { kind: 'status', status: 200, body: '{}' },
  { kind: 'status', status: 200, body: 'null' },
  { kind: 'garbage' },
  { kind: 'html' },
  { kind: 'truncate' },
  { kind: 'success-false' },
  { kind: 'missing-array' },
  { kind: 'invalid-utf8' },
  { kind: 'reset' },
  { kind: 'redirect' },
];

interface Explained {
  readonly records: readonly { readonly resource: string; readonly failures: number }[];
}

const views = ['products', 'checkout_information', 'variants', 'images'];

it('an unusable answer changes no cell, and one that can be used does', async () => {
  await using stage = await Stage.open({ service: ['--products', '24'] });
  await stage.filled();
  const cells = (product_id: number) =>
    views.map((view) => stage.rows(`SELECT * FROM ${view} WHERE product_id = ?`, product_id));
  // Others are answered, so that the service counts as one that answers.
  const ids = (await stage.service.products()).filter((_, index) => index % 2 === 0).slice(0, unusable.length);
  const before = ids.map(cells);
  // What the service has changed meanwhile would show, if an answer were believed.
  for (const id of ids)
    await stage.service.post(`/sandbox/products/${id}/edit`, { field: 'must_know', value: 'Other.' });
  const faults = unusable.map((fault, index) => ({ ...fault, path: `^/v2/products/${ids[index]}[/?]` }));
  await stage.service.quirks({ faults });
  expect((await stage.run('resync', '--checkout')).code).toBe(0);
  for (const id of ids)
    await happens(
      async () => (await stage.ask<Explained>(`/v1/explain/${id}`)).records,
      (records) => records.some(({ resource, failures }) => resource === 'checkout_information' && failures > 0),
    );
  expect(ids.map(cells)).toEqual(before);

  await stage.service.quirks({ faults: [] });
  const [first = 0] = ids;
  expect((await stage.run('resync', '--product', `${first}`, '--checkout', '--wait')).code).toBe(0);
  expect(cells(first)).not.toEqual(before[0]);
});
