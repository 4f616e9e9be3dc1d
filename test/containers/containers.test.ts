import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { parseConfig } from '../../src/config/load.ts';
import { secretSources } from '../../src/config/secrets.ts';
import { canary } from '../fakes/canary.ts';
import { needs } from '../fakes/needs.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { composed, image, type Service } from './files.ts';
import { type Container, type Pod, type Running, startPod, until } from './pod.ts';

/* config/container and config/proxy: what they say, and that it runs. */

const root = fileURLToPath(new URL('../../', import.meta.url));
const text = (path: string) => readFileSync(join(root, path), 'utf8');

it('the image has labels, a health check, no root, two volumes, and the program as its first process', () => {
  const { labels, healthcheck, user, stopSignal, volumes, entrypoint } = image();
  expect(labels).toContain('org.opencontainers.image.version');
  expect(healthcheck).toEqual(['node', '/app/dist/cli.js', 'jobs']);
  expect(user).toBe('10001:10001');
  expect(stopSignal).toBe('SIGTERM');
  expect(volumes).toEqual(['/data', '/state']);
  expect(entrypoint[0]).toBe('node');
  expect(text('Dockerfile')).toContain(`ARG VERSION=${JSON.parse(text('package.json')).version}\n`);
});

it('the image is built of what the Dockerfile copies, and npm ci prints no list of files', () => {
  using directory = temporaryDirectory();
  const [, copied = ''] = text('Dockerfile').split(/^FROM /m);
  const sources = [...copied.matchAll(/^COPY (.*) \.\/\S*$/gm)].flatMap(([, paths = '']) => paths.split(' '));
  expect(text('.dockerignore').split('\n')).toEqual(expect.arrayContaining(sources.map((path) => `!${path}`)));
  for (const path of sources) cpSync(join(root, path), join(directory.path, path), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(directory.path, 'node_modules'));
  const [, command = ''] = /npm ci --ignore-scripts && (node \S+) /.exec(copied) ?? [];
  expect(JSON.parse(text('package.json')).scripts.build).toMatch(new RegExp(`^${command} `));
  const built = spawnSync(process.execPath, command.split(' ').slice(1), { cwd: directory.path, encoding: 'utf8' });
  expect(built).toMatchObject({ status: 0, stdout: '', stderr: '' });
  expect(existsSync(join(directory.path, 'dist/cli.js'))).toBe(true);
});

it('the first configuration of the container is valid, and puts everything on its volumes', () => {
  const { config, warnings } = parseConfig(text('config/container/catalogued.yaml'), image().env);
  expect(warnings).toEqual([]);
  const places = [config.mirror.path, config.images.directory, config.mirror.inbox_path, config.backup.directory];
  expect(places.map((place) => place.split('/')[1])).toEqual(['data', 'data', 'state', 'state']);
  expect(config.admin.listen).toBe('unix:/state/admin.sock');
});

describe('the compose file', needs('compose', 'time'), () => {
  it('is valid by its schema, and everything that it mounts is there', () => {
    const { services, networks } = composed();
    const { config } = parseConfig(text('config/container/catalogued.yaml'), image().env);
    expect(config.receiver.trusted_proxies).toEqual(networks.default.ipam.config.map(({ subnet }) => subnet));
    const sources = Object.values(services).flatMap(({ volumes = [] }) =>
      volumes.map((each) => each.split(':')[0] ?? ''),
    );
    expect(sources.filter((source) => source.startsWith('/') && !existsSync(source))).toEqual([]);
    expect(sources.filter((source) => source === 'state')).toHaveLength(1);
  });

  it('gives no container root, a file system to write to, or a capability', () => {
    for (const [name, service] of Object.entries(composed().services)) {
      expect(service, name).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
      expect(userOf(service).uid, name).toBeGreaterThan(0);
    }
  });

  it('with a key that no container knows is refused (control)', () => {
    using directory = temporaryDirectory();
    const file = join(directory.path, 'compose.yaml');
    writeFileSync(file, text('config/container/compose.yaml').replace('read_only: true', 'readonly: true'));
    expect(() => composed(file)).toThrow(/Unsupported config option|readonly/);
  });
});

describe('the compose file of two instances, PostgreSQL and a follower', needs('compose', 'time'), () => {
  const file = join(root, 'config/container/instances.yaml');
  let services: Readonly<Record<string, Service>>;
  beforeAll(() => {
    services = composed(file).services;
  });
  const configured = (environment: Service['environment']) =>
    parseConfig(text('config/container/catalogued.yaml'), { ...image().env, ...environment });

  it('names only keys that there are, and each instance by itself', () => {
    for (const name of ['host-a', 'host-b']) {
      const { config, warnings } = configured(services[name]?.environment);
      // Within the network of one host.
      expect(warnings).toEqual([expect.stringContaining('unencrypted')]);
      expect(config.instance).toMatchObject({ name, advertise: `http://${name}:8490` });
      expect(config.admin.listen).toBe('0.0.0.0:8490');
      const secrets = (services[name]?.secrets ?? []).map(({ source }) => source);
      expect(Object.keys(secretSources)).toEqual(expect.arrayContaining(secrets));
      expect(secrets).toContain('database_url');
    }
    const volumes = Object.values(services).flatMap((service) => service.volumes ?? []);
    const written = volumes.map((each) => each.split(':')[0] ?? '').filter((source) => !source.startsWith('/'));
    expect(new Set(written).size).toBe(written.length);
  });

  it('with a key that the program does not know is refused (control)', () => {
    expect(() => configured({ CATALOGUED_INSTANCE__ADVERTISED: 'http://host-a:8490' })).toThrow('has a problem');
  });

  it('gives no container root, a file system to write to, or a capability', () => {
    for (const [name, service] of Object.entries(services)) {
      expect(service, name).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
      expect(userOf(service).uid, name).toBeGreaterThan(0);
    }
  });
});

function userOf({ user = image().user }: Pick<Service, 'user'>): Container['user'] {
  const [uid = 0, gid = 0] = user.split(':').map(Number);
  return { uid, gid };
}

const caller = '203.0.113.9';
const addresses = {
  catalogued: '172.30.80.2',
  storefront: '172.30.80.3',
  proxy: '172.30.80.4',
  service: '172.30.80.5',
  caller,
};

describe('its three containers', needs('compose', 'pod', 'nginx', 'php', 'openssl', 'time'), () => {
  const stack = new AsyncDisposableStack();
  let pod: Pod;
  let daemon: Running;
  let storefront: Running;
  let proxy: Running;
  let directory = '';
  let caddy: Running | null = null;
  let token = '';
  afterAll(() => stack.disposeAsync());

  beforeAll(async () => {
    const { path } = stack.use(temporaryDirectory());
    directory = path;
    const { services } = composed();
    const secrets = secretsIn(path);
    const volumes: Record<string, string> = { data: join(path, 'data'), state: join(path, 'state') };
    for (const [name, mode] of [
      ['data', 0o3770],
      ['state', 0o700],
    ] as const) {
      mkdirSync(volumes[name] ?? '');
      chownSync(volumes[name] ?? '', 10001, 10001);
      chmodSync(volumes[name] ?? '', mode);
    }
    chmodSync(path, 0o755);
    const config = ownConfiguration(path);
    const containerOf = (name: keyof typeof services): Container => {
      const service = services[name];
      const own = name === 'catalogued' ? image() : null;
      return {
        name,
        command: [...(own?.entrypoint ?? []), ...(service.command ?? own?.command ?? [])],
        env: { ...own?.env, ...service.environment },
        user: userOf(service),
        mounts: [
          ...(service.volumes ?? []).map((each) => {
            const [source = '', target = '', mode] = each.split(':');
            const here = target.endsWith('catalogued.yaml') ? config : (volumes[source] ?? source);
            return { source: here, target, read_only: mode === 'ro' };
          }),
          ...(service.secrets ?? []).map(({ source }) => ({
            source: join(secrets, source),
            target: `/run/secrets/${source}`,
            read_only: true,
          })),
        ],
      };
    };
    pod = stack.use(await startPod(path, addresses));
    const sandbox = ['src/cli.ts', 'sandbox', '--host', addresses.service, '--products', '12', '--key', canary.key];
    await pod
      .outside(process.execPath, ...sandbox.map((each) => (each.startsWith('src/') ? join(root, each) : each)))
      .said('9000');
    daemon = pod.run(containerOf('catalogued'));
    await daemon.said('daemon started');
    storefront = pod.run(containerOf('storefront'));
    proxy = pod.run(containerOf('proxy'));
    await until(
      () => daemon.exec(...image().healthcheck),
      ({ status }) => status === 0,
    );
    await until(
      () => fetched('https://proxy:8443/'),
      (shown) => shown.trim().split('\n').length > 8,
    );
    const subscriptions = () => {
      const applied = daemon.exec('/opt/node/node', '/app/dist/cli.js', 'subscription', 'apply');
      return `${fetched('http://service:9000/sandbox/subscriptions')}${applied.output}`;
    };
    await until(subscriptions, (shown) => shown.includes('callback_url'));
    token = /hooks\.example\.com\/catalogued\/([\w-]+)/.exec(subscriptions())?.[1] ?? '';
  });

  /** What a request from outside is answered with: status, then the body. A receiver that is away may take Caddy seconds to give up. */
  function fetched(url: string, ...args: string[]): string {
    return pod.curl('-sSk', '--interface', caller, '--max-time', '20', ...args, url);
  }
  const posted = (body: string, at = 'https://proxy:8443') =>
    fetched(
      `${at}/catalogued/${token}`,
      // A proxy that answers before it has read the body ends the stream: over HTTP/2 curl takes that for an error (92).
      '--http1.1',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code}',
      '-H',
      'content-type: application/json',
      '-d',
      body,
    );

  const delivery = JSON.stringify({
    subscription_id: 'all',
    products: [{ product_id: 1, changes: [{ change_type: 'x' }] }],
  });

  it('work together: the storefront shows what the daemon has read, through nginx with TLS', () => {
    expect(fetched('https://proxy:8443/').trim().split('\n').length).toBeGreaterThan(8);
    expect(proxy.output()).toContain('GET / HTTP');
  });

  it('take a delivery through nginx, from who sent it to nginx', () => {
    expect(posted(delivery)).toBe('200');
    const listed = daemon.exec('/opt/node/node', '/app/dist/cli.js', 'notifications', 'list', '--json');
    expect(JSON.parse(listed.output)).toMatchObject({ deliveries: [{ peer: caller }] });
  });

  it('refuse a delivery of more than 1 MiB in nginx', () => {
    const large = join(directory, 'large');
    writeFileSync(large, Buffer.alloc(1024 * 1024 + 1, 'x'));
    expect(posted(`@${large}`)).toBe('413');
  });

  it('write to nothing but their volumes, as nobody else', () => {
    for (const each of [daemon, storefront, proxy]) {
      expect(each.exec('sh', '-c', 'touch /x || touch /app/x || touch /etc/x').status).not.toBe(0);
      expect(each.exec('sh', '-c', 'grep CapBnd /proc/1/status').output).toMatch(/CapBnd:\s+0{16}/);
    }
    expect(daemon.exec('id', '-u').output).toBe('10001\n');
    expect(storefront.exec('sh', '-c', 'ls /state').status).not.toBe(0);
    expect(storefront.exec('sh', '-c', 'ls /data/mirror.db').status).toBe(0);
  });

  it('are healthy only where a daemon answers', () => {
    expect(daemon.exec(...image().healthcheck)).toMatchObject({ status: 0 });
    expect(
      proxy.exec(
        'env',
        'CATALOGUED_SERVICE__BASE_URL=http://service:9000',
        'CATALOGUED_CONFIG=/dev/null',
        ...image().healthcheck,
      ),
    ).toMatchObject({ status: 75, output: expect.stringContaining('no daemon runs') });
  });

  it('take a delivery through Caddy as config/proxy has it', needs('caddy'), async () => {
    const tls = `:8444 {\n\ttls ${join(directory, 'secrets/tls_certificate')} ${join(directory, 'secrets/tls_key')}`;
    const file = join(directory, 'Caddyfile');
    const blocks = text('config/proxy/Caddyfile').replace('127.0.0.1:8480', `${addresses.catalogued}:8480`);
    writeFileSync(
      file,
      blocks.replace('hooks.example.com {', tls).replace('{\n\tlog', '{\n\tauto_https off\n\tadmin off\n\tlog'),
    );
    caddy = pod.outside('caddy', 'run', '--adapter', 'caddyfile', '--config', file);
    await caddy.said('serving initial configuration');
    const through = (body: string) => posted(body, `https://${addresses.proxy}:8444`);
    expect(through(delivery)).toBe('200');
  });

  it('have the program as first process, which waits for its children and ends in order by SIGTERM', async () => {
    const run = daemon.exec('/opt/node/node', '/app/dist/cli.js', 'jobs', 'run', 'backup');
    expect(run).toMatchObject({ status: 0 });
    const processes = daemon.exec('ps', '-e', '-o', 'pid=,stat=,args=').output;
    expect(processes).toMatch(/^ +1 .*node --max-old-space-size=256 .*cli\.js run$/m);
    expect(processes).not.toMatch(/^ *\d+ Z/m);
    expect(await daemon.stop()).toBe(0);
  });

  it('keep the address of a delivery out of what a proxy writes, also where the receiver is away', () => {
    expect(posted(delivery)).toBe('502');
    if (caddy !== null) expect(posted(delivery, `https://${addresses.proxy}:8444`)).toBe('502');
    expect(caddy?.output() ?? '').not.toContain(token);
    expect(proxy.output()).not.toContain(token);
    expect(proxy.output()).toContain('GET / HTTP');
  });
});

/** A key, a master secret and a certificate, each for the user that reads it. */
function secretsIn(path: string): string {
  const secrets = join(path, 'secrets');
  mkdirSync(secrets);
  const certificate = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=hooks.example.com'];
  const files = ['-keyout', join(secrets, 'tls_key'), '-out', join(secrets, 'tls_certificate')];
  execFileSync('openssl', ['req', ...certificate, ...files], { stdio: 'pipe' });
  writeFileSync(join(secrets, 'api_key'), canary.key);
  writeFileSync(join(secrets, 'receiver_secret'), canary.master);
  for (const name of ['api_key', 'receiver_secret', 'tls_key', 'tls_certificate']) {
    const owner = name.startsWith('tls') ? 101 : 10001;
    chownSync(join(secrets, name), owner, owner);
    chmodSync(join(secrets, name), 0o400);
  }
  return secrets;
}

/** The first configuration with another service, and one subscription. */
function ownConfiguration(path: string): string {
  const values = parse(text('config/container/catalogued.yaml')) as Record<string, object>;
  const config = join(path, 'catalogued.yaml');
  const more = { signing: { body: 'json' }, subscriptions: [{ id: 'all', type: 'product_ids', entities: 'mirrored' }] };
  writeFileSync(
    config,
    stringify({ ...values, ...more, service: { ...values.service, base_url: 'http://service:9000' } }),
  );
  return config;
}
