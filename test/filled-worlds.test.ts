import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { FilledWorlds, type WorldState } from './fakes/filled-worlds.ts';
import { temporaryDirectory } from './fakes/test-mirror.ts';
import { filledHarness, type VirtualHarness, virtualHarness } from './fakes/virtual-harness.ts';

const hour = 3_600_000;

/** The cell that tells one file from another. */
const ofFile = ['inbox.mirror_inode'];
/** Cells that a daemon writes when it ends. */
const atEnd = ['inbox.stopped_at', 'inbox.feed_newest', '_budget.state'];

/** Returns the cells of every table of both files, by table, but those that are `left` out. */
function contentOf({ daemon }: VirtualHarness, left: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    [daemon.config.mirror.path, daemon.config.mirror.inbox_path].flatMap((path) => {
      const db = new Database(path, { readonly: true });
      const tables = db
        .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        .pluck()
        .all();
      const content = tables.map((table) => {
        const columns = db.pragma(`table_info(${table})`) as { name: string }[];
        const kept = columns.map(({ name }) => name).filter((name) => !left.includes(`${table}.${name}`));
        return [table, db.prepare(`SELECT ${kept.join(', ')} FROM ${table}`).all()];
      });
      db.close();
      return content;
    }),
  );
}

/** Names the tables in which two worlds differ. */
function differing(one: VirtualHarness, other: VirtualHarness, left_out = ofFile): string[] {
  const [left, right] = [contentOf(one, left_out), contentOf(other, left_out)];
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].filter((name) => JSON.stringify(left[name]) !== JSON.stringify(right[name]));
}

describe('a world that was copied', () => {
  it('is the same as one that filled itself, and stays so for six hours', async () => {
    await using own = await virtualHarness({ products: 9 });
    await own.fill();
    await using copied = await filledHarness({ products: 9 });
    expect(copied.clock.now()).toBe(own.clock.now());
    expect(differing(own, copied, [...ofFile, ...atEnd])).toEqual([]);
    await own.restart();
    expect(differing(own, copied)).toEqual([]);
    for (const world of [own, copied]) await world.live(6 * hour);
    expect(differing(own, copied)).toEqual([]);
    expect((await copied.compare()).first).toEqual([]);
  });

  it('differs from one with another option, and from one that has lived on (controls)', async () => {
    await using copied = await filledHarness({ products: 9 });
    await using other = await filledHarness({ products: 10 });
    expect(differing(copied, other)).toContain('_product');
    await using later = await filledHarness({ products: 9 });
    expect(differing(copied, later)).toEqual([]);
    await later.live(6 * hour);
    expect(differing(copied, later)).toContain('_record');
  });
});

const empty: WorldState = { elapsed: 5, chance: 6, entropy: 7 };

/** Writes the files of a world without any content. */
function emptyWorld(path: string): WorldState {
  for (const file of ['mirror/mirror.db', 'state/inbox.db']) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    const db = new Database(join(path, file));
    db.exec('CREATE TABLE inbox (mirror_inode TEXT)');
    db.close();
  }
  return empty;
}

describe('the worlds of a run', () => {
  it('are made once for each key, also where two ask at once, and none is left half made', async () => {
    using place = temporaryDirectory();
    const directory = join(place.path, 'worlds');
    const workers = [0, 1].map(() => new FilledWorlds(directory, import.meta.dirname, ['fakes/*.ts']));
    let made = 0;
    const ask = (worlds: FilledWorlds, copy: string, parts: unknown) =>
      worlds.copyTo(join(place.path, copy), worlds.key(parts), async (path) => {
        made += 1;
        return emptyWorld(path);
      });
    const both = await Promise.all(workers.map((worlds, index) => ask(worlds, `copy-${index}`, { products: 1 })));
    expect(both).toEqual([empty, empty]);
    const before = made;
    for (const worlds of workers) await ask(worlds, 'later', { products: 1 });
    expect(made).toBe(before);
    await Promise.all(workers.map((worlds, index) => ask(worlds, `other-${index}`, { products: 2 })));
    expect(made).toBeGreaterThan(before);
    expect(readdirSync(directory)).toHaveLength(2);
    expect(existsSync(join(place.path, 'copy-1', 'mirror', 'mirror.db'))).toBe(true);
  });

  it('have other keys where an option, a part of the configuration or a source differs', () => {
    using place = temporaryDirectory();
    cpSync(join(import.meta.dirname, 'fakes'), place.path, { recursive: true });
    const keyOf = (parts: unknown) => new FilledWorlds(null, place.path, ['*.ts']).key(parts);
    const parts = { sandbox: { products: 3 }, config: { scheduling: 'fixed' }, start: 1 };
    const keys = [
      keyOf(parts),
      keyOf({ ...parts, sandbox: { products: 4 } }),
      keyOf({ ...parts, config: {} }),
      keyOf({ ...parts, start: 2 }),
    ];
    expect(keyOf(structuredClone(parts))).toBe(keys[0]);
    expect(keyOf({ start: 1, config: parts.config, sandbox: parts.sandbox })).toBe(keys[0]);
    writeFileSync(join(place.path, 'network.ts'), '// another');
    keys.push(keyOf(parts));
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('have no key where an option is a function', () => {
    const worlds = new FilledWorlds(null, import.meta.dirname, ['fakes/*.ts']);
    expect(() => worlds.key({ sandbox: { image: () => 1 } })).toThrow('image is a function');
  });
});
