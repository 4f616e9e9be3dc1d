import { describe, expect, it } from 'vitest';
import { decodeTagPage } from '../../src/service/decode-product.ts';
import { rowsAnswered } from '../fakes/standard-answers.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const world = { lean: true, products: 20 };
const bilingual = { service: { languages: ['en', 'nl'] }, cadence: { tags: '1h' } };

/** Rows that a storefront reads now. */
interface Name {
  readonly language: string;
  readonly language_shown: string;
  readonly name: string | null;
}

const namesOf = (harness: VirtualHarness, tag_id: number | undefined) =>
  harness.rows<Name>(`SELECT language, language_shown, name FROM tags WHERE tag_id = ${tag_id ?? 0} ORDER BY language`);
const stored = (harness: VirtualHarness) => harness.rows("SELECT 1 FROM tags WHERE language = 'en'").length;
const walks = ({ sandbox }: VirtualHarness) => sandbox.calls.counts().by_kind['/v2/tags'] ?? 0;
const changes = (harness: VirtualHarness, after: number) =>
  harness.rows<{ language: string | null; detail: string }>(
    `SELECT language, detail FROM changes WHERE kind = 'tags_changed' AND seq > ${after}`,
  );

describe('tags', () => {
  it('are all named in each language, in the primary one where the list in theirs has no name', async () => {
    await using harness = await virtualHarness(world, bilingual);
    await harness.fill();
    const { world: service } = harness.sandbox;
    expect(stored(harness)).toBe(service.tags().length);
    const [translated, untranslated] = [false, true].map((without) =>
      service.tags().find((id) => (id % 11 === 3) === without),
    );
    const [en, nl] = namesOf(harness, translated);
    expect(en).toEqual({ language: 'en', language_shown: 'en', name: `Tag ${translated}` });
    expect(nl).toMatchObject({ language: 'nl', language_shown: 'nl' });
    expect(nl?.name).not.toBe(en?.name);
    const english = { language_shown: 'en', name: `Tag ${untranslated}` };
    expect(namesOf(harness, untranslated)).toEqual([
      { language: 'en', ...english },
      { language: 'nl', ...english },
    ]);
  });

  it('go with their names when the list has them no more; products keep the id', async () => {
    await using harness = await virtualHarness(world, bilingual);
    await harness.fill();
    const [id = 0] = harness.sandbox.world.tags();
    const before = stored(harness);
    const after = harness.rows<{ newest: number }>('SELECT max(seq) AS newest FROM changes')[0]?.newest ?? 0;
    harness.sandbox.world.tagEdits.set(id, null);
    await harness.live(2 * hour);
    expect(stored(harness)).toBe(before - 1);
    expect(namesOf(harness, id)).toEqual([]);
    expect(harness.rows(`SELECT 1 FROM product_tags WHERE tag_id = ${id}`)).not.toEqual([]);
    expect(changes(harness, after)).toEqual([{ language: null, detail: JSON.stringify({ tag_ids: [id] }) }]);
    harness.sandbox.world.tagEdits.delete(id);
    await harness.live(2 * hour);
    expect(namesOf(harness, id)).toHaveLength(2);
  });

  it('are not asked for where their path is null', async () => {
    await using off = await virtualHarness(world, { service: { profile: { paths: { tags: null } } } });
    await off.fill();
    expect([walks(off), stored(off)]).toEqual([0, 0]);
  });
});

it('a row of the list of tags without a usable id is refused, and other members of another type are none', () => {
  const decoded = (...tags: object[]) => decodeTagPage(rowsAnswered('tags', { success: true, tags }));
  const [tag] = decoded({ id: '7', name: 9, type_name: '', type_group_name: null, order: 1 }).entries;
  expect(tag).toMatchObject({ tag_id: 7, name: null, type_name: null, type_group_name: null });
  expect(JSON.parse(tag?.document ?? '')).toMatchObject({ name: 9, order: 1 });
  expect(decoded({ name: 'No id' }, { id: 'x' }, { id: 3, name: 'Good' })).toMatchObject({
    rejected: [expect.stringContaining('row without id'), expect.stringContaining('no usable id')],
    entries: [{ tag_id: 3, name: 'Good' }],
  });
});
