import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { document, withParts } from '../../documents.ts';
import { alertRules, documentedConditions } from './documents.ts';

const root = new URL('../../../', import.meta.url);

/** Held equal to the table; `npm run generate` writes them. */
describe('what is made from the table of conditions', () => {
  it('stands in docs/reference/conditions.md', async () => {
    const path = 'docs/reference/conditions.md';
    await expect(withParts(document(path), documentedConditions)).toMatchFileSnapshot(
      fileURLToPath(new URL(path, root)),
    );
  });

  it('stands in the alert rules', async () => {
    await expect(alertRules()).toMatchFileSnapshot(fileURLToPath(new URL('config/monitoring/alerts.yaml', root)));
  });
});
