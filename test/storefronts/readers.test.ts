import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';

/** The instants of a view as an old SQLite computes them: on 3.40 `unixepoch('subsec')` is NULL, and so would be `stale`. */
it(
  'an old SQLite hides images and calls everything stale fifteen days after the daemon died',
  needs('sqlite3'),
  async () => {
    await using harness = await virtualHarness({ products: 12 }, {}, { start: Date.now() });
    await harness.fill();
    const { path } = harness.daemon.config.mirror;
    const ask = (sql: string) => execFileSync('sqlite3', ['-readonly', path, sql], { encoding: 'utf8' }).trim();
    expect(Number(ask('SELECT count(*) FROM images'))).toBeGreaterThan(20);
    const db = otherWriter(path);
    const days = 15 * 86_400_000;
    const instants = { _product_read: 'images_verified_at', _text_read: 'stale_at', date_window: 'stale_at' };
    for (const [of, at] of Object.entries(instants)) db.exec(`UPDATE ${of} SET ${at} = ${at} - ${days}`);
    expect(ask('SELECT count(*) FROM images')).toBe('0');
    expect(ask('SELECT DISTINCT stale FROM products')).toBe('1');
    expect(ask('SELECT DISTINCT stale FROM availability_days')).toBe('1');
    expect(ask("SELECT expired = records, met FROM freshness WHERE resource = 'images'")).toBe('1|0');
    // A stamp from a machine that lived in 2038 shows nothing either.
    db.exec(`UPDATE _product_read SET images_verified_at = ${Date.parse('2038-01-19')}`);
    expect(ask('SELECT count(*) FROM images')).toBe('0');
    db.close();
  },
);
