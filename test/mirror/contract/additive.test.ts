import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { contractVersion } from '../../../src/mirror/contract/contract.ts';
import { type Contract, takenAway } from './taken-away.ts';

const root = new URL('../../../', import.meta.url);
const read = (path: string) => JSON.parse(readFileSync(new URL(path, root), 'utf8')) as Contract;
const current = read('schema/contract.json');
const released = readdirSync(new URL('test/fixtures/contracts/', root)).map((name) =>
  read(`test/fixtures/contracts/${name}`),
);
const newest = released.find(({ contract_version }) => contract_version === contractVersion);

describe('the contract', () => {
  it('is kept of every version but one that is not released yet', () => {
    const kept = released.map(({ contract_version }) => contract_version).sort((a, b) => a - b);
    expect(kept).toEqual(kept.map((_, index) => index + 1));
    expect([contractVersion - 1, contractVersion]).toContain(kept.length);
  });

  it('has nothing that its version lacked when it was released: what is added raises contractVersion', () => {
    const added = newest === undefined ? [] : takenAway(current, newest);
    expect(added.map((line) => line.replace(/ is gone$/, ' is added, and contractVersion is not raised'))).toEqual([]);
  });

  it.each(released)('has everything that version $contract_version had, of the same type', (before) => {
    expect(takenAway(before, current)).toEqual([]);
  });

  it('is watched by a test that sees what was removed, renamed or changed (control)', () => {
    const planted = structuredClone(current) as unknown as {
      views: Record<string, { columns: Record<string, object> }>;
      outputs: Record<string, string[]>;
      reader: Record<string, string[]>;
    };
    delete planted.views.images;
    delete planted.views.products?.columns.title;
    Object.assign(planted.views.variants?.columns ?? {}, {
      variant_id: { type: 'text' },
      label: { type: 'text', null: 'not sent' },
      source: { type: 'text', null: 'why not' },
    });
    planted.outputs.status = (planted.outputs.status ?? []).filter((field) => field !== 'freshness');
    delete planted.reader.slots;
    const found = takenAway(current, planted as unknown as Contract);
    expect(found.filter((line) => !line.startsWith('images.'))).toEqual([
      'products.title is gone',
      'variants.variant_id was integer, is text',
      'variants.source was never null',
      'outputs status.freshness is gone',
      'reader slots is gone',
    ]);
    expect(found).toContain('images.credit is gone');
  });
});
