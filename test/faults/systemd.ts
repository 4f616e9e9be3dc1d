import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/kernel/clock.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { bootMachine, type Ended, type Machine, sources } from './machine.ts';
import type { Outcome } from './run.ts';

/* The installation of docs/operating.md, word for word, in a booted systemd, and what the unit promises. */

const root = fileURLToPath(new URL('../../', import.meta.url));
const key = 'the-key-of-the-booted-machine';
const configuration = '/etc/catalogued/catalogued.yaml';

export async function bootedSystemd(say: (line: string) => void): Promise<Outcome> {
  await using machine = await bootMachine(root);
  await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 20, lean: true, key });
  const host = new Host(machine, sandbox.url, say);
  await host.install();
  await host.inspect();
  await host.reload();
  await host.addBrand();
  await host.hang();
  await host.stop();
  return { passed: host.failures === 0, numbers: `${host.claims} claims, ${host.failures} do not hold` };
}

/** The commands of its section about installing. */
function commandsOfDocument(): string[] {
  const text = readFileSync(`${root}/docs/operating.md`, 'utf8');
  const section = text.split(/^## /m).find((each) => each.startsWith('Installing')) ?? '';
  const block = /```console\n([\s\S]*?)```/.exec(section)?.[1] ?? '';
  return block.split('\n').flatMap((line) => (line.startsWith('$ ') ? [line.slice(2)] : []));
}

/** A machine on which the service is installed, and what was claimed of it. */
class Host {
  readonly #machine: Machine;
  readonly #url: string;
  readonly #say: (line: string) => void;
  claims = 0;
  failures = 0;

  constructor(machine: Machine, url: string, say: (line: string) => void) {
    this.#machine = machine;
    this.#url = url;
    this.#say = say;
  }

  async install(): Promise<void> {
    // What a newcomer has: a key, an address, and sudo.
    await this.#run(`printf '%s\\n' ${key} > ${sources}/key`);
    await this.#run(`printf '#!/bin/sh\\nexec "$@"\\n' > /usr/local/sbin/sudo && chmod +x /usr/local/sbin/sudo`);
    await this.#run('mkdir -p /var/lib/catalogued && mount -t tmpfs -o size=64m tmpfs /var/lib/catalogued');
    const commands = commandsOfDocument();
    this.#claim(commands.length >= 5, 'docs/operating.md says how to install it');
    for (const command of commands) {
      const ended = await this.#machine.run(command.replace('https://api.example.com', this.#url), { cwd: sources });
      // Just started, the mirror is not filled yet.
      const right = command.includes('status') ? [0, 1] : [0];
      this.#claim(right.includes(ended.code ?? -1), `$ ${command}`, ended);
    }
  }

  async inspect(): Promise<void> {
    this.#claim(await this.#isActive(), 'the service is ready');
    await this.#status('systemctl status says whether the mirror is up to date', /^up to date: \d+ products/, 180);
    for (const [who, as] of [
      ['root', ''],
      ['the user of the service', 'runuser -u catalogued -- '],
    ])
      for (const command of ['status', 'doctor', 'reload']) {
        const ended = await this.#run(`${as}catalogued ${command}`);
        this.#claim(ended.code === 0, `catalogued ${command} works as ${who}`, ended);
      }
    const nobody = await this.#run('runuser -u nobody -- catalogued status');
    const refused = nobody.code !== 0 && !nobody.said.includes('    at ');
    this.#claim(refused, 'catalogued status refuses others, without a stack', nobody);
    const exposure = await this.#run('systemd-analyze security catalogued.service --no-pager | tail -1');
    const level = Number(/: ([\d.]+)/.exec(exposure.said)?.[1] ?? 10);
    this.#claim(level <= 1.5, `the exposure is ${level}, at most 1.5`, exposure);
  }

  async reload(): Promise<void> {
    const { said: pid } = await this.#show('MainPID');
    await this.#run(`echo 'cadence: { images: 3d }' >> ${configuration}`);
    const good = await this.#run('systemctl reload catalogued');
    this.#claim(good.code === 0, 'systemctl reload takes a good configuration', good);
    const same = await this.#run('catalogued reload');
    this.#claim(same.said.includes('Nothing has changed'), 'what was reloaded is in use', same);
    await this.#run(`echo 'cadenza: {}' >> ${configuration}`);
    const broken = await this.#run('systemctl reload catalogued');
    this.#claim(broken.code !== 0, 'systemctl reload fails for a broken configuration', broken);
    const said = await this.#run('catalogued reload');
    const named = said.code === 78 && said.said.includes('cadenza');
    this.#claim(named, 'catalogued reload says what is wrong (78)', said);
    await this.#run(`sed -i '$d' ${configuration}`);
    this.#claim((await this.#show('MainPID')).said === pid, 'the daemon has outlived both');
    this.#claim(await this.#isActive(), 'the service is still ready');
  }

  async addBrand(): Promise<void> {
    const install = await this.#run(
      `catalogued service install --instance norland --base-url ${this.#url} --brand norland --key-file ${sources}/key && systemctl enable --now catalogued@norland`,
    );
    this.#claim(install.code === 0, 'a second brand is installed beside it', install);
    const status = () => this.#run('catalogued --config /etc/catalogued/norland.yaml status');
    await this.#until('and is filled', status, /^Filled {4}\d/m, 60);
  }

  async hang(): Promise<void> {
    const dropIn = '/etc/systemd/system/catalogued.service.d';
    await this.#run(
      `mkdir -p ${dropIn} && printf '[Service]\\nWatchdogSec=8\\nRestartSec=1\\n' > ${dropIn}/short.conf`,
    );
    await this.#run('systemctl daemon-reload && systemctl restart catalogued');
    await this.#status('it is ready again', /^up to date/, 60);
    const restarts = () => this.#show('NRestarts');

    await this.#run('dd if=/dev/zero of=/var/lib/catalogued/filler bs=1M 2>/dev/null; sync');
    const { said: pid } = await this.#show('MainPID');
    await this.#until('a full disk is noticed', () => this.#run('catalogued status'), /[Dd]isk/, 90);
    await delay(20_000);
    const after = await restarts();
    const same = after.said.trim() === '0' && (await this.#show('MainPID')).said === pid;
    this.#claim(same, 'a full disk for more than two watchdog intervals restarts nothing', after);
    await this.#run('rm /var/lib/catalogued/filler');

    const turning = await this.#run(
      `kill -USR1 $(systemctl show --value -p MainPID catalogued) && sleep 1 && /usr/local/bin/node -e '${hangs}'`,
    );
    this.#claim(turning.code === 0, 'its loop hangs, for the test', turning);
    await this.#until('a hung loop is restarted by the watchdog', restarts, /^1$/m, 40);
    await this.#status('and the mirror is up to date again', /^up to date/, 60);
    const journal = await this.#run('journalctl -u catalogued --no-pager | grep -i watchdog | head -2');
    this.#claim(journal.said.includes('Watchdog timeout'), 'the journal names the watchdog', journal);
  }

  async stop(): Promise<void> {
    const stop = await this.#run('systemctl stop catalogued');
    const ended = await this.#run('systemctl show catalogued --value -p Result -p ExecMainStatus -p ActiveState');
    const clean = [/^success$/m, /^0$/m, /^inactive$/m].every((word) => word.test(ended.said));
    this.#claim(stop.code === 0 && clean, 'a stop is clean', ended);
  }

  #run(line: string): Promise<Ended> {
    return this.#machine.run(line);
  }

  #show(what: string): Promise<Ended> {
    return this.#run(`systemctl show catalogued --value -p ${what}`);
  }

  async #isActive(): Promise<boolean> {
    return (await this.#run('systemctl is-active catalogued')).said.trim() === 'active';
  }

  #status(title: string, answer: RegExp, seconds: number): Promise<void> {
    return this.#until(title, () => this.#show('StatusText'), answer, seconds);
  }

  async #until(title: string, question: () => Promise<Ended>, answer: RegExp, seconds: number): Promise<void> {
    let last = await question();
    for (let asked = 0; asked < seconds * 2 && !answer.test(last.said); asked += 1) {
      await delay(500);
      last = await question();
    }
    this.#claim(answer.test(last.said), title, last);
  }

  #claim(holds: boolean, title: string, ended?: Ended): void {
    this.claims += 1;
    if (!holds) this.failures += 1;
    this.#say(`${holds ? 'ok  ' : 'FAIL'}  ${title}`);
    if (!holds && ended !== undefined) this.#say(`      exit ${ended.code}\n${ended.said.replace(/^/gm, '      | ')}`);
  }
}

/** Has the process whose inspector listens run in a circle. */
const hangs = `
  fetch("http://127.0.0.1:9229/json").then((answer) => answer.json()).then(([{ webSocketDebuggerUrl }]) => {
    const socket = new WebSocket(webSocketDebuggerUrl);
    socket.onopen = () => {
      socket.send(JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression: "for (;;);" } }));
      setTimeout(() => process.exit(0), 500);
    };
  });
`;
