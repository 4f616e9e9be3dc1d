import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { imageSize } from 'image-size';
import { describe, expect, it } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { instant, systemClock } from '../../src/kernel/clock.ts';
import { openMirrorForReading } from '../../src/mirror/sql/files.ts';
import { type ImageTrouble, startImageHost } from '../../src/sandbox/images/image-host.ts';
import { startJobs } from '../fakes/daemon-jobs.ts';
import { type ImageHarness, imageHarness, inspectFiles, listsOnly } from '../fakes/image-harness.ts';
import { noticedIn } from '../fakes/noticed.ts';
import { makeDue, withdraw as withdrawProduct } from '../fakes/planted.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfig } from '../fakes/test-config.ts';
import { nearby, testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { someOf } from '../fakes/thorough.ts';

interface Row {
  readonly product_id: number;
  readonly image_key: string;
  readonly size: string;
  readonly url: string;
  readonly file: string | null;
  readonly failure: string | null;
  readonly checked_at: number | null;
  readonly due_at: number;
  readonly [column: string]: unknown;
}

const minute = 60_000;
const day = 24 * 60 * minute;
const clean = { partial: 0, orphans: 0, lost: 0 };
const readsOfProducts = { profile: { authorization: { header: null } } };

function found(harness: ImageHarness) {
  return inspectFiles(harness.directory, harness.reader);
}

function firstOf(harness: ImageHarness): Row {
  const [row] = harness.rows<Row>();
  if (row === undefined) throw new Error('no image');
  return row;
}

function rowOf(harness: ImageHarness, { product_id, image_key, size }: Row): Row | undefined {
  return harness
    .rows<Row>()
    .find((row) => row.product_id === product_id && row.image_key === image_key && row.size === size);
}

/** The service returns the image no more. */
function withdraw(harness: ImageHarness, { product_id, image_key }: Row): void {
  const product = harness.sandbox.world.find(product_id);
  if (product === null) throw new Error('no product');
  product.images = product.images.filter(({ name }) => name !== image_key);
}

/** The list is read again, now. */
async function readAgain(harness: ImageHarness): Promise<void> {
  harness.later(1000);
  const list = { resource: 'products', product_id: 0, edition: 'en/EUR', part: 0 } as const;
  makeDue(harness, [list], { at: instant(0), reason: 'requested' });
  await harness.tick('second');
}

describe('image files', () => {
  it('are fetched for every image that may be shown, verified, and kept under their content', async () => {
    await using harness = await imageHarness({ sizes: ['small', 'large'] });
    await harness.settle();
    const [{ images } = { images: 0 }] = harness.rows<{ images: number }>('SELECT count(*) AS images FROM images');
    const rows = harness.rows<Row>();
    expect(rows).toHaveLength(images * 2);
    expect(found(harness)).toEqual({ ...clean, files: rows.length });
    for (const row of rows) {
      const side = row.size === 'small' ? 128 : 500;
      expect(row).toMatchObject({ media_type: 'image/jpeg', width: side, height: side, failures: 0, failure: null });
      expect(row.file).toBe(
        `${String(row.checksum).slice(0, 2)}/${String(row.checksum).slice(2, 4)}/${row.checksum}.jpg`,
      );
      const body = readFileSync(join(harness.directory, row.file ?? ''));
      expect({ bytes: body.length, width: imageSize(body).width }).toEqual({ bytes: row.bytes, width: side });
    }
    expect(statSync(join(harness.directory, rows[0]?.file ?? '')).mode & 0o777).toBe(0o640);
  });

  it('are asked for again within seven days, and not sent again where nothing changed', async () => {
    await using harness = await imageHarness();
    await harness.settle();
    harness.images.forget();
    harness.later(6 * day);
    await harness.settle();
    expect(harness.images.requests()).toBe(0);
    harness.later(day + minute);
    await harness.settle();
    const { length } = harness.rows();
    expect({
      requests: harness.images.requests(),
      unchanged: harness.images.unchanged(),
      bytes: harness.images.bytes(),
    }).toEqual({ requests: length, unchanged: length, bytes: 0 });
  });

  it('are fetched at once where the address of an image has changed', async () => {
    await using harness = await imageHarness();
    await harness.settle();
    await using moved = await startImageHost({ clock: systemClock, seed: 2 });
    const row = firstOf(harness);
    const product = harness.sandbox.world.find(row.product_id);
    if (product === null) throw new Error('no product');
    product.image_origin = moved.url;
    harness.images.forget();
    await readAgain(harness);
    await harness.settle();
    expect({ old: harness.images.requests(), moved: moved.requests() }).toEqual({
      old: 0,
      moved: product.images.length,
    });
    expect(rowOf(harness, row)?.file).not.toBe(row.file);
    expect(found(harness)).toEqual({ ...clean, files: harness.rows().length });
  });

  it('are not fetched again, and no change is announced, where only the signature of an address differs', async () => {
    await using harness = await imageHarness({ sizes: ['large'] });
    await harness.settle();
    await readAgain(harness);
    const changes = () => harness.rows("SELECT kind, detail FROM _change WHERE kind LIKE 'image%' ORDER BY seq");
    const before = changes();
    const expiry = () =>
      noticedIn(harness.daemon.config.mirror.path, harness.daemon.sync.clock.now()).includes('images-expire');
    expect(expiry()).toBe(false);
    harness.sandbox.faults.add({ kind: 'respelt', path: '/products', member: 'images[].large', as: 'signed' });
    harness.images.forget();
    await readAgain(harness);
    await harness.settle();
    const urls = harness.rows<{ large_url: string }>('SELECT large_url FROM images');
    expect(urls.every(({ large_url }) => large_url.includes('Signature='))).toBe(true);
    expect(harness.images.requests()).toBe(0);
    expect(changes()).toEqual(before);
    expect(expiry()).toBe(true);

    harness.sandbox.faults.clear();
    await readAgain(harness);
    expect(expiry()).toBe(false);
  });

  it('of an image that is withdrawn go with the next minute, also after files were switched off', async () => {
    await using harness = await imageHarness();
    await harness.settle();
    const [first, second] = harness.rows<Row>();
    if (first === undefined || second === undefined) throw new Error('too few images');
    withdraw(harness, first);
    await readAgain(harness);
    await harness.tick('minute');
    expect(rowOf(harness, first)).toBeUndefined();
    const left = harness.rows().length;
    expect(found(harness)).toEqual({ ...clean, files: left });
    await harness.restart({ files: false });
    withdraw(harness, second);
    await readAgain(harness);
    await harness.tick('minute');
    expect(rowOf(harness, second)).toBeUndefined();
    expect(found(harness)).toEqual({ ...clean, files: left - 1 });
    expect(left).toBeGreaterThan(1);
  });

  it('whose image is withdrawn while they are on their way are not kept', async () => {
    let met: string | null = null;
    const withdrawn = (key: string) => {
      if (met !== null) return;
      met = key;
      const row = harness.rows<Row>().find(({ image_key }) => image_key === key);
      withdrawProduct(harness, row?.product_id ?? 0, instant(Date.now()));
      void harness.tick('minute');
    };
    await using harness: ImageHarness = await imageHarness({}, { asked: withdrawn });
    await harness.settle();
    expect(met).not.toBeNull();
    expect(harness.rows<Row>().filter(({ image_key }) => image_key === met)).toEqual([]);
    expect(found(harness)).toEqual({ ...clean, files: harness.rows().length });
    expect(harness.rows().length).toBeGreaterThan(0);
  });

  it('with the same content are kept once, until the last image that uses it goes', async () => {
    await using harness = await imageHarness();
    const [one, other] = harness.sandbox.products().filter(({ images }) => images.length > 0);
    const [image] = one?.images ?? [];
    if (one === undefined || other === undefined || image === undefined) throw new Error('too few products');
    other.images = [{ ...image }];
    await readAgain(harness);
    await harness.settle();
    const shared = harness.rows<Row>().filter(({ image_key }) => image_key === image.name);
    expect(new Set(shared.map(({ file }) => file)).size).toBe(1);
    expect(shared).toHaveLength(2);
    expect(found(harness)).toEqual({ ...clean, files: harness.rows().length - 1 });
    const path = join(harness.directory, shared[0]?.file ?? '');
    one.images = one.images.filter(({ name }) => name !== image.name);
    await readAgain(harness);
    await harness.tick('minute');
    expect(statSync(path).size).toBeGreaterThan(0);
    other.images = [];
    await readAgain(harness);
    await harness.tick('minute');
    expect(() => statSync(path)).toThrow('ENOENT');
  });

  it.each(
    someOf<[string, ImageTrouble, RegExp]>([
      ['HTML', { kind: 'html' }, /^type: /],
      ['HTML that is called a JPEG', { kind: 'html', type: 'image/jpeg' }, /^no-image: /],
      ['an SVG with a script', { kind: 'svg' }, /^type: /],
      ['an SVG that is called a JPEG', { kind: 'svg', type: 'image/jpeg' }, /^no-image: /],
      ['a text', { kind: 'text', type: 'image/png' }, /^no-image: /],
      ['half a file whose length was announced', { kind: 'truncated' }, /^transfer: /],
      ['half a file whose length nobody knew', { kind: 'half' }, /^half: /],
      ['a gigabyte', { kind: 'huge', bytes: 1e9, length: 'unannounced' }, /^too-large: /],
      ['an announced gigabyte', { kind: 'huge', bytes: 1e9, length: 'announced' }, /^too-large: /],
      ['a redirect', { kind: 'redirect', to: 'http://127.0.0.1/' }, /^redirect: /],
      ['an error', { kind: 'status', status: 500 }, /^status-500: /],
    ]),
  )('are not made of %s; a file that was there stays, and the failure is told once', async (_, trouble, says) => {
    await using harness = await imageHarness();
    await harness.settle();
    const [kept, fresh] = harness.rows<Row>();
    if (kept === undefined || fresh === undefined) throw new Error('too few images');
    const { mirror } = harness.daemon;
    mirror.transaction(() => mirror.catalogue.imageFiles.lost([fresh.file ?? ''], instant(Date.now())));
    rmSync(join(harness.directory, fresh.file ?? ''));
    for (const { image_key } of [kept, fresh]) harness.images.trouble(image_key, trouble);
    harness.later(7 * day + minute);
    await harness.settle();
    expect(rowOf(harness, kept)).toMatchObject({ file: kept.file, failure: expect.stringMatching(says), failures: 1 });
    expect(rowOf(harness, fresh)).toMatchObject({ file: null, failure: expect.stringMatching(says), failures: 1 });
    expect(rowOf(harness, kept)?.due_at).toBeGreaterThan(Date.now() + 7 * day);
    expect(found(harness)).toEqual({ ...clean, files: harness.rows().length - 1 });
    harness.later(2 * day);
    await harness.settle();
    const told = harness.log.lines().filter(({ msg }) => msg === 'an image file was not fetched');
    expect(told).toHaveLength(2);
    harness.images.trouble(fresh.image_key, null);
    harness.later(2 * day);
    await harness.settle();
    expect(rowOf(harness, fresh)).toMatchObject({ file: fresh.file, failure: null, failures: 0 });
  });
});

describe('an image that is gone from its host', () => {
  it.each([404, 410] as const)('%i: its file goes, its product is read, and that read decides', async (status) => {
    await using harness = await imageHarness({}, { products: 3, service: readsOfProducts });
    await harness.settle();
    const row = firstOf(harness);
    harness.images.withdraw(row.image_key, status);
    const other = harness.rows<Row>().find(({ product_id }) => product_id !== row.product_id);
    harness.later(7 * day + minute);
    await harness.settle();
    expect(rowOf(harness, row)).toMatchObject({ file: null, failure: 'gone', failure_kind: 'gone', failures: 1 });
    expect(found(harness)).toEqual({ ...clean, files: harness.rows().length - 1 });
    const due = (id: number | undefined) =>
      harness.rows<{ due_reason: string }>(
        `SELECT due_reason FROM _record WHERE product_id = ${id} AND resource = 'product_detail'`,
      )[0]?.due_reason;
    expect(due(row.product_id)).toBe('suspicion');
    expect(due(other?.product_id)).not.toBe('suspicion');

    // The service still returns it: shown again, and asked for again another day.
    harness.later(1000);
    await harness.tick('second');
    await harness.tick('minute');
    expect(rowOf(harness, row)).toMatchObject({ file: null, failure: null, failure_kind: null, failures: 1 });
    harness.images.trouble(row.image_key, null);
    harness.later(day);
    await harness.settle();
    expect(rowOf(harness, row)).toMatchObject({ file: row.file, failure: null, failures: 0 });
  });
});

describe('the daemon', () => {
  it('fetches files, and stops in the middle of one without leaving half of it', async () => {
    using place = temporaryDirectory();
    const asked = Promise.withResolvers<void>();
    let slow = '';
    await using images = await startImageHost({
      clock: systemClock,
      seed: 1,
      asked: ({ key }) => key === slow && asked.resolve(),
    });
    const options = { clock: systemClock, seed: 1, products: 3, image_origin: images.url };
    await using sandbox = await startSandbox(options);
    slow = sandbox.products()[0]?.images[0]?.name ?? '';
    images.trouble(slow, { kind: 'drip', ms: 1000 });
    const directory = join(place.path, 'images');
    const loaded = testConfig(place.path, sandbox.url, { service: listsOnly, images: { files: true, directory } });
    // The list is there already: else the first files would be fetched after the first minute.
    await using before = await startJobs(testMachine({ network: nearby }), loaded);
    await before.run('pass');
    await before[Symbol.asyncDispose]();
    const daemon = await startDaemon(testMachine({ network: nearby }), loaded);
    const { path } = daemon.config.mirror;
    await asked.promise;
    const others = sandbox.products().flatMap((product) => product.images).length - 1;
    while (daemon.mirror.catalogue.imageFiles.files().length < others) await systemClock.sleep(5);
    await daemon[Symbol.asyncDispose]();
    const reader = openMirrorForReading(path);
    const { files, ...rest } = inspectFiles(directory, reader);
    reader.close();
    expect(rest).toEqual(clean);
    expect(files).toBe(others);
  });
});

describe('the directory of the image files', () => {
  it('is put right at the start: orphans go, what is lost comes again, and what is not ours stays', async () => {
    await using harness = await imageHarness();
    await harness.settle();
    const lost = firstOf(harness);
    rmSync(join(harness.directory, lost.file ?? ''));
    const orphan = join(harness.directory, 'ab', 'cd', `abcd${'0'.repeat(60)}.jpg`);
    mkdirSync(join(harness.directory, 'ab', 'cd'), { recursive: true });
    writeFileSync(orphan, 'x');
    const half = join(harness.directory, '.0f0f0f0f-0000-4000-8000-000000000000.part');
    writeFileSync(half, 'x');
    const foreign = [join(harness.directory, 'notes.txt'), join(harness.directory, 'ab', 'cd', 'mine.jpg')];
    for (const path of foreign) writeFileSync(path, 'x');
    await harness.restart();
    await harness.settle();
    expect(rowOf(harness, lost)).toMatchObject({ file: lost.file });
    expect(found(harness)).toEqual({
      ...clean,
      orphans: foreign.length,
      files: harness.rows().length + foreign.length,
    });
    for (const path of foreign) expect(readFileSync(path, 'utf8')).toBe('x');
  });

  it('takes no more than images.disk: the newest products wait, and a condition tells of it until there is room', async () => {
    await using harness = await imageHarness({ disk: '100KiB' }, { products: 12 });
    await harness.settle();
    await harness.tick('minute');
    const { mirror } = harness.daemon;
    expect(mirror.catalogue.imageFiles.bytes()).toBeGreaterThan(80 * 1024);
    expect(mirror.catalogue.imageFiles.bytes()).toBeLessThanOrEqual(100 * 1024);
    const missing = harness.rows<Row>().filter(({ file }) => file === null);
    expect(missing.length).toBeGreaterThan(0);
    const products = new Set(missing.map(({ product_id }) => product_id)).size;
    expect(mirror.status.outcomes.all()).toMatchObject([{ operation: 'image-disk', affected: products }]);
    const requests = harness.images.requests();
    await harness.tick('second');
    expect(harness.images.requests()).toBe(requests);
    await harness.restart({ disk: '10MiB' });
    await harness.settle();
    await harness.tick('minute');
    expect(mirror === harness.daemon.mirror).toBe(false);
    expect(harness.daemon.mirror.status.outcomes.all()).toMatchObject([{ operation: 'image-disk', failed_at: null }]);
    expect(found(harness)).toEqual({ ...clean, files: harness.rows().length });
  });
});
