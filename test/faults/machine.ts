import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startProgram } from '../fakes/run-cli.ts';
import { CannotRun } from './run.ts';

/** What a command in the machine came to. */
export interface Ended {
  readonly code: number | null;
  /** Standard output and error, as they would stand in a terminal. */
  readonly said: string;
}

/**
 * A booted systemd in namespaces of its own, over this machine's own files: what it writes goes into memory and is gone with
 * it. It shares the network.
 */
export interface Machine extends AsyncDisposable {
  /** Runs a line of shell in the machine, as root. */
  run(line: string, options?: { readonly cwd?: string }): Promise<Ended>;
}

/** Where a machine has its own copy of the sources: `/tmp`, where they may lie, is empty in it. */
export const sources = '/root/catalogued';

/** Boots a machine with a copy of the sources in `tree`; throws `CannotRun` where this one cannot. */
export async function bootMachine(tree: string): Promise<Machine> {
  const place = mkdtempSync(join(tmpdir(), 'catalogued-machine-'));
  const root = join(place, 'root');
  const unmount = () => {
    for (const path of [root, place]) spawnSync('umount', ['--lazy', path]);
    rmSync(place, { recursive: true, force: true });
  };
  const mounted = sh(
    `mount -t tmpfs -o size=3G tmpfs ${place} && mkdir ${root} ${place}/upper ${place}/work && mount -t overlay overlay -o lowerdir=/,upperdir=${place}/upper,workdir=${place}/work ${root}`,
  );
  if (!mounted) {
    unmount();
    throw new CannotRun('an overlay over / cannot be mounted here');
  }
  const copied = `tar -C ${tree} --exclude=./node_modules --exclude=./.git --exclude=./dist -cf - . | tar -C ${root}${sources} -xf -`;
  if (!sh(`mkdir -p ${root}${sources} && ${copied}`)) throw new Error('the sources cannot be copied into the machine');
  const words = ['--directory', root, '--boot', '--register=no', '--keep-unit', '--quiet', '--hostname=newcomer'];
  const child = spawn('systemd-nspawn', [...words, '--console=pipe', 'systemd.unit=basic.target'], { stdio: 'ignore' });
  const leader = await leaderOf(child);
  const machine: Machine | null = leader === null ? null : machineOf(leader, child, unmount);
  if (machine !== null && (await isUp(machine))) return machine;
  // Its processes outlive the one that booted it.
  if (machine !== null) await machine[Symbol.asyncDispose]();
  else {
    child.kill('SIGKILL');
    unmount();
  }
  throw new CannotRun('systemd does not boot in namespaces here');
}

function sh(line: string): boolean {
  return spawnSync('sh', ['-c', line]).status === 0;
}

/** Returns the process id of the machine's systemd. */
async function leaderOf({ pid }: ChildProcess): Promise<number | null> {
  for (let tries = 0; tries < 100; tries += 1) {
    await delay(100);
    try {
      const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
      if (first !== undefined && first !== '') return Number(first);
    } catch {
      return null;
    }
  }
  return null;
}

async function isUp(machine: Machine): Promise<boolean> {
  for (let tries = 0; tries < 400; tries += 1) {
    await delay(500);
    const { said } = await machine.run('systemctl is-active basic.target');
    if (said.trim() === 'active') return true;
  }
  return false;
}

function machineOf(leader: number, child: ChildProcess, unmount: () => void): Machine {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const registry = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).stdout.trim();
  return {
    run: async (line, { cwd = '/' } = {}) => {
      const inside = ['-t', String(leader), '-m', '-u', '-i', '-p', '-C', '--', 'sh', '-c', `cd ${cwd} && ${line}`];
      // What a root's login has, and nothing of who runs the test but where packages come from.
      const env = {
        PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        HOME: '/root',
        npm_config_registry: registry,
      };
      const command = startProgram(['nsenter', ...inside], { env });
      const { code } = await command.ended;
      return { code, said: command.output() };
    },
    async [Symbol.asyncDispose]() {
      // The leader of a namespace of processes: all of them end with it.
      process.kill(leader, 'SIGKILL');
      await ended;
      unmount();
    },
  };
}
