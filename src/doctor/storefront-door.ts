import { type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { LoadedConfig } from '../config/load.ts';
import { type Check, ok, skipped, wrong } from './check.ts';

const name = 'storefront interface';

/**
 * Checks that a storefront can reach the storefront interface: by the group of the mirror's directory, or with a token
 * over TCP.
 */
export function storefrontDoor({ config, secrets }: LoadedConfig): Check {
  const { listen } = config.storefront;
  if (listen === null)
    return skipped(name, 'storefront.listen is not set: storefronts need admin.listen for live checks and orders');
  if (!listen.startsWith('unix:'))
    return ok(name, `${listen}, with the token ${secrets.storefront_token?.fingerprint ?? '(missing)'}`);
  const socket = resolve(listen.slice('unix:'.length));
  const directory = dirname(socket);
  const place = statsOf(directory);
  // It is created at the first start, with the mirror.
  if (place === null && directory === dirname(resolve(config.mirror.path)))
    return skipped(name, `${directory} will be created at the first start`);
  if (place === null || !place.isDirectory())
    return wrong(name, `there is no directory ${directory} for its socket`, `create it, or choose another socket`);
  if ((place.mode & 0o011) === 0)
    return wrong(
      name,
      `nobody but its owner may enter ${directory}`,
      `chmod g+x ${directory}, or put the socket beside the mirror`,
    );
  const there = statsOf(socket);
  if (there === null) return ok(name, `${listen}: exists while a daemon runs`);
  if (!there.isSocket()) return wrong(name, `${socket} is not a socket`, 'choose another in storefront.listen');
  if ((there.mode & 0o060) !== 0o060)
    return wrong(name, `its group may not connect to ${socket}`, 'restart the daemon, which creates it again');
  return ok(name, `${listen}, for the group ${there.gid}`);
}

function statsOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}
