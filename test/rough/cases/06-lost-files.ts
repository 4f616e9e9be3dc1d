import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { systemClock } from '../../../src/clock.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { configure, type Ran, run, start } from '../program.ts';
import type { Finding, RoughCase, Subject } from '../rough-case.ts';

interface Filled {
  readonly config: string;
  readonly mirror: string;
  readonly inbox: string;
}

async function filled(subject: Subject): Promise<Filled> {
  const sandbox = subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 8 }));
  const config = configure(subject, sandbox.url);
  const done = await run(subject, ['--config', config, 'resync', '--all', '--wait']);
  if (done.code !== 0) throw new Error(`it could not be filled: ${done.stderr}`);
  const mirror = join(subject.directory, 'mirror/mirror.db');
  return { config, mirror, inbox: join(subject.directory, 'state/inbox.db') };
}

function damagePages(path: string): void {
  const file = openSync(path, 'r+');
  const bytes = Buffer.alloc(Math.min(100 * 4096, statSync(path).size - 8192), 0xff);
  writeSync(file, bytes, 0, bytes.length, 8192);
  closeSync(file);
}

/** Pages that nobody reads by the way. */
function damageTail(path: string): void {
  const file = openSync(path, 'r+');
  const bytes = Buffer.alloc(20 * 4096, 0xff);
  writeSync(file, bytes, 0, bytes.length, (Math.floor(statSync(path).size / 4096) - 21) * 4096);
  closeSync(file);
}

function ready(directory: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: join(directory, 'state/admin.sock'), path: '/readyz' }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.on('error', reject);
    call.end();
  });
}

/** A daemon that starts, or what it ends with: asked for a refusal, which comes at once. */
async function startOnce(subject: Subject, { config }: Filled): Promise<Ran | 'started'> {
  const daemon = start(subject, ['--config', config, 'run']);
  try {
    return await Promise.race([daemon.ended, daemon.said(/daemon started/).then(() => 'started' as const)]);
  } finally {
    daemon.child.kill('SIGTERM');
    await daemon.ended;
  }
}

/** Does what `Try:` says until the daemon starts, three times at most. */
async function followed(subject: Subject, place: Filled): Promise<string[]> {
  const steps: string[] = [];
  for (let step = 0; step < 3; step += 1) {
    const ended = await startOnce(subject, place);
    if (ended === 'started') return [...steps, 'started'];
    const hint = /^Try: (.*)$/m.exec(ended.stderr)?.[1] ?? '';
    const [, repair, move] = /(catalogued repair)|(mv [^ )]+ [^ )]+)/.exec(hint) ?? [];
    steps.push(`${ended.code} ${repair ?? move?.slice(0, 2) ?? `nothing to follow in "${hint.slice(0, 60)}"`}`);
    if (repair !== undefined) {
      const done = await run(subject, ['--config', place.config, 'repair']);
      if (done.code !== 0) return [...steps, `repair ${done.code}`];
    } else if (move !== undefined) {
      mkdirSync(join(subject.directory, 'elsewhere'), { recursive: true });
      execFileSync('sh', ['-c', move], { cwd: subject.directory });
    } else return steps;
  }
  return steps;
}

async function newest(subject: Subject, { config }: Filled): Promise<{ first: number; last: number }> {
  const { stdout } = await run(subject, ['--config', config, 'changes', '--json', '--limit', '100000']);
  const numbers = stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { seq: number }).seq);
  return { first: numbers[0] ?? 0, last: numbers.at(-1) ?? 0 };
}

const digest = (path: string) => (existsSync(path) ? hash('sha256', readFileSync(path)) : 'none');

async function refused(subject: Subject, harm: (place: Filled) => void, of: 'mirror' | 'inbox'): Promise<Finding> {
  const place = await filled(subject);
  harm(place);
  const files = ['', '-wal'].map((side) => place[of] + side);
  const before = files.map(digest);
  const ended = await startOnce(subject, place);
  const after = files.map(digest);
  const same = before.every((each, index) => each === after[index]);
  const code = ended === 'started' ? 'started' : ended.code;
  const stack = ended !== 'started' && /^ {4}at /m.test(ended.stderr);
  return {
    green: code === 65 && same && !stack,
    said: `${code}, its bytes ${same ? 'unchanged' : 'CHANGED'}${stack ? ', with a stack' : ''}`,
  };
}

async function hintsWork(subject: Subject, harm: (place: Filled) => void): Promise<Finding> {
  const place = await filled(subject);
  harm(place);
  const steps = await followed(subject, place);
  return { green: steps.at(-1) === 'started' && steps.length > 1, said: steps.join(', then ') };
}

const gone = (path: string) => {
  for (const side of ['', '-wal', '-shm']) rmSync(path + side, { force: true });
};

export const cases: readonly RoughCase[] = [
  {
    point: '6',
    claim: 'a mirror that is removed under the daemon is noticed within 30 s, and the daemon lives',
    run: async (subject) => {
      const place = await filled(subject);
      const daemon = start(subject, ['--config', place.config, 'run']);
      await daemon.said(/daemon started/);
      gone(place.mirror);
      let status = 200;
      for (let times = 0; times < 60 && status === 200; times += 1) {
        await systemClock.sleep(500);
        status = await ready(subject.directory);
      }
      const doctor = await run(subject, ['--config', place.config, 'doctor']);
      const alive = daemon.child.exitCode === null;
      return {
        green: status === 503 && doctor.code === 1 && alive,
        said: `/readyz ${status}, doctor ${doctor.code}, ${alive ? 'alive' : 'ended'}`,
      };
    },
  },
  {
    point: '6',
    claim: 'doctor sees damaged pages that nobody has read yet',
    run: async (subject) => {
      const place = await filled(subject);
      const daemon = start(subject, ['--config', place.config, 'run']);
      await daemon.said(/daemon started/);
      damageTail(place.mirror);
      const doctor = await run(subject, ['--config', place.config, 'doctor']);
      return { green: doctor.code === 1 && /damaged/.test(doctor.stdout), said: `doctor ${doctor.code}` };
    },
  },
  {
    point: '6',
    claim: 'a damaged inbox is refused with 65, without a stack',
    run: (subject) => refused(subject, ({ inbox }) => damagePages(inbox), 'inbox'),
  },
  {
    point: '6',
    claim: 'a damaged mirror is refused before anything is written',
    run: (subject) => refused(subject, ({ mirror }) => damagePages(mirror), 'mirror'),
  },
  {
    point: '6',
    claim: 'an empty mirror beside a living inbox is no first run',
    run: (subject) => refused(subject, ({ mirror }) => writeFileSync(mirror, ''), 'mirror'),
  },
  {
    point: '6',
    claim: 'what is said of a damaged inbox can be followed',
    run: (subject) => hintsWork(subject, ({ inbox }) => damagePages(inbox)),
  },
  {
    point: '6',
    claim: 'what is said of a lost inbox can be followed',
    run: (subject) => hintsWork(subject, ({ inbox }) => gone(inbox)),
  },
  {
    point: '6',
    claim: 'no number of the feed comes twice after a damaged mirror was set aside',
    run: async (subject) => {
      const place = await filled(subject);
      const before = await newest(subject, place);
      damagePages(place.mirror);
      const steps = await followed(subject, place);
      const again = await run(subject, ['--config', place.config, 'resync', '--all', '--wait']);
      if (again.code !== 0) return { green: false, said: `${steps.join(', ')}; resync ${again.code}` };
      const after = await newest(subject, place);
      return {
        green: after.first > before.last,
        said: `readers have seen up to ${before.last}; afterwards ${after.first} to ${after.last}`,
      };
    },
  },
];
