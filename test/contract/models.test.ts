import { expect, it } from 'vitest';
import { models } from './models.ts';

it.each(Object.entries(models))(
  'schema/models/%s is what the contract says (npx vitest run --config test/vitest.config.ts models -u)',
  async (name, text) => {
    await expect(text).toMatchFileSnapshot(`../../schema/models/${name}`);
  },
);
