import { setImmediate } from 'node:timers/promises';
import { type Instant, instant } from '../kernel/clock.ts';
import type { Mirror } from '../mirror/mirror.ts';
import type { Sync } from '../schedule/sync.ts';
import { retryAt } from '../service/backoff.rules.ts';
import type { ImageHost, ImageOutcome, ReceivedImage } from '../service/image-host.ts';
import { filePath, type ImageSize, recheckAt, refusedAgainAt } from './image.rules.ts';
import { DirectoryFailed, type ImageDirectory } from './image-directory.ts';
import type { ImageFile, StoredFile } from './image-files.store.ts';
import { askForImages } from './vanished-images.ts';

/** The configured way to fetch image files. */
interface Fetching {
  readonly sizes: readonly ImageSize[];
  /** The most bytes that all files together may take. */
  readonly disk: number;
  readonly host: ImageHost;
  readonly room: { measure(): Room };
  /** The number of files fetched at the same time. */
  readonly at_once: number;
}

/** The result of fetching one file. `resting`: an origin that is not asked again in this run. */
type Fetched = 'stored' | 'unchanged' | 'failed' | { readonly resting: string };

/** The number of products handled between two turns of the event loop, and the most files fetched in one run. */
const slice = 200;
const passFiles = 200;
/** The pause after a full disk, in milliseconds: each attempt fetches a whole image. */
const noRoomMs = 60_000;

/** The copies of image files. Each of its three jobs runs repeatedly, but never while the same job still runs. */
export class ImageFiles {
  readonly #sync: Sync;
  readonly #directory: ImageDirectory;
  /** Null: nothing is fetched. Existing files are still removed with their images. */
  readonly #fetching: Fetching | null;

  constructor(sync: Sync, directory: ImageDirectory, fetching: Fetching | null) {
    this.#sync = sync;
    this.#directory = directory;
    this.#fetching = fetching;
  }

  /** Fetches due files, a few hundred at most. When the signal aborts, resolves early. */
  async fetch(signal: AbortSignal): Promise<void> {
    const { mirror, clock, chance, log } = this.#sync;
    const fetching = this.#fetching;
    const done = { stored: 0, unchanged: 0, failed: 0 };
    const due = (which: 'all' | 'kept', limit: number) => mirror.catalogue.imageFiles.due(clock.now(), which, limit);
    if (fetching === null || signal.aborted || due('all', 1).length === 0) return;
    const room = fetching.room.measure();
    // Each file draws its own random number here: network and disk decide which of them ends first.
    const drawn = (row: ImageFile) => ({ row, draw: chance() });
    const queue = due(room.isFull() ? 'kept' : 'all', passFiles).map(drawn);
    const resting = new Set<string>();
    const giveUp = (error: unknown) => {
      queue.length = 0;
      throw error;
    };
    const work = async () => {
      for (let next = queue.shift(); next !== undefined && !signal.aborted; next = queue.shift()) {
        const { row, draw } = next;
        if (resting.has(originOf(row.url)) || (row.file === null && room.isFull())) continue;
        const result = await this.#fetchOne({ host: fetching.host, room }, next, signal).catch((error: unknown) => {
          if (signal.aborted) return null;
          if (!(error instanceof DirectoryFailed)) throw error;
          if (error.full) return this.#noteNoRoom(row);
          return this.#noteFailure(row, error.message, instant(retryAt(row.failures + 1, draw, clock.now())));
        });
        if (result === null) return;
        if (typeof result === 'object') resting.add(result.resting);
        else done[result] += 1;
      }
    };
    // The host's connections decide how many are in flight. If one throws, the error is thrown after all have ended.
    const ended = await Promise.allSettled(Array.from({ length: fetching.at_once }, () => work().catch(giveUp)));
    for (const each of ended) if (each.status === 'rejected') throw each.reason;
    const { stored, unchanged, failed } = done;
    if (stored + unchanged + failed > 0) log.info({ stored, unchanged, failed }, 'image files fetched');
  }

  /**
   * Decides which files are wanted, and removes those that may no longer exist (withdrawn, expired, of another size),
   * even while nothing is fetched. Run once a minute.
   */
  async maintain(signal: AbortSignal): Promise<void> {
    const { mirror, clock, log } = this.#sync;
    const table = mirror.catalogue.imageFiles;
    const sizes = this.#fetching?.sizes ?? null;
    // Nothing is fetched, and no earlier file is left.
    if (sizes === null && table.isEmpty()) return;
    let removed = 0;
    for (let after = -1; !signal.aborted; ) {
      const range = table.rangeAfter(after, slice);
      if (range === null) break;
      const now = clock.now();
      const unused = mirror.transaction(() => {
        if (sizes !== null) table.want(range, sizes, now);
        return table.drop(range, sizes, now);
      });
      this.#remove(unused);
      removed += unused.length;
      after = range.last;
      await setImmediate();
    }
    mirror.transaction(() => table.confirm(clock.now()));
    if (removed > 0) log.info({ files: removed }, 'removed image files whose images may no longer be shown');
    this.#noteRoom();
  }

  /**
   * Removes files that a kill left behind, and makes files due that a person removed. Run at the start and once an hour.
   */
  async sweep(): Promise<void> {
    const { mirror, clock, log } = this.#sync;
    const table = mirror.catalogue.imageFiles;
    const expected = new Set(table.files());
    let orphans = 0;
    try {
      for await (const { kind, file } of this.#directory.list()) {
        // Checked again: the file may have been kept since the listing.
        if (expected.delete(file) || (kind === 'final' && table.isUsed(file))) continue;
        this.#remove([file]);
        orphans += 1;
      }
      const missing = [...expected].filter((file) => !this.#directory.has(file));
      const lost = missing.length === 0 ? 0 : mirror.transaction(() => table.lost(missing, clock.now()));
      if (orphans + lost > 0)
        log.warn(
          { orphans, lost },
          'repaired image files: removed those without a row, and made missing ones due again',
        );
    } catch (error) {
      // It stops only the work on image files.
      if (!(error instanceof DirectoryFailed)) throw error;
      log.error({ err: error }, 'image file maintenance failed');
    }
  }

  async #fetchOne(
    { host, room }: { host: ImageHost; room: Room },
    { row, draw }: { row: ImageFile; draw: number },
    signal: AbortSignal,
  ): Promise<Fetched> {
    const { mirror, clock, log } = this.#sync;
    const table = mirror.catalogue.imageFiles;
    await using incoming = lazily(() => this.#directory.begin());
    const outcome = await host.get(row.url, row.file === null ? null : row, incoming, signal);
    const now = clock.now();
    const verified = outcome.kind === 'received' ? verify(outcome) : outcome;
    switch (verified.kind) {
      case 'paused':
        mirror.transaction(() => table.postpone(verified.origin, verified.until));
        log.warn({ until: verified.until }, 'the image host throttles or cannot be reached: fetching pauses');
        return { resting: verified.origin };
      case 'unchanged':
        mirror.transaction(() => table.unchanged(row, verified.sent_at, instant(recheckAt(draw, now))));
        return 'unchanged';
      case 'gone':
        return this.#noteGone(row, verified.sent_at, draw);
      case 'refused':
        return this.#noteFailure(row, `${verified.code}: ${verified.message}`, instant(refusedAgainAt(draw, now)));
      case 'failed': {
        const again = retryAt(row.failures + 1, draw, now);
        return this.#noteFailure(row, `${verified.code}: ${verified.message}`, instant(again));
      }
      case 'whole': {
        const { file, bytes } = verified.stored;
        if (!this.#directory.has(file) && !room.take(bytes)) {
          // The file stays due, and comes first when there is room again.
          if (row.file === null) return 'failed';
          return this.#noteFailure(row, 'disk: images.disk is used up', instant(refusedAgainAt(draw, now)));
        }
        let unused: readonly string[] = [];
        await incoming.keep(file, () => {
          unused = mirror.transaction(() => table.stored(row, verified.stored, instant(recheckAt(draw, now))));
        });
        // Checked again: another image with the same content may have been kept since.
        this.#remove(unused.filter((each) => !table.isUsed(each)));
        return 'stored';
      }
    }
  }

  /** Removes files; one that cannot be removed becomes an orphan for the next sweep. */
  #remove(files: readonly string[]): void {
    try {
      this.#directory.remove(files);
    } catch (error) {
      if (!(error instanceof DirectoryFailed)) throw error;
      this.#sync.log.error({ err: error, files: files.length }, 'image files cannot be removed');
    }
  }

  #noteFailure(row: ImageFile, text: string, due_at: Instant): 'failed' {
    const { mirror, clock, log } = this.#sync;
    const { product_id, image_key, size } = row;
    mirror.transaction(() => mirror.catalogue.imageFiles.failed(row, { at: clock.now(), text, due_at }));
    // Logged once per failure: one that recurs daily need not be logged daily.
    if (row.failure !== text) log.warn({ product_id, image_key, size, failure: text }, 'an image file was not fetched');
    return 'failed';
  }

  /** Records a full disk. The file has not failed and stays due. */
  #noteNoRoom(row: ImageFile): { readonly resting: string } {
    const { mirror, clock, log } = this.#sync;
    const origin = originOf(row.url);
    mirror.transaction(() => mirror.catalogue.imageFiles.postpone(origin, instant(clock.now() + noRoomMs)));
    log.error({}, 'the disk of the image files is full: no new file is fetched');
    return { resting: origin };
  }

  /**
   * Records an image that its host has withdrawn: hides it at once, and makes the read due that shows whether the product
   * still has it.
   */
  #noteGone(row: ImageFile, sent_at: Instant, draw: number): 'failed' {
    const { mirror, clock, log } = this.#sync;
    const now = clock.now();
    const { product_id, image_key, size } = row;
    const unused = mirror.transaction(() => {
      askForImages(this.#sync, [product_id], 'suspicion');
      mirror.catalogue.images.doubt({ product_id, image_key, doubted_at: sent_at });
      const detail = { image_keys: [image_key] };
      mirror.changes.add({ product_id, kind: 'images_changed', detail }, { sent_at, reason: 'suspicion' });
      return mirror.catalogue.imageFiles.gone(row, sent_at, instant(refusedAgainAt(draw, now)));
    });
    this.#remove(unused);
    log.warn({ product_id, image_key, size }, 'an image has vanished from its host: hidden until a read confirms it');
    return 'failed';
  }

  /** Records whether files wait for room. */
  #noteRoom(): void {
    const { mirror, clock, log } = this.#sync;
    const fetching = this.#fetching;
    const now = clock.now();
    const products =
      fetching === null || !fetching.room.measure().isFull() ? 0 : mirror.catalogue.imageFiles.waitingProducts(now);
    if (mirror.status.outcomes.note('image-disk', now, products === 0 ? null : { affected: products }) === 'new')
      log.error({ disk: fetching?.disk, products }, 'image files use all of images.disk: no new file is fetched');
  }
}

type Verified = Exclude<ImageOutcome, { kind: 'received' }> | { readonly kind: 'whole'; readonly stored: StoredFile };

/** Returns the file to keep, or the reason why its bytes are no whole image. */
function verify({ inspected, bytes, checksum, sent_at, etag, last_modified }: ReceivedImage): Verified {
  if (inspected.kind !== 'image') return inspected;
  const { type, width, height } = inspected;
  const file = filePath(checksum, type);
  return {
    kind: 'whole',
    stored: { file, checksum, media_type: type, width, height, bytes, etag, last_modified, fetched_at: sent_at },
  };
}

/** Returns a file that is created with its first bytes. Most answers report no change and need no file. */
function lazily(begin: ImageDirectory['begin']): Awaited<ReturnType<ImageDirectory['begin']>> {
  let file: Awaited<ReturnType<ImageDirectory['begin']>> | null = null;
  return {
    write: async (part) => {
      file ??= await begin();
      await file.write(part);
    },
    keep: async (name, record) => {
      await file?.keep(name, record);
    },
    [Symbol.asyncDispose]: async () => {
      await file?.[Symbol.asyncDispose]();
    },
  };
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? url;
}

/** The disk budget during one run of fetching. */
interface Room {
  isFull(): boolean;
  /** Reserves this many bytes. Returns false if they do not fit; then nothing is fetched until there is room again. */
  take(bytes: number): boolean;
}

/** The share of the budget that must be free again, so that one removed file does not restart fetching. */
const roomShare = 0.02;

/**
 * Creates the disk budget of image files, `disk` bytes together. Once a file did not fit, the budget counts as full for
 * all runs until the files take clearly less space.
 */
export function imageRoom({ catalogue: { imageFiles } }: Mirror, disk: number): { measure(): Room } {
  let enoughBelow: number | null = null;
  return {
    measure: () => {
      let used = imageFiles.bytes();
      if (enoughBelow !== null && used < enoughBelow) enoughBelow = null;
      return {
        isFull: () => used >= disk || enoughBelow !== null,
        take: (bytes) => {
          if (used + bytes > disk) {
            enoughBelow = used * (1 - roomShare);
            return false;
          }
          used += bytes;
          return true;
        },
      };
    },
  };
}
