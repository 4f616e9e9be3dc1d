import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { document, section } from '../documents.ts';
import { alertRules, documentedPromises, documentedTable } from './documents.ts';

const root = new URL('../../', import.meta.url);

/** Held equal to the table; `vitest -u` writes them. */
describe('what is made from the table of conditions', () => {
  it('stands in docs/troubleshooting.md', async () => {
    const path = 'docs/troubleshooting.md';
    const [stands = ''] = /\| Condition \|[\s\S]*?(?=\n\n)/.exec(section('Conditions')) ?? [];
    const made = document(path).replace(stands, documentedTable);
    await expect(made).toMatchFileSnapshot(fileURLToPath(new URL(path, root)));
  });

  it('stands in docs/monitoring.md: because of which each target is missed', async () => {
    const path = 'docs/monitoring.md';
    const [stands = ''] = /\| Target \|[\s\S]*?(?=\n\n)/.exec(section('When a target was missed')) ?? [];
    const made = document(path).replace(stands, documentedPromises);
    await expect(made).toMatchFileSnapshot(fileURLToPath(new URL(path, root)));
  });

  it('stands in the alert rules', async () => {
    await expect(alertRules()).toMatchFileSnapshot(fileURLToPath(new URL('config/monitoring/alerts.yaml', root)));
  });
});
