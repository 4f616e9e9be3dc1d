import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const root = fileURLToPath(new URL('../../', import.meta.url));
const composeFile = `${root}config/container/compose.yaml`;

export interface Service {
  readonly image: string;
  readonly user?: string;
  readonly read_only?: boolean;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly { readonly source: string }[];
  readonly volumes?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly tmpfs?: readonly string[];
}

export interface Compose {
  readonly services: Readonly<Record<'catalogued' | 'storefront' | 'proxy', Service>>;
  readonly networks: {
    readonly default: { readonly ipam: { readonly config: readonly { readonly subnet: string }[] } };
  };
}

/** Returns the file as the program has validated it against its schema, with each path absolute; throws what is wrong. */
export function composed(file = composeFile): Compose {
  const text = execFileSync('docker-compose', ['-f', file, 'config'], { encoding: 'utf8', stdio: 'pipe' });
  return parse(text) as Compose;
}

/** What the Dockerfile says of the last image that it builds. */
export function image() {
  const text =
    readFileSync(`${root}Dockerfile`, 'utf8')
      .split(/^FROM /m)
      .at(-1)
      ?.replaceAll('\\\n', '') ?? '';
  const lines = (name: string) => [...text.matchAll(new RegExp(`^${name} +(.*)$`, 'gm'))].map(([, line = '']) => line);
  const env = lines('ENV').flatMap((line) =>
    [...line.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
  );
  const json = (line: string | undefined) => JSON.parse(line ?? '[]') as string[];
  return {
    env: Object.fromEntries(env) as Record<string, string>,
    user: lines('USER')[0] ?? '',
    stopSignal: lines('STOPSIGNAL')[0] ?? '',
    entrypoint: json(lines('ENTRYPOINT')[0]),
    command: json(lines('CMD')[0]),
    healthcheck: json(/CMD (\[.*)/.exec(lines('HEALTHCHECK')[0] ?? '')?.[1]),
    labels: [...(lines('LABEL')[0] ?? '').matchAll(/([\w.]+)="([^"]*)"/g)].map(([, name = '']) => name),
    volumes: json(lines('VOLUME')[0]),
  };
}
