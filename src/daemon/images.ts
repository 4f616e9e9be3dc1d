import type { Logger } from '../log.ts';
import { DirectoryFailed, imageDirectory } from '../sync/images/directory.ts';
import { fetchImageFiles, type ImageFilePorts, maintainImageFiles, sweepImageFiles } from '../sync/images/files.ts';
import { imageRoom } from '../sync/images/room.ts';
import { createImageHost } from '../upstream/image-host.ts';
import { version } from '../version.ts';
import type { Wiring } from './wiring.ts';

/** What a test replaces: an image host on this machine may be asked, and faster. No configuration can say so. */
export interface ImageHostOverrides {
  readonly addresses: readonly string[];
  readonly requests_per_second: number;
}

/** The copies of image files, as the schedule drives them. Each is called again and again, never twice at once. */
export interface ImageFiles extends AsyncDisposable {
  /** Every second: fetches what is due. The first time, what an earlier process left behind is put right before. */
  fetch(signal: AbortSignal): Promise<void>;
  /** Every minute: what may not be shown any more goes, also while no files are fetched. */
  maintain(signal: AbortSignal): Promise<void>;
  /** Every hour. */
  sweep(): Promise<void>;
}

const deadlineMs = 120_000;
const usual: ImageHostOverrides = { addresses: [], requests_per_second: 10 };

/** Wires the image host's client, which knows nothing of the service's key, limiter or budget. */
export function keepImageFiles(
  { config, ports, watch }: Pick<Wiring, 'config' | 'ports'> & { readonly watch: Pick<Wiring['watch'], 'mayPrune'> },
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
    fetching: files ? { sizes, disk, host, room: imageRoom(ports.mirror, disk) } : null,
  };
  let begun = false;
  const sweep = async () => {
    if (watch.mayPrune()) await logDirectoryFailure(ports.log, () => sweepImageFiles(filePorts));
  };
  // Which files may be there is a question of time: while that is in doubt, none is removed.
  const maintain = async (signal: AbortSignal) => {
    if (watch.mayPrune()) await logDirectoryFailure(ports.log, () => maintainImageFiles(filePorts, signal));
  };
  return {
    fetch: async (signal) => {
      if (!begun) {
        await sweep();
        await maintain(signal);
        begun = true;
      }
      const { stored, unchanged, failed } = await fetchImageFiles(filePorts, signal);
      if (stored + unchanged + failed > 0) ports.log.info({ stored, unchanged, failed }, 'image files fetched');
    },
    maintain,
    sweep,
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

/** A directory that cannot be read keeps image files from being kept, and nothing else. */
async function logDirectoryFailure(log: Logger, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof DirectoryFailed)) throw error;
    log.error({ err: error }, 'image file maintenance failed');
  }
}
