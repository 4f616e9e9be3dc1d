import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/clock.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { commandLine } from '../command-line.ts';
import { bootMachine, type Ended, type Machine, sources } from './machine.ts';

commandLine(
  'npm run test:systemd --',
  "Tries README's installation, word for word, in a booted systemd, and what the unit promises. Needs root, systemd-nspawn and dbus; where no systemd can be booted it says so. Exit 0: every claim holds.",
  { '': 'takes three minutes' },
).parse();

const root = fileURLToPath(new URL('../../', import.meta.url));
const key = 'the-key-of-the-booted-machine';

/** The commands of README's section about installing. */
function commandsOfReadme(): string[] {
  const readme = readFileSync(`${root}/README.md`, 'utf8');
  const section = readme.split(/^## /m).find((each) => each.startsWith('Installing')) ?? '';
  const block = /```console\n([\s\S]*?)```/.exec(section)?.[1] ?? '';
  return block.split('\n').flatMap((line) => (line.startsWith('$ ') ? [line.slice(2)] : []));
}

let failures = 0;

const say = (line: string) => void process.stdout.write(`${line}\n`);

function claim(holds: boolean, title: string, ended?: Ended): void {
  if (!holds) failures += 1;
  say(`${holds ? 'ok  ' : 'FAIL'}  ${title}`);
  if (!holds && ended !== undefined) say(`      exit ${ended.code}\n${ended.said.replace(/^/gm, '      | ')}`);
}

async function until(title: string, question: () => Promise<Ended>, answer: RegExp, seconds = 60): Promise<void> {
  let last = await question();
  for (let tries = 0; tries < seconds * 2 && !answer.test(last.said); tries += 1) {
    await delay(500);
    last = await question();
  }
  claim(answer.test(last.said), title, last);
}

async function installed(machine: Machine, url: string): Promise<void> {
  // What a newcomer has: a key, an address, and sudo.
  await machine.run(`printf '%s\\n' ${key} > ${sources}/key`);
  await machine.run(`printf '#!/bin/sh\\nexec "$@"\\n' > /usr/local/sbin/sudo && chmod +x /usr/local/sbin/sudo`);
  await machine.run('mkdir -p /var/lib/catalogued && mount -t tmpfs -o size=64m tmpfs /var/lib/catalogued');
  const commands = commandsOfReadme();
  claim(commands.length >= 5, 'README says how to install it');
  for (const command of commands) {
    const ended = await machine.run(command.replace('https://api.example.com', url), { cwd: sources });
    // Just started, the mirror is not filled yet.
    const right = command.includes('status') ? [0, 1] : [0];
    claim(right.includes(ended.code ?? -1), `$ ${command}`, ended);
  }
}

const show = (machine: Machine, what: string): Promise<Ended> =>
  machine.run(`systemctl show catalogued --value -p ${what}`);

const isActive = async (machine: Machine): Promise<boolean> =>
  (await machine.run('systemctl is-active catalogued')).said.trim() === 'active';

async function looked(machine: Machine): Promise<void> {
  claim(await isActive(machine), 'the service is ready');
  await until(
    'systemctl status says how true the mirror is',
    () => show(machine, 'StatusText'),
    /^true: \d+ products/,
    180,
  );
  for (const [who, as] of [
    ['root', ''],
    ['the user of the service', 'runuser -u catalogued -- '],
  ])
    for (const command of ['status', 'doctor', 'reload']) {
      const ended = await machine.run(`${as}catalogued ${command}`);
      claim(ended.code === 0, `catalogued ${command} works as ${who}`, ended);
    }
  const nobody = await machine.run('runuser -u nobody -- catalogued status');
  claim(
    nobody.code !== 0 && !nobody.said.includes('    at '),
    'catalogued status refuses others, without a stack',
    nobody,
  );
  const exposure = await machine.run('systemd-analyze security catalogued.service --no-pager | tail -1');
  const level = Number(/: ([\d.]+)/.exec(exposure.said)?.[1] ?? 10);
  claim(level <= 1.5, `the exposure is ${level}, at most 1.5`, exposure);
}

const configuration = '/etc/catalogued/catalogued.yaml';

async function reloaded(machine: Machine): Promise<void> {
  const { said: pid } = await show(machine, 'MainPID');
  await machine.run(`echo 'cadence: { images: 3d }' >> ${configuration}`);
  const good = await machine.run('systemctl reload catalogued');
  claim(good.code === 0, 'systemctl reload takes a good configuration', good);
  const same = await machine.run('catalogued reload');
  claim(same.said.includes('Nothing has changed'), 'what was reloaded is in use', same);
  await machine.run(`echo 'cadenza: {}' >> ${configuration}`);
  const broken = await machine.run('systemctl reload catalogued');
  claim(broken.code !== 0, 'systemctl reload fails for a broken configuration', broken);
  const said = await machine.run('catalogued reload');
  claim(said.code === 78 && said.said.includes('cadenza'), 'catalogued reload says what is wrong (78)', said);
  await machine.run(`sed -i '$d' ${configuration}`);
  claim((await show(machine, 'MainPID')).said === pid, 'the daemon has outlived both');
  claim(await isActive(machine), 'the service is still ready');
}

async function watched(machine: Machine): Promise<void> {
  const dropIn = '/etc/systemd/system/catalogued.service.d';
  await machine.run(
    `mkdir -p ${dropIn} && printf '[Service]\\nWatchdogSec=8\\nRestartSec=1\\n' > ${dropIn}/short.conf`,
  );
  await machine.run('systemctl daemon-reload && systemctl restart catalogued');
  await until('it is ready again', () => show(machine, 'StatusText'), /^true/, 60);
  const restarts = () => show(machine, 'NRestarts');

  await machine.run('dd if=/dev/zero of=/var/lib/catalogued/filler bs=1M 2>/dev/null; sync');
  const { said: pid } = await show(machine, 'MainPID');
  await until('a full disk is noticed', () => machine.run('catalogued status'), /[Dd]isk/, 90);
  await delay(20_000);
  const after = await restarts();
  claim(
    after.said.trim() === '0' && (await show(machine, 'MainPID')).said === pid,
    'a full disk for more than two watchdog intervals restarts nothing',
    after,
  );
  await machine.run('rm /var/lib/catalogued/filler');

  const turning = await machine.run(
    `kill -USR1 $(systemctl show --value -p MainPID catalogued) && sleep 1 && /usr/local/bin/node -e '${hangs}'`,
  );
  claim(turning.code === 0, 'its loop hangs, for the test', turning);
  await until('a hung loop is restarted by the watchdog', restarts, /^1$/m, 40);
  await until('and the service is true again', () => show(machine, 'StatusText'), /^true/, 60);
  const journal = await machine.run('journalctl -u catalogued --no-pager | grep -i watchdog | head -2');
  claim(journal.said.includes('Watchdog timeout'), 'the journal names the watchdog', journal);
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

async function severalBrands(machine: Machine, url: string): Promise<void> {
  const install = await machine.run(
    `catalogued service install --instance norland --base-url ${url} --brand norland --key-file ${sources}/key && systemctl enable --now catalogued@norland`,
  );
  claim(install.code === 0, 'a second brand is installed beside it', install);
  const status = () => machine.run('catalogued --config /etc/catalogued/norland.yaml status');
  await until('and is filled', status, /^Filled {4}\d/m, 60);
}

async function stopped(machine: Machine): Promise<void> {
  const stop = await machine.run('systemctl stop catalogued');
  const result = await machine.run('systemctl show catalogued --value -p Result -p ExecMainStatus -p ActiveState');
  claim(
    stop.code === 0 && /^success$/m.test(result.said) && /^0$/m.test(result.said) && /^inactive$/m.test(result.said),
    'a stop is clean',
    result,
  );
}

const booted = await bootMachine(root);
if (typeof booted === 'string') {
  say(`SKIPPED: no systemd can be booted here (${booted})`);
  if (process.env.CATALOGUED_TEST_STRICT === '1') process.exitCode = 1;
} else {
  await using machine = booted;
  await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 20, lean: true, key });
  await installed(machine, sandbox.url);
  await looked(machine);
  await reloaded(machine);
  await severalBrands(machine, sandbox.url);
  await watched(machine);
  await stopped(machine);
  say(failures === 0 ? 'systemd: every claim holds' : `systemd: ${failures} claims do not hold`);
  process.exitCode = failures === 0 ? 0 : 1;
}
