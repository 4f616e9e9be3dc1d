import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { openMirror } from '../../src/mirror/mirror.ts';
import { openReader } from '../../src/storefront/reader.ts';
import { openMirrorAt, openOlderMirrorAt } from '../fakes/mirror-at.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';
import type { Contract } from './taken-away.ts';

const fixtures = new URL('../fixtures/', import.meta.url);
const text = (path: string) => readFileSync(new URL(path, fixtures), 'utf8');
/** Soon after both were filled. */
const then = Date.parse('2026-11-21T11:20:00Z');
const today = '2026-11-21';
const views = (version: number) =>
  Object.entries((JSON.parse(text(`contracts/contract-${version}.json`)) as Contract).views);

/** The file as that version left it, made from its dump. */
function olderMirror(version: number): Disposable & { readonly path: string } {
  const directory = temporaryDirectory();
  const path = join(directory.path, 'mirror.db');
  const db = new Database(path);
  db.exec(text(`mirrors/contract-${version}.sql`));
  db.close();
  return { path, [Symbol.dispose]: () => directory[Symbol.dispose]() };
}

/** What each function of the reader says: a count of rows, or why it cannot. */
function askEverything(path: string): Record<string, unknown> {
  using reader = openReader(path);
  const [first] = reader.products({});
  const id = first?.product_id ?? 0;
  const questions: Readonly<Record<string, () => unknown>> = {
    info: () => reader.info(),
    product: () => reader.product(id),
    withdrawn: () => reader.withdrawn(id),
    products: () => reader.products(),
    experiences: () => reader.experiences(),
    cities: () => reader.cities(),
    countries: () => reader.countries(),
    images: () => reader.images(id),
    checkoutInformation: () => reader.checkoutInformation(id),
    variants: () => reader.variants(id),
    calendar: () => reader.calendar(id),
    slots: () => reader.slots(id, '2026-11-23'),
    cheapest: () => reader.cheapest(id),
    search: () => reader.search({ text: 'a' }),
    find: () => reader.find({ text: 'a' }),
    alternatives: () => reader.alternatives(id),
    changes: () => reader.changes(0).changes,
    freshness: () => reader.freshness(),
    policies: () => reader.policies(),
    sellable: () => reader.sellable(id),
  };
  const ask = (question: () => unknown) => {
    try {
      const answer = question();
      return Array.isArray(answer) ? answer.length : typeof answer;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  return Object.fromEntries(Object.entries(questions).map(([name, question]) => [name, ask(question)]));
}

describe.each([1, 2])('a mirror of contract %i', (version) => {
  it('is read by the current reader, which says what that version does not have yet', () => {
    using older = olderMirror(version);
    const answers = askEverything(older.path);
    const notYet = Object.keys(answers).filter((name) => answers[name] === 'older-contract');
    expect(notYet).toEqual([
      'experiences',
      'cities',
      'countries',
      'search',
      'find',
      ...(version === 1 ? ['alternatives'] : []),
      'policies',
    ]);
    expect(answers).toMatchObject({
      products: 5,
      product: 'object',
      info: 'object',
      sellable: 'boolean',
      checkoutInformation: 'object',
    });
    expect([answers.changes, answers.freshness]).toEqual([version === 1 ? 5 : 7, 9]);
  });

  it('shows the same in every view after it is brought up to date, and everything the reader can ask', () => {
    using older = olderMirror(version);
    const columns = views(version).filter(([view]) => view !== 'mirror_info');
    const before = openOlderMirrorAt(older.path, then);
    const stood = columns.filter(([view]) =>
      before.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'view' AND name = ?").get(view),
    );
    const names = Object.fromEntries(
      stood.map(([view]) => [
        view,
        before.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(view),
      ]),
    );
    const rows = (db: Database.Database) =>
      Object.fromEntries(
        stood.map(([view, meanings]) => {
          // Since contract 5 dates of what is off sale are not counted as the oldest.
          const asked = Object.keys(meanings).filter(
            (name) => names[view]?.includes(name) && name !== 'oldest_checked_at',
          );
          const all = db.prepare<[], object>(`SELECT ${asked.join(', ')} FROM ${view}`).all();
          // Times of today that have passed were shown then, and are not any more.
          const kept = all.filter((row) => view === 'changes' || !('date' in row && String(row.date) <= today));
          return [view, kept.map((row) => JSON.stringify(row)).sort()];
        }),
      );
    const shown = rows(before);
    expect(stood.length).toBeGreaterThan(12);
    for (const view of [
      'products',
      'images',
      'availability_days',
      'availability_slots',
      'variants',
      'changes',
      'freshness',
    ])
      expect(shown[view]?.length, view).toBeGreaterThan(0);
    const options = {
      written_by: 'catalogued test',
      language: 'en',
      currency: 'EUR',
      image_size: null,
      backups: [],
      newFeedId: () => 'feed',
    };
    openMirror({ ...options, path: older.path, pair_id: 'pair' })[Symbol.dispose]();
    const after = openMirrorAt(older.path, then);
    expect(rows(after)).toEqual(shown);
    after.close();
    before.close();
    expect(Object.values(askEverything(older.path))).not.toContain('older-contract');
  });
});

it('what contract 1 offered, and what the README of its time asked, is answered by a current mirror', async () => {
  await using harness = await filledHarness({ products: 12 });
  const reader = openMirrorAt(harness.wiring.mirror.path, harness.clock.now());
  for (const [view, meanings] of views(1))
    for (const column of Object.keys(meanings)) reader.prepare(`SELECT "${column}" FROM ${view} LIMIT 1`).all();
  const statements = text('contracts/readme-1.sql')
    .split(';\n')
    .filter((statement) => statement.trim() !== '');
  expect(statements).toHaveLength(6);
  const answers = statements.map(
    (statement) => reader.prepare(statement).all({ product: 703295, date: '2026-11-25' }).length,
  );
  expect(answers.filter((rows) => rows > 0)).toHaveLength(6);
  reader.close();
});
