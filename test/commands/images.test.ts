import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ImageAudit } from '../../src/commands/images/audit.ts';
import { main } from '../../src/commands/main.ts';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import type { SandboxImage } from '../../src/sandbox/world/catalogue.ts';
import { capturedIo } from '../fakes/captured-io.ts';
import { needs } from '../fakes/needs.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { servedImages } from '../fakes/served-images.ts';
import { writeTestConfig } from '../fakes/test-config.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const day = 24 * hour;
const formula = '=HYPERLINK("https://x.example"), "the" best';

/** A harness whose life began two days ago, so that the audit, which asks the machine's clock, finds it today. */
async function auditedHarness() {
  const served = servedImages();
  const harness = await virtualHarness({ products: 24, served: served.note }, {}, { start: Date.now() - 2 * day });
  await harness.fill();
  const directory = dirname(dirname(harness.daemon.config.mirror.path));
  const config = writeTestConfig(directory, harness.sandbox.url, { images: { directory: join(directory, 'images') } });
  const audit = async (...args: string[]) => {
    const io = capturedIo();
    const code = await main(['--config', config, 'images', 'audit', ...args], io);
    return { code, out: io.out(), err: io.err() };
  };
  const status = async () => {
    const io = capturedIo();
    return { code: await main(['--config', config, 'status'], io), out: io.out() };
  };
  return { harness, served, audit, status, directory, [Symbol.asyncDispose]: () => harness[Symbol.asyncDispose]() };
}

async function readImages(harness: VirtualHarness): Promise<void> {
  await harness.drive(harness.clock.sleep(hour));
  requestResync(harness.daemon.sync, { resources: ['images'], product_ids: [], from: null, to: null });
  await harness.drive(runSyncCycle(harness.daemon.sync, 4, { job_id: null, signal: new AbortController().signal }));
}

function withImages(harness: VirtualHarness, count: number): { id: number; images: SandboxImage[] }[] {
  return harness.sandbox.products().filter(({ images }) => images.length >= count);
}

describe('catalogued images audit', () => {
  it('agrees in every line with what the service has served', async () => {
    await using test = await auditedHarness();
    const { harness, served } = test;
    const [first, second, third, fourth] = withImages(harness, 3);
    if (!first || !second || !third || !fourth) throw new Error('too few images');
    const [gone] = first.images.splice(1, 1);
    const [back] = second.images.splice(0, 1);
    Object.assign(third.images[0] ?? {}, { credit: formula });
    Object.assign(third.images[1] ?? {}, { credit: ' \t ' });
    Object.assign(fourth.images[0] ?? {}, { credit: '<b onclick="x()">Ann & Bob</b>' });
    await readImages(harness);
    if (back !== undefined) second.images.unshift(back);
    await readImages(harness);

    const { code, out } = await test.audit('--json');
    expect(code).toBe(0);
    const audit = JSON.parse(out) as ImageAudit;
    expect(audit).toMatchObject({
      service: harness.sandbox.url,
      mirror: harness.daemon.config.mirror.path,
      breaches: [],
    });

    // Each published line is in the newest answer about its product, and nothing of that answer is missing.
    const lines = new Map(audit.published.map((line) => [`${line.product_id} ${line.image_key}`, line]));
    let expected = 0;
    for (const id of served.ids()) {
      const reads = served.reads(id);
      const newest = reads.at(-1);
      for (const { key, credit } of newest?.images ?? []) {
        expected += 1;
        const line = lines.get(`${id} ${key}`);
        const met = reads.filter(({ images }) => images.some((image) => image.key === key));
        expect(line, `${id} ${key}`).toMatchObject({ credit });
        expect(Math.abs((line?.last_confirmed_at ?? 0) - (newest?.at ?? 0))).toBeLessThan(2000);
        expect(Math.abs((line?.first_confirmed_at ?? 0) - (met[0]?.at ?? 0))).toBeLessThan(2000);
        expect(line?.hidden_from).toBe((line?.last_confirmed_at ?? 0) + 14 * day);
      }
    }
    expect(expected).toBeGreaterThan(80);
    expect(audit.summary).toMatchObject({ published: expected, takedowns: 2, in_breach: 0, hidden: 0 });

    // Each takedown lies between the last answer with the image and the first one without it.
    const keys = new Set([gone?.name, back?.name]);
    expect(new Set(audit.takedowns.map(({ image_key }) => image_key))).toEqual(keys);
    for (const { product_id, image_key, last_confirmed_at, withdrawn_at, returned_at, at_most_ms } of audit.takedowns) {
      const has = served.reads(product_id).map(({ images }) => images.some(({ key }) => key === image_key));
      const [before, after] = [has.indexOf(false) - 1, has.indexOf(false)].map(
        (at) => served.reads(product_id)[at]?.at,
      );
      expect(Math.abs((last_confirmed_at ?? 0) - (before ?? 0))).toBeLessThan(2000);
      expect(Math.abs(withdrawn_at - (after ?? 0))).toBeLessThan(2000);
      expect(at_most_ms).toBe(withdrawn_at - (last_confirmed_at ?? 0));
      expect(returned_at !== null).toBe(image_key === back?.name);
    }
    expect(audit.credit_changes.filter(({ product_id }) => product_id === third.id)).toHaveLength(2);
    expect(audit.credit_changes).toContainEqual(expect.objectContaining({ new: formula }));
  });

  it(
    'is a report that says what, by which rule, and what went; and a table that a spreadsheet takes without a formula',
    needs('python3'),
    async () => {
      await using test = await auditedHarness();
      const [product, other] = withImages(test.harness, 2);
      if (product === undefined || other === undefined) throw new Error('too few images');
      Object.assign(product.images[0] ?? {}, { credit: `${formula}\nand a second line` });
      other.images.splice(0, 1);
      await readImages(test.harness);
      const report = await test.audit();
      expect(report.code).toBe(0);
      expect(report.out).toMatch(/^Images published on \d{4}-\d\d-\d\d \d\d:\d\d UTC\n\nService {10}http/);
      expect(report.out).toMatch(
        /^Rule .* for less than 14 days after that read; its credit is the one that read returned\.$/m,
      );
      expect(report.out).toMatch(
        /^Taken down +1 in the last 90 days, none later than 1 h after the service withdrew it$/m,
      );
      expect(report.out).toMatch(/^In breach +0$/m);
      const json = JSON.parse((await test.audit('--json')).out) as ImageAudit;
      for (const { image_key } of [...json.published, ...json.takedowns]) expect(report.out).toContain(image_key);

      const table = await test.audit('--csv');
      expect(table.err).toMatch(/^Images published on[\s\S]*\nIn breach +0\n$/);
      const script = 'import csv, json, sys; print(json.dumps(list(csv.DictReader(sys.stdin))))';
      const rows = JSON.parse(
        execFileSync('python3', ['-c', script], { input: table.out, encoding: 'utf8' }),
      ) as Record<string, string>[];
      expect(rows).toHaveLength(json.published.length + json.takedowns.length + json.credit_changes.length);
      expect(rows[0]).toMatchObject({ record: 'published', product_id: String(json.published[0]?.product_id) });
      expect(rows.map(({ credit }) => credit)).toContain(`'${formula}\\u000aand a second line`);
      expect(await test.audit('--csv', '--json')).toMatchObject({ code: 64 });
    },
  );

  it('exits 1 for an image that is shown too long or was withdrawn, and for a file of one that is not shown', async () => {
    await using test = await auditedHarness();
    const [first, second] = withImages(test.harness, 2);
    const gone = first?.images.splice(0, 1)[0];
    await readImages(test.harness);
    const { path } = test.harness.daemon.config.mirror;
    const db = otherWriter(path);
    // Its file was left behind; a file that another image shares may stay.
    const put = db.prepare(
      "INSERT INTO _image_file (product_id, image_key, size, url, file, checksum, due_at) VALUES (?, ?, 'large', '', ?, 'sum', 0)",
    );
    put.run(first?.id, gone?.name, 'aa/kept.jpg');
    put.run(first?.id, 'f'.repeat(32), 'aa/shared.jpg');
    put.run(second?.id, second?.images[0]?.name, 'aa/shared.jpg');
    put.run(first?.id, 'e'.repeat(32), 'aa/gone.jpg');
    mkdirSync(join(test.directory, 'images', 'aa'), { recursive: true });
    for (const name of ['kept', 'shared']) writeFileSync(join(test.directory, 'images', 'aa', `${name}.jpg`), 'x');
    expect(existsSync(join(test.directory, 'images', 'aa', 'kept.jpg'))).toBe(true);
    const kept = await test.audit('--json');
    expect(kept.code).toBe(1);
    expect((JSON.parse(kept.out) as ImageAudit).breaches).toEqual([
      { product_id: first?.id, image_key: gone?.name, reason: 'file-kept' },
    ]);

    // A view that forgot the rule: the audit does not believe it.
    db.prepare('DELETE FROM _image_file WHERE file = ?').run('aa/kept.jpg');
    const view = db.prepare<[], string>("SELECT sql FROM sqlite_master WHERE name = 'images'").pluck().get() ?? '';
    db.exec(`DROP VIEW images; ${view.slice(0, view.indexOf('WHERE p.withdrawn_at'))}`);
    db.prepare('UPDATE _product_read SET images_verified_at = images_verified_at - ? WHERE product_id = ?').run(
      14 * day,
      second?.id,
    );
    const shown = await test.audit();
    expect(shown.code).toBe(1);
    expect(shown.out).toContain('is shown although it has not been confirmed for 14 days');
    expect(shown.out).toMatch(
      new RegExp(`^ *${first?.id} +${gone?.name} +is shown although the service has withdrawn it$`, 'm'),
    );
    const found = (JSON.parse((await test.audit('--json')).out) as ImageAudit).breaches;
    expect(found).toHaveLength(1 + (second?.images.length ?? 0));
    db.close();
  });

  it('of an account without images says that none is published', async () => {
    await using test = await auditedHarness();
    const db = otherWriter(test.harness.daemon.config.mirror.path);
    db.exec('DELETE FROM image');
    db.close();
    const { code, out } = await test.audit();
    expect(code).toBe(0);
    expect(out).toMatch(/^Published +0 images of 0 products, 0 with a credit\nLast confirmed +none$/m);
    expect((await test.audit('--csv')).out.split('\r\n')).toHaveLength(2);
  });
});

it('status names the products whose images nobody could confirm for twelve days, and when they go', async () => {
  await using test = await auditedHarness();
  const [product] = withImages(test.harness, 3);
  const db = otherWriter(test.harness.daemon.config.mirror.path);
  const at = Date.now();
  db.prepare('UPDATE _product_read SET images_verified_at = ? WHERE product_id = ?').run(at - 13 * day, product?.id);
  db.close();
  const { code, out } = await test.status();
  expect(code).toBe(1);
  const lines = out.split('\n');
  const line = lines.findIndex((each) => each.includes('images-unverified'));
  // The harness holds the mirror and answers nobody: a silent daemon is the cause, and the products are named below.
  expect(lines[line]).toMatch(/^Daemon +running, but not answering: .*, hence .*images-unverified/);
  expect(out).toMatch(new RegExp(`^ *${product?.id} +${product?.images.length} +13 d ago +in 24 h$`, 'm'));
});
