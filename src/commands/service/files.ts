import { join } from 'node:path';

/** Options of `service install`. */
export interface Installation {
  /** The user that the daemon runs as. */
  readonly user: string;
  /** The brand of one of several installations on this host; null: the only one. */
  readonly instance: string | null;
  /** The directory of the program, and the Node that runs it. */
  readonly program: string;
  readonly node: string;
  readonly base_url: string;
  readonly brand: string;
}

/** A file that the installation writes. */
export interface InstalledFile {
  readonly path: string;
  readonly text: string;
  readonly mode: number;
  /** `once`: what is there stays, a person has written it. */
  readonly write: 'always' | 'once';
}

/** The texts that the package brings. */
export interface Templates {
  readonly unit: string;
  readonly configuration: string;
}

/** Paths of an installation's configuration, key and data. */
export interface Places {
  readonly unit: string;
  readonly configuration: string;
  readonly key: string;
  readonly data: string;
  /** Name of the service for systemctl. */
  readonly service: string;
}

/** Returns the places of an installation. Several have one unit, `catalogued@.service`, and a user each. */
export function placesOf(instance: string | null): Places {
  const name = instance ?? 'catalogued';
  return {
    unit: `/etc/systemd/system/catalogued${instance === null ? '' : '@'}.service`,
    configuration: `/etc/catalogued/${name}.yaml`,
    key: instance === null ? '/etc/catalogued/api-key' : `/etc/catalogued/${instance}.api-key`,
    data: `/var/lib/catalogued${instance === null ? '' : `-${instance}`}`,
    service: `catalogued${instance === null ? '' : `@${instance}`}.service`,
  };
}

/** Returns the files of an installation: its user for systemd-sysusers, the unit, the first configuration. */
export function installedFiles(wanted: Installation, templates: Templates): InstalledFile[] {
  const places = placesOf(wanted.instance);
  return [
    {
      path: `/etc/sysusers.d/${wanted.user}.conf`,
      text: `# The user of ${places.service}, which catalogued service install has written.\nu ${wanted.user} - "catalogued" ${places.data}\n`,
      mode: 0o644,
      write: 'always',
    },
    { path: places.unit, text: unitOf(wanted, templates.unit), mode: 0o644, write: 'always' },
    {
      path: places.configuration,
      text: configurationOf(wanted, templates.configuration),
      mode: 0o644,
      write: 'once',
    },
  ];
}

/** Returns the unit with the paths and the user of this host; for several installations with `%i` for the brand. */
function unitOf(wanted: Installation, template: string): string {
  const { user, instance, program, node } = wanted;
  const own = template
    .replaceAll('/usr/bin/node ', `${node} `)
    .replaceAll('/opt/catalogued/', `${program}/`)
    .replaceAll('/opt/catalogued ', `${program} `);
  if (instance === null) return own.replaceAll(/^(User|Group)=catalogued$/gm, `$1=${user}`);
  return own
    .replaceAll(/^(User|Group)=catalogued$/gm, '$1=catalogued-%i')
    .replaceAll('/etc/catalogued/catalogued.yaml', '/etc/catalogued/%i.yaml')
    .replaceAll('/etc/catalogued/api-key', '/etc/catalogued/%i.api-key')
    .replaceAll('/etc/catalogued/signing.pem', '/etc/catalogued/%i.signing.pem')
    .replaceAll('/etc/catalogued/receiver-secret', '/etc/catalogued/%i.receiver-secret')
    .replaceAll('/etc/catalogued/storefront-token', '/etc/catalogued/%i.storefront-token')
    .replaceAll('/var/lib/catalogued/', '/var/lib/catalogued-%i/')
    .replace('StateDirectory=catalogued', 'StateDirectory=catalogued-%i')
    .replace('Description=catalogued:', 'Description=catalogued of %i:');
}

function configurationOf(wanted: Installation, template: string): string {
  const places = placesOf(wanted.instance);
  return template
    .replace('https://api.example.com', wanted.base_url)
    .replace('user_agent: my-brand catalogued', `user_agent: ${JSON.stringify(`${wanted.brand} catalogued`)}`)
    .replaceAll('/etc/catalogued/catalogued.yaml', places.configuration)
    .replaceAll('/etc/catalogued/api-key', places.key)
    .replaceAll('catalogued.service', places.service)
    .replaceAll('/var/lib/catalogued', places.data);
}

/** Directories that a setting of the unit hides from the daemon. */
const hidden: Readonly<Record<string, readonly string[]>> = {
  'ProtectHome=yes': ['/home', '/root', '/run/user'],
  'PrivateTmp=yes': ['/tmp', '/var/tmp'],
};

/** Directories in memory: their files are gone after a restart of the machine. */
const volatile = ['/run', '/dev/shm'];

/** Returns why systemd cannot start a program at this path from a unit with this text, or null. */
export function obstacleAt(path: string, unit: string): string | null {
  const within = (directories: readonly string[]) =>
    directories.find((directory) => `${path}/`.startsWith(`${directory}/`));
  const settings = new Set(unit.split('\n'));
  for (const [setting, directories] of Object.entries(hidden)) {
    const directory = settings.has(setting) ? within(directories) : undefined;
    if (directory !== undefined) return `${path} is in ${directory}, which ${setting} hides from the service`;
  }
  const lost = within(volatile);
  if (lost !== undefined) return `${path} is in ${lost}, which is empty after a restart of the machine`;
  const [character] = /[\s%$"'\\]/.exec(path) ?? [];
  return character === undefined ? null : `${path} contains ${JSON.stringify(character)}, which systemd interprets`;
}

/** Path of the installed command `catalogued`. */
export const commandPath = join('/usr/local/bin', 'catalogued');
