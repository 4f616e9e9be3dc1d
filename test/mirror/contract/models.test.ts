import { expect, it } from 'vitest';
import { models } from './models.ts';

it.each(Object.entries(models))('schema/models/%s is what the contract says (npm run generate)', async (name, text) => {
  await expect(text).toMatchFileSnapshot(`../../../schema/models/${name}`);
});
