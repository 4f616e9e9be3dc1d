import { version } from '../package.ts';
import { imageDirectory } from '../sync/images/directory.ts';
import { ImageFiles } from '../sync/images/files.ts';
import { imageRoom } from '../sync/images/room.ts';
import { createImageHost } from '../upstream/image-host.ts';
import type { Mirroring } from './mirroring.ts';

const deadlineMs = 120_000;
/** Larger than any image made for a page: a limit for a mistaken or hostile host. */
const maxBytes = 20 * 1024 ** 2;

/** Connects the client of the image host. It has no access to the service's key, limiter or budget. */
export function keepImageFiles(stack: AsyncDisposableStack, { machine, config, sync }: Mirroring): ImageFiles {
  const { files, directory, sizes, hosts, disk } = config.images;
  const { addresses, requests_per_second, at_once } = machine.network.imageHost;
  const host = stack.use(
    createImageHost({
      reach: { hosts, addresses },
      user_agent: `catalogued/${version}`,
      max_bytes: maxBytes,
      deadline_ms: deadlineMs,
      requests_per_second,
      concurrency: 4,
      clock: sync.clock,
    }),
  );
  return new ImageFiles(
    sync,
    imageDirectory(directory, sync.entropy),
    files ? { sizes, disk, host, room: imageRoom(sync.mirror, disk), at_once } : null,
  );
}
