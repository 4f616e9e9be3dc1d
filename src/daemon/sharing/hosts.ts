import type { Config } from '../../config/load.ts';

/** Returns the names under which the admin interface is reached. Other instances use the advertised one. */
export function hostsOf({ admin, instance }: Config): readonly string[] {
  return instance.advertise === null ? admin.hosts : [...admin.hosts, new URL(instance.advertise).hostname];
}
