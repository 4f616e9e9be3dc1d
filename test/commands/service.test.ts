import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempDisposableSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Installation, installedFiles, obstacleAt, placesOf } from '../../src/commands/service/files.ts';
import { parseConfig } from '../../src/config/load.ts';
import { cli } from '../fakes/built-program.ts';
import { needs } from '../fakes/needs.ts';
import { runMark } from '../fakes/no-child-outlives.ts';
import { runHere } from '../fakes/run-here.ts';

const packaged = (path: string) => readFileSync(new URL(`../../config/systemd/${path}`, import.meta.url), 'utf8');
const templates = { unit: packaged('catalogued.service'), configuration: packaged('catalogued.yaml') };

const wanted: Installation = {
  user: 'catalogued',
  instance: null,
  program: '/opt/catalogued',
  node: '/usr/bin/node',
  base_url: 'https://tickets.example',
  brand: 'my: "brand"',
};

const textsOf = (more: Partial<Installation> = {}) => {
  const own = { ...wanted, ...more };
  const files = new Map(installedFiles(own, templates).map((file) => [file.path, file]));
  const { unit, configuration } = placesOf(own.instance);
  return { files, unit: files.get(unit)?.text ?? '', configuration: files.get(configuration)?.text ?? '' };
};

describe('service install', () => {
  it('writes the unit of the package, where the program and Node are where it says', () => {
    expect(textsOf().unit).toBe(templates.unit);
  });

  it('puts the paths and the user of this host into it, and leaves none of the others', () => {
    const { unit, files } = textsOf({ user: 'tickets', program: '/srv/catalogued-2', node: '/usr/local/bin/node' });
    expect(unit).toMatch(/^ExecStart=\/usr\/local\/bin\/node .* \/srv\/catalogued-2\/dist\/cli\.js .* run$/m);
    expect(unit).toMatch(/^ExecReload=\/usr\/local\/bin\/node \/srv\/catalogued-2\/dist\/cli\.js .* reload$/m);
    expect(unit).toMatch(/^User=tickets\nGroup=tickets$/m);
    expect(files.get('/etc/sysusers.d/tickets.conf')?.text).toMatch(/^u tickets - /m);
    expect(unit.replace(/^#.*/gm, '')).not.toMatch(/\/opt\/|\/usr\/bin\/node/);
  });

  it('gives each of several brands a user, a configuration, secrets and data of its own, in one unit', () => {
    const { unit, configuration, files } = textsOf({ user: 'catalogued-norland', instance: 'norland' });
    expect(files.has('/etc/systemd/system/catalogued@.service')).toBe(true);
    expect(unit).toMatch(/^User=catalogued-%i\nGroup=catalogued-%i$/m);
    expect(unit).toMatch(/--config \/etc\/catalogued\/%i\.yaml run$/m);
    expect(unit).toMatch(/^StateDirectory=catalogued-%i$/m);
    const settings = unit.split('\n').filter((line) => !line.startsWith('# '));
    expect(settings.filter((line) => /(etc|lib)\/catalogued\/(?!%i)/.test(line))).toEqual([]);
    const { config } = parseConfig(configuration);
    expect(config.mirror.path).toBe('/var/lib/catalogued-norland/mirror.db');
    expect(config.service.api_key_file).toBe('/etc/catalogued/norland.api-key');
  });

  it('writes a configuration that the daemon takes, whatever the brand is called', () => {
    const { config } = parseConfig(textsOf().configuration);
    expect(config.service).toMatchObject({
      base_url: 'https://tickets.example',
      user_agent: 'my: "brand" catalogued',
      api_key_file: '/etc/catalogued/api-key',
    });
    expect(config.mirror.path).toBe('/var/lib/catalogued/mirror.db');
  });

  it('--print shows every file and command, and needs no root and no systemd', async () => {
    const { code, stdout } = await runHere(['service', 'install', '--base-url', 'https://t.example', '--print']);
    expect(code).toBe(0);
    expect(stdout).toContain('# /etc/systemd/system/catalogued.service (0644)\n');
    expect(stdout).toContain('base_url: https://t.example');
    expect(stdout).toMatch(/# systemd-sysusers \/etc\/sysusers\.d\/catalogued\.conf\n# systemctl daemon-reload\n$/);
  });

  it.each([
    ['a user that is none', ['--user', 'a b'], 64, /--user is "a b"/],
    ['a brand with a slash', ['--instance', '../x'], 64, /--instance is/],
    ['a user for an instance', ['--instance', 'a', '--user', 'b'], 64, /exclude each other/],
    ['an address with a path', ['--base-url', 'https://t.example/v2'], 78, /more than a host/],
  ])('refuses %s before anything is written', async (_, args, code, says) => {
    const ran = await runHere(['service', 'install', '--print', ...args]);
    expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(says) });
  });

  it('--print warns of a program that systemd cannot start, and prints the same', async () => {
    using directory = mkdtempDisposableSync('/tmp/catalogued-test-');
    const from = join(cli, '../..');
    for (const name of ['dist', 'package.json', 'config'])
      cpSync(join(from, name), join(directory.path, name), { recursive: true, dereference: true });
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(directory.path, 'dist/cli.js'), 'service', 'install', '--print'],
      { encoding: 'utf8' },
    );
    const [warning, ...others] = stderr.trim().split('\n');
    expect([status, warning]).toEqual([
      0,
      `Warning: systemd cannot start this: ${directory.path} is in /tmp, which PrivateTmp=yes hides from the service`,
    ]);
    expect(others.at(-1)).toMatch(/^Try: put the program into \/opt\/catalogued /);
    expect(stdout).toContain(` ${directory.path}/dist/cli.js --config /etc/catalogued/catalogued.yaml run\n`);
  });

  it.each([
    ['/home/anna/catalogued', 'is in /home, which ProtectHome=yes hides from the service'],
    ['/root/.nvm/versions/node/v26.10.0/bin/node', 'is in /root, which ProtectHome=yes hides from the service'],
    ['/root', 'is in /root, which ProtectHome=yes hides from the service'],
    ['/tmp/x', 'is in /tmp, which PrivateTmp=yes hides from the service'],
    ['/var/tmp/x', 'is in /var/tmp, which PrivateTmp=yes hides from the service'],
    ['/run/user/1000/x', 'is in /run/user, which ProtectHome=yes hides from the service'],
    ['/run/catalogued', 'is in /run, which is empty after a restart of the machine'],
    ['/dev/shm/x', 'is in /dev/shm, which is empty after a restart of the machine'],
    ['/opt/my catalogued', 'contains " ", which systemd interprets'],
    ['/opt/100%', 'contains "%", which systemd interprets'],
    ['/opt/catalogued', null],
    ['/homes/catalogued', null],
    ['/srv/tmp/catalogued-1.0.0', null],
  ])('knows why systemd cannot start %s, or that it can', (path, why) => {
    expect(obstacleAt(path, templates.unit)).toBe(why === null ? null : `${path} ${why}`);
  });

  it('takes what is hidden from the unit (control)', () => {
    expect(obstacleAt('/tmp/x', templates.unit.replace('PrivateTmp=yes', 'PrivateTmp=no'))).toBe(null);
  });
});

const local = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Types answers on a pseudo terminal, each when its question stands there. */
function typed(...answers: readonly string[]): { readonly code: number; readonly seen: string } {
  const questions = ['(https://…): ', 'brand: ', 'later): '];
  const keys = JSON.stringify(answers.map((answer, index) => [questions[index], answer]));
  const program = [process.execPath, cli, 'service', 'install'];
  const { stdout, stderr } = spawnSync('python3', [local('../fakes/on-terminal.py'), keys, ...program], {
    encoding: 'utf8',
    env: { ...process.env, [runMark]: process.env[runMark] },
  });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as { code: number; seen: string };
}

describe('the questions of service install on a terminal', needs('python3', 'time'), () => {
  const address = 'https://tickets.example\r';

  it('are three, and a key file that cannot be read is refused before anything is written', () => {
    const { code, seen } = typed(address, 'Norland\r', '/nowhere/key\r');
    expect([code, seen]).toEqual([78, expect.stringContaining('cannot read /nowhere/key: ENOENT')]);
    expect(seen).not.toContain('wrote');
  });

  it('refuse an address that is none, in one line', () => {
    const { code, seen } = typed('nonsense\r', 'Norland\r', '\r');
    expect([code, seen]).toEqual([78, expect.stringContaining('service.base_url: found "nonsense"')]);
  });

  it.each([
    ['Ctrl-C at the first', ['\u0003']],
    ['Ctrl-C at the last', [address, 'Norland\r', '\u0003']],
    ['Ctrl-D', ['\u0004']],
  ])('end with %s: nothing is installed, and no stack is shown', (_, answers) => {
    const { code, seen } = typed(...answers);
    expect([code, seen]).toEqual([64, expect.stringContaining('Error: not answered: nothing was installed')]);
    expect(seen).not.toMatch(/^ {4}at /m);
  });

  // Where systemd runs, root would install it.
  it('are enough: what is refused then is the machine', ({ skip }) => {
    skip(existsSync('/run/systemd/system'));
    expect(typed(address, 'Norland\r', '\r').seen).toContain('this machine does not run systemd');
  });
});
