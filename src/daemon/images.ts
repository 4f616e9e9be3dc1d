import type { Logger } from '../log.ts';
import { version } from '../package.ts';
import { DirectoryFailed, imageDirectory } from '../sync/images/directory.ts';
import { fetchImageFiles, type ImageFilePorts, maintainImageFiles, sweepImageFiles } from '../sync/images/files.ts';
import { imageRoom } from '../sync/images/room.ts';
import { createImageHost } from '../upstream/image-host.ts';
import type { Mirroring } from './mirroring.ts';

/**
 * The work on copies of image files. The schedule calls each function repeatedly, but never while the same function
 * still runs.
 */
export interface ImageFiles extends AsyncDisposable {
  /** Fetches files that are due. Run every second. */
  fetch(signal: AbortSignal): Promise<void>;
  /** Removes files of images that may no longer be shown, even while fetching is off. Run every minute. */
  maintain(signal: AbortSignal): Promise<void>;
  /** Removes files without a row, and makes files due that are missing on the disk. Run at the start and every hour. */
  sweep(): Promise<void>;
}

const deadlineMs = 120_000;
/** Larger than any image made for a page: a limit for a mistaken or hostile host. */
const maxBytes = 20 * 1024 ** 2;

/** Connects the client of the image host. It has no access to the service's key, limiter or budget. */
export function keepImageFiles({ machine, config, sync }: Mirroring): ImageFiles {
  const { files, directory, sizes, hosts, disk } = config.images;
  const { addresses, requests_per_second, at_once } = machine.network.imageHost;
  const host = createImageHost({
    reach: { hosts, addresses },
    user_agent: `catalogued/${version}`,
    max_bytes: maxBytes,
    deadline_ms: deadlineMs,
    requests_per_second,
    concurrency: 4,
    clock: sync.clock,
  });
  const filePorts: ImageFilePorts = {
    ...sync,
    directory: imageDirectory(directory, sync.entropy),
    fetching: files ? { sizes, disk, host, room: imageRoom(sync.mirror, disk), at_once } : null,
  };
  return {
    fetch: async (signal) => {
      const { stored, unchanged, failed } = await fetchImageFiles(filePorts, signal);
      if (stored + unchanged + failed > 0) sync.log.info({ stored, unchanged, failed }, 'image files fetched');
    },
    maintain: (signal) => logDirectoryFailure(sync.log, () => maintainImageFiles(filePorts, signal)),
    sweep: () => logDirectoryFailure(sync.log, () => sweepImageFiles(filePorts)),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

/** Runs work and logs a failure of the directory, which must stop only the work on image files. */
async function logDirectoryFailure(log: Logger, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof DirectoryFailed)) throw error;
    log.error({ err: error }, 'image file maintenance failed');
  }
}
