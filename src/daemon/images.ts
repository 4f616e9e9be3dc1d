import type { Logger } from '../log.ts';
import { version } from '../package.ts';
import { DirectoryFailed, imageDirectory } from '../sync/images/directory.ts';
import { fetchImageFiles, type ImageFilePorts, maintainImageFiles, sweepImageFiles } from '../sync/images/files.ts';
import { imageRoom } from '../sync/images/room.ts';
import { createImageHost } from '../upstream/image-host.ts';
import type { Wiring } from './wiring.ts';

/** Overrides for tests: allows an image host on this machine, and a faster rate. No configuration can set these. */
export interface ImageHostOverrides {
  readonly addresses: readonly string[];
  readonly requests_per_second: number;
  /** The number of files fetched at the same time. Default: eight. */
  readonly at_once?: number;
}

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
const usual: ImageHostOverrides = { addresses: [], requests_per_second: 10 };

/** Connects the client of the image host. It has no access to the service's key, limiter or budget. */
export function keepImageFiles(
  { config, ports }: Pick<Wiring, 'config' | 'ports'>,
  overrides: ImageHostOverrides = usual,
): ImageFiles {
  const { files, directory, sizes, hosts, max_bytes, disk } = config.images;
  const host = createImageHost({
    reach: { hosts, addresses: overrides.addresses },
    user_agent: `catalogued/${version}`,
    max_bytes,
    deadline_ms: deadlineMs,
    requests_per_second: overrides.requests_per_second,
    concurrency: 4,
    clock: ports.clock,
  });
  const filePorts: ImageFilePorts = {
    ...ports,
    directory: imageDirectory(directory, ports.entropy),
    fetching: files
      ? { sizes, disk, host, room: imageRoom(ports.mirror, disk), at_once: overrides.at_once ?? 8 }
      : null,
  };
  return {
    fetch: async (signal) => {
      const { stored, unchanged, failed } = await fetchImageFiles(filePorts, signal);
      if (stored + unchanged + failed > 0) ports.log.info({ stored, unchanged, failed }, 'image files fetched');
    },
    maintain: (signal) => logDirectoryFailure(ports.log, () => maintainImageFiles(filePorts, signal)),
    sweep: () => logDirectoryFailure(ports.log, () => sweepImageFiles(filePorts)),
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
