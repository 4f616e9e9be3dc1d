import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { openMirrorForReading } from '../../src/mirror/sql/files.ts';
import { document } from '../documents.ts';
import { needs } from '../fakes/needs.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { standingCopy } from '../fakes/standing-copy.ts';
import { temporaryDirectory, testMirror } from '../fakes/test-mirror.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';
import { writeScripts } from '../worlds/copies/script.ts';

const page = 'docs/storefront.md';
const programs = { php: 'php', python3: 'py', [process.execPath]: 'mjs' };

it(
  'the storefront of docs/storefront.md answers the same in PHP, Python and Node',
  needs('php', 'python3'),
  async () => {
    using directory = temporaryDirectory();
    const { path } = directory;
    for (const [, code = '', name] of document(page).matchAll(
      /```(?:php|python)\n((?:<\?php\n)?\W+(storefront\.\w+):.*?)```/gs,
    ))
      writeFileSync(`${path}/${name}`, code);
    writeScripts(path, page);
    const env = { ...process.env, MIRROR: `${path}/mirror.db`, SOCKET: `${path}/daemon.sock` };

    await using harness = await virtualHarness({ products: 24 });
    const [open, grouped, closed, old] = harness.sandbox.products().filter(({ status }) => status === 'available');
    if (!open || !grouped || !closed || !old) throw new Error('too few products');
    grouped.variants = grouped.variants.map((variant) => ({ ...variant, type: 'group' }));
    open.sold_out.add('2026-12-08');
    harness.sandbox.world.disable(closed.id, { reason: 'out_of_season' });
    await harness.fill();
    const { mirror } = harness.daemon.config;
    const writer = otherWriter(mirror.path);
    writer.exec(`UPDATE date_window SET held_at = checked_at - 1 WHERE product_id = ${open.id} AND from_date > '2026-12-04';
    UPDATE date_window SET stale_at = checked_at - 999, checked_at = checked_at - 1000 WHERE product_id = ${old.id}`);
    writer.close();
    standingCopy(mirror.path, env.MIRROR, harness.clock.now());

    let turn: Promise<unknown> = Promise.resolve();
    const daemon = createServer(async (request, response) => {
      const body = (await json(request)) as Record<string, unknown>;
      turn = turn.then(() => harness.drive(harness.ask('POST /v1/check', { body })));
      response.end(JSON.stringify(await turn));
    }).listen(env.SOCKET);
    const answer = async (words: string, date: string) => {
      const said = Object.entries(programs).map(async ([program, end]) => {
        const { stdout } = await promisify(execFile)(program, [`${path}/storefront.${end}`, words, date], { env });
        return stdout.trimEnd();
      });
      const [php = '', python, node] = await Promise.all(said);
      expect([python, node], words).toEqual([php, php]);
      return php;
    };
    const shown = await answer('golden castel lisbon', '2026-12-03');
    expect(document(page)).toContain(`php storefront.php 'golden castel lisbon' 2026-12-03\n${shown}\n`);
    expect(await answer(open.title, '2027-02-19')).toContain('2027-02-21  not known');
    expect(await answer(grouped.title, '2026-12-01')).toMatch(/from \d+\.\d\d EUR \(group\)\n/);
    expect(await answer(closed.title, '2026-12-01')).toMatch(/: not on sale\n/);
    expect(await answer(old.title, '2026-12-01')).toMatch(/-01 {2}not known\n2026-12-02 {2}not known\n/);
    daemon.close();
    expect(await answer(open.title, '2026-12-03')).toBe(shown.replace('check: holds', 'check: unknown'));
    const copy = new Database(env.MIRROR);
    copy.exec(`UPDATE day SET lowest_adult_price = NULL WHERE product_id = ${open.id};
      UPDATE price SET lowest_adult_price = NULL, from_price = NULL WHERE product_id = ${open.id}`);
    copy.close();
    const unpriced = /: see dates\n.*\n.*\n.*-04 {2}available\n2026-12-05 {2}available, to be checked\n/;
    expect(await answer(open.title, '2026-12-03')).toMatch(unpriced);
  },
);

it('what a storefront does with each state stands in docs/reading.md as in the view `policies`', () => {
  using mirror = testMirror();
  const actions = `group_concat(action, ' | ' ORDER BY instr('fresh stale expired unknown', state))`;
  const rows = openMirrorForReading(mirror.path)
    .prepare(`SELECT '| \`' || resource || '\` | ' || ${actions} || ' |' FROM policies GROUP BY resource`)
    .pluck()
    .all();
  expect(document('docs/reading.md')).toContain(`|---|---|---|---|---|\n${rows.join('\n')}\n\n`);
});
